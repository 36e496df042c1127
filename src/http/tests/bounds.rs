//! What a peer can make us hold and wait for.

use super::support::{BIG, ECHO_MAX, SOON, Site, Wire, as_uid, get, post, tight};
use crate::http::Limits;
use serde_json::json;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(150);

#[test]
fn a_body_may_have_its_limit_and_not_a_byte_more() {
    let site = Site::new(tight());
    let got = site.ask(&post("/echo", &"x".repeat(ECHO_MAX)));
    assert_eq!((got.status, &got.body["bytes"]), (200, &json!(ECHO_MAX)));
    let got = site.ask(&post("/echo", &"x".repeat(ECHO_MAX + 1)));
    assert_eq!((got.status, got.code()), (413, "too_large"));
}

#[test]
fn an_announced_body_that_is_too_large_is_refused_before_it_comes() {
    let site = Site::new(tight());
    let head = "POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000000000\r\n\r\n";
    assert_eq!(site.ask(head).status, 413);
    let head = "POST /echo HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 5000\r\n\r\n";
    assert_eq!(site.ask(head).status, 413, "nobody is told to go on");
}

#[test]
fn an_unannounced_body_is_read_to_the_limit_only() {
    let site = Site::new(tight());
    let head = "POST /echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
    let got = site.ask(&format!("{head}3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"));
    assert_eq!((got.status, &got.body["bytes"]), (200, &json!(5)));
    let mut wire = site.wire();
    wire.say(head);
    for _ in 0..11 {
        wire.say(&format!("64\r\n{}\r\n", "x".repeat(100)));
    }
    let got = wire.hear();
    assert_eq!((got.status, got.code()), (413, "too_large"));
}

#[test]
fn where_no_body_is_taken_there_is_none() {
    let site = Site::new(tight());
    let got = site.ask("GET /query HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\nx");
    assert_eq!((got.status, got.code()), (413, "too_large"));
    assert_eq!(
        site.ask("GET /query HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n")
            .status,
        200
    );
}

#[test]
fn a_head_has_a_size_and_a_number_of_lines() {
    let site = Site::new(tight());
    let long = format!(
        "GET /query HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n",
        "y".repeat(20_000)
    );
    assert_eq!(site.ask(&long).status, 431);
    let many = format!("GET /query HTTP/1.1\r\nhost: x\r\n{}\r\n", "x: y\r\n".repeat(100));
    assert_eq!(site.ask(&many).status, 431);
    let target = format!("GET /query?{} HTTP/1.1\r\nhost: x\r\n\r\n", "a".repeat(20_000));
    assert!([400, 414, 431].contains(&site.ask(&target).status));
    let fits = format!(
        "GET /query HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n",
        "y".repeat(4_000)
    );
    assert_eq!(site.ask(&fits).status, 200);
}

#[test]
fn a_head_that_comes_too_slowly_ends_the_connection() {
    let site = Site::new(Limits {
        head_time: SHORT,
        ..tight()
    });
    let mut silent = site.wire();
    let mut half = site.wire();
    half.say("GET /query HT");
    let mut dripping = site.wire();
    for byte in "GET /query HTTP/1.1\r\nhost: x\r\nx: y\r\n".chars() {
        dripping.say(&byte.to_string());
        std::thread::park_timeout(Duration::from_millis(10));
    }
    for wire in [&mut silent, &mut half, &mut dripping] {
        let said = wire.rest();
        assert!(said.is_empty() || said.starts_with(b"HTTP/1.1 408 "), "{said:?}");
    }
    let mut idle = site.wire();
    idle.say(&get("/query"));
    assert_eq!(idle.hear().status, 200);
    assert!(idle.rest().is_empty(), "an idle connection ends too");
}

#[test]
fn a_body_that_comes_too_slowly_is_408() {
    let site = Site::new(Limits {
        body_time: SHORT,
        ..tight()
    });
    let mut wire = site.wire();
    wire.say("POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nabc");
    let got = wire.hear();
    assert_eq!((got.status, got.code()), (408, "timeout"));
}

#[test]
fn a_peer_that_reads_nothing_does_not_keep_its_answer() {
    let site = Site::new(Limits {
        write_stall: SHORT,
        per_uid_max: 1,
        ..tight()
    });
    let mut wire = site.wire();
    wire.say(&get("/big"));
    let mut some = [0; 1024];
    wire.stream.read_exact(&mut some).unwrap();
    // The one place of this user comes back although nothing more is read.
    let mut tries = 0;
    while site.get("/query").status != 200 {
        tries += 1;
        assert!(tries < 100, "the place never came back");
        std::thread::park_timeout(Duration::from_millis(50));
    }
    assert!(wire.rest().len() < BIG);
}

#[test]
fn a_handler_that_does_not_answer_in_time_is_503() {
    let site = Site::new(tight());
    let got = site.get("/slow");
    assert_eq!((got.status, got.code()), (503, "timeout"));
    assert!(got.head.contains("\r\nretry-after: 1\r\n"), "{}", got.head);
}

#[test]
fn one_user_gets_so_many_connections_and_idle_ones_make_room() {
    let site = Site::new(Limits {
        per_uid_max: 2,
        ..tight()
    });
    let mut idle = [site.wire(), site.wire()];
    for wire in &mut idle {
        wire.say(&get("/query"));
        assert_eq!(wire.hear().status, 200);
    }
    let mut busy = [site.busy(), site.busy()];
    for wire in &mut idle {
        assert!(wire.rest().is_empty(), "idle ones are closed for new ones");
    }
    // Nothing is sent: the connection itself is one too many.
    let mut third = site.wire();
    let got = third.hear();
    assert_eq!((got.status, got.code()), (429, "rate_limited"));
    assert!(got.head.contains("\r\nretry-after: 1\r\n") && third.rest().is_empty());
    site.desk.tickets.add_permits(2);
    for wire in &mut busy {
        assert_eq!(wire.hear().body, json!("waited"));
    }
    assert_eq!(site.get("/query").status, 200);
}

#[test]
fn many_connections_of_one_user_leave_room_for_another() {
    let site = Site::new(Limits {
        connections_max: 4,
        per_uid_max: 3,
        ..tight()
    });
    let mut busy: Vec<Wire> = (0..3).map(|_| site.busy()).collect();
    assert_eq!(site.wire().hear().status, 429);
    let path = site.path();
    if let Some(got) = as_uid(4321, || {
        let mut wire = Wire::new(UnixStream::connect(path).unwrap());
        wire.say(&get("/who"));
        wire.hear()
    }) {
        assert_eq!((got.status, &got.body["uid"]), (200, &json!(4321)));
    }
    site.desk.tickets.add_permits(3);
    for wire in &mut busy {
        assert_eq!(wire.hear().status, 200);
    }
}

#[test]
fn when_every_place_is_in_use_a_newcomer_waits_for_one() {
    let site = Site::new(Limits {
        connections_max: 1,
        per_uid_max: 1,
        ..tight()
    });
    let mut busy = site.busy();
    let path = site.path();
    let Some(stream) = as_uid(4321, || UnixStream::connect(path).unwrap()) else {
        return;
    };
    let mut newcomer = Wire::new(stream);
    newcomer.say(&get("/who"));
    newcomer.stream.set_read_timeout(Some(SHORT)).unwrap();
    assert!(newcomer.stream.read(&mut [0]).is_err(), "no place yet");
    newcomer.stream.set_read_timeout(Some(SOON)).unwrap();
    site.desk.tickets.add_permits(1);
    assert_eq!(busy.hear().status, 200);
    assert_eq!(newcomer.hear().body["uid"], 4321);
}
