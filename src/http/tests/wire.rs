//! What is said on a connection: well formed, badly formed, several times.

use super::support::{Site, get, post, tight};
use crate::http::Limits;
use serde_json::json;
use std::time::Duration;

#[test]
fn requests_follow_each_other_on_one_connection_and_may_come_at_once() {
    let site = Site::new(tight());
    let mut wire = site.wire();
    for at in 0..3 {
        wire.say(&post("/echo", &"x".repeat(at)));
        let got = wire.hear();
        assert_eq!((got.status, &got.body["bytes"]), (200, &json!(at)));
    }
    wire.say(&format!(
        "{}{}{}",
        post("/echo", "abcd"),
        get("/none"),
        post("/echo", "ab")
    ));
    let statuses = [wire.hear(), wire.hear(), wire.hear()].map(|got| (got.status, got.body["bytes"].clone()));
    assert_eq!(statuses, [(200, json!(4)), (404, json!(null)), (200, json!(2))]);
}

#[test]
fn a_refused_body_is_not_the_next_request() {
    let site = Site::new(Limits {
        head_time: Duration::from_millis(300),
        ..tight()
    });
    let mut wire = site.wire();
    // What would be a request of its own if the rest of the body were taken for one.
    let hidden = get("/who").repeat(100);
    wire.say(&post("/echo", &hidden));
    assert_eq!(wire.hear().status, 413);
    let rest = wire.rest();
    assert!(!String::from_utf8_lossy(&rest).contains("uid"), "{rest:?}");
}

#[test]
fn what_is_no_request_is_400_and_the_server_goes_on() {
    let site = Site::new(tight());
    for text in [
        "GARBAGE\r\n\r\n",
        "GET /query\r\n\r\n",
        "GET /query HTTP/9.9\r\n\r\n",
        "GET /query HTTP/1.1\r\nhost x\r\n\r\n",
        "GET /query HTTP/1.1\r\nho\0st: x\r\n\r\n",
        "GET /que\u{1}ry HTTP/1.1\r\nhost: x\r\n\r\n",
        "POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nabcdef",
        "POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
        "POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999999999999999\r\n\r\n",
        "POST /echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{2}",
    ] {
        let mut wire = site.wire();
        wire.say(text);
        wire.stream.shutdown(std::net::Shutdown::Write).unwrap();
        let said = wire.rest();
        let said = String::from_utf8_lossy(&said);
        assert!(
            said.is_empty() || said.starts_with("HTTP/1.1 400 "),
            "{text:?}: {said}"
        );
    }
    assert_eq!(site.get("/query").status, 200);
}

#[test]
fn a_body_that_breaks_off_reaches_no_handler() {
    let site = Site::new(tight());
    for text in [
        "POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nabc",
        "POST /echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n",
        "POST /echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    ] {
        let mut wire = site.wire();
        wire.say(text);
        wire.stream.shutdown(std::net::Shutdown::Write).unwrap();
        let said = wire.rest();
        let said = String::from_utf8_lossy(&said);
        assert!(!said.contains(" 200 "), "{text:?}: {said}");
    }
}

#[test]
fn every_answer_has_its_type_and_lets_nothing_run_or_be_kept() {
    let site = Site::new(tight());
    for (path, kind) in [
        ("/query", "application/json"),
        ("/none", "application/json"),
        ("/big", "application/octet-stream"),
    ] {
        let got = site.get(path);
        for line in [
            &format!("content-type: {kind}"),
            "x-content-type-options: nosniff",
            "cache-control: no-store",
            "content-security-policy: default-src 'none'",
        ] {
            assert!(
                got.head.contains(&format!("\r\n{line}\r\n")),
                "{path}: {line} in {}",
                got.head
            );
        }
        assert!(!got.head.contains("\r\nserver:"));
    }
}

#[test]
fn errors_have_one_shape() {
    let got = Site::new(tight()).get("/none");
    assert_eq!(
        got.body,
        json!({"error": {"code": "not_found", "message": "no such thing", "pointer": ""}})
    );
}

#[test]
fn media_types_are_a_closed_list() {
    let site = Site::new(tight());
    let of = |kind: &str| {
        let head = format!("POST /echo HTTP/1.1\r\nhost: x\r\n{kind}content-length: 2\r\n\r\n{{}}");
        let got = site.ask(&head);
        (
            got.status,
            got.body["media"].as_str().unwrap_or_default().to_owned(),
        )
    };
    let json = (200, "Json".to_owned());
    for kind in [
        "",
        "content-type: application/json\r\n",
        "content-type: Application/JSON; charset=utf-8\r\n",
        "content-type: application/x-www-form-urlencoded\r\n",
    ] {
        assert_eq!(of(kind), json, "{kind}");
    }
    assert_eq!(
        of("content-type: application/jsonl\r\n"),
        (200, "JsonLines".to_owned())
    );
    for kind in [
        "text/plain",
        "multipart/form-data",
        "application/jsonx",
        "\u{fc}",
        "",
    ] {
        assert_eq!(of(&format!("content-type: {kind}\r\n")).0, 415, "{kind}");
    }
}

#[test]
fn queries_are_plain_known_and_said_once() {
    let site = Site::new(tight());
    let of = |query: &str| site.get(&format!("/query{query}"));
    assert_eq!(of("").body, json!([null, null]));
    assert_eq!(of("?b=2&a=x-Y.z_1:").body, json!(["x-Y.z_1:", "2"]));
    assert_eq!(of("?&a=1&").body, json!(["1", null]));
    let long = format!("?a={}", "x".repeat(201));
    for query in [
        "?c=1", "?a", "?a=", "?a=1&a=1", "?a=%31", "?a=1+1", "?a=1;b=2", "?A=1", &long,
    ] {
        let got = of(query);
        assert_eq!((got.status, got.code()), (400, "bad_request"), "{query}");
    }
}
