//! The other end: what it makes of answers and of their absence.

use super::support::{Site, tight};
use crate::http::Limits;
use crate::http::client::{Client, ClientFault, Event};
use crate::http::socket::bind_unix;
use serde_json::json;
use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

const DEADLINE: Duration = Duration::from_millis(500);

fn client(path: &Path) -> Client {
    Client::new(path, DEADLINE).unwrap()
}

#[test]
fn answers_are_values_and_refusals_are_faults_with_an_exit_status() {
    let site = Site::new(tight());
    let mut client = client(&site.path());
    assert_eq!(client.get("/query?a=1").unwrap(), json!(["1", null]));
    assert_eq!(client.post("/echo", &json!({})).unwrap()["bytes"], 2);
    let no = client.get("/none").unwrap_err();
    assert!(matches!(&no, ClientFault::Refused { status: 404, code, .. } if code == "not_found"));
    assert_eq!((no.exit_status(), no.is_unreachable()), (1, false));
    assert_eq!(client.get("/operate").unwrap_err().exit_status(), 77);
    assert_eq!(client.get("/query?c=1").unwrap_err().exit_status(), 2);
    let late = client.get("/slow").unwrap_err();
    assert!(
        matches!(
            &late,
            ClientFault::Refused {
                retry_after_s: Some(1),
                ..
            }
        ),
        "{late}"
    );
    assert_eq!(late.exit_status(), 75);
    let large = client.post("/echo", &json!("x".repeat(2000))).unwrap_err();
    assert_eq!(large.exit_status(), 65);
}

#[test]
fn no_socket_nobody_there_and_no_answer_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let none = client(&path).get("/").unwrap_err();
    assert!(matches!(none, ClientFault::Missing { .. }), "{none}");
    drop(bind_unix(&path, 0o600).unwrap());
    let nobody = client(&path).get("/").unwrap_err();
    assert!(matches!(nobody, ClientFault::NotRunning { .. }), "{nobody}");
    let _silent = bind_unix(&path, 0o600).unwrap();
    let late = client(&path).get("/").unwrap_err();
    assert!(matches!(late, ClientFault::Deadline { .. }), "{late}");
    for fault in [none, nobody, late] {
        assert_eq!((fault.exit_status(), fault.is_unreachable()), (69, true));
        assert!(fault.to_string().contains(path.to_str().unwrap()));
    }
}

/// Answers one request with `bytes` and closes.
fn once(path: &Path, bytes: impl AsRef<[u8]> + Send + 'static) -> std::thread::JoinHandle<()> {
    let listener = bind_unix(path, 0o600).unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = [0; 4096];
        assert!(stream.read(&mut head).unwrap() > 0);
        stream.write_all(bytes.as_ref()).unwrap();
    })
}

#[test]
fn strange_and_broken_answers_are_faults() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    for (bytes, is_broken) in [
        (&b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"[..], true),
        (b"nonsense\r\n\r\n", true),
        (b"", true),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n{", false),
        (b"HTTP/1.1 500 No\r\ncontent-length: 2\r\n\r\n{}", false),
    ] {
        let serving = once(&path, bytes);
        let fault = client(&path).get("/").unwrap_err();
        serving.join().unwrap();
        let fits = if is_broken {
            matches!(fault, ClientFault::Broken { .. })
        } else {
            matches!(fault, ClientFault::Strange { .. })
        };
        assert!(fits, "{bytes:?}: {fault}");
    }
}

#[test]
fn a_kept_connection_that_was_closed_meanwhile_is_no_failure() {
    let site = Site::new(Limits {
        head_time: Duration::from_millis(50),
        ..tight()
    });
    let mut client = client(&site.path());
    for _ in 0..3 {
        assert_eq!(client.get("/query").unwrap(), json!([null, null]));
        std::thread::park_timeout(Duration::from_millis(150));
    }
}

#[test]
fn downloads_are_written_as_they_come_and_refusals_are_not() {
    let site = Site::new(tight());
    let mut client = Client::new(&site.path(), Duration::from_secs(20)).unwrap();
    let mut into = Vec::new();
    let no = client.download("/none", &json!({}), &mut into).unwrap_err();
    assert!(
        matches!(no, ClientFault::Refused { .. }) && into.is_empty(),
        "{no}"
    );
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let serving = once(&path, b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello");
    let count = self::client(&path).download("/", &json!({}), &mut into).unwrap();
    serving.join().unwrap();
    assert_eq!((count, into.as_slice()), (5, &b"hello"[..]));
}

#[test]
fn events_are_put_together_whatever_pieces_they_come_in() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let told =
        ":\n\nevent: receipt\ndata: {\"a\":\"\u{e4}\"}\n\nevent: refused\r\ndata: {}\r\n\r\ndata: lost";
    let mut answer = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    for piece in told.as_bytes().chunks(3) {
        answer.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        answer.extend_from_slice(piece);
        answer.extend_from_slice(b"\r\n");
    }
    answer.extend_from_slice(b"0\r\n\r\n");
    let serving = once(&path, answer);
    let mut all = Vec::new();
    let mut each = |event: Event| {
        all.push((event.name, event.data));
        ControlFlow::Continue(())
    };
    client(&path).events("/", &mut each).unwrap();
    serving.join().unwrap();
    let expected = [("receipt", "{\"a\":\"\u{e4}\"}"), ("refused", "{}")];
    assert_eq!(
        all,
        expected.map(|(name, data)| (name.to_owned(), data.to_owned()))
    );
    let site = Site::new(tight());
    let mut seen = Vec::new();
    let mut each = |event: Event| {
        seen.push(event);
        ControlFlow::Break(())
    };
    client(&site.path()).events("/stream", &mut each).unwrap();
    let expected = Event {
        name: String::new(),
        data: "1".to_owned(),
    };
    assert_eq!(seen, [expected]);
    let no = client(&site.path())
        .events("/none", &mut |_| ControlFlow::Continue(()))
        .unwrap_err();
    assert!(matches!(no, ClientFault::Refused { status: 404, .. }), "{no}");
}
