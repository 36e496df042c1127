//! Who is at the other end, and what they may do.

use super::support::{Site, Wire, as_uid, get, tight};
use crate::http::{Access, Door, HttpFault, Listener, Peer, Permission, Server};
use serde_json::json;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[test]
fn the_kernel_says_who_connected() {
    let site = Site::new(tight());
    let got = site.get("/who");
    assert_eq!(got.body["uid"], own_uid());
    assert_eq!(got.body["gid"], rustix::process::getegid().as_raw());
    assert_eq!(got.body["pid"], std::process::id());
    let path = site.path();
    let Some(stream) = as_uid(4321, || UnixStream::connect(path).unwrap()) else {
        return;
    };
    // Whoever holds the connection now, it was this user who made it.
    let mut wire = Wire::new(stream);
    wire.say("GET /who HTTP/1.1\r\nhost: x\r\nx-forwarded-for: 127.0.0.1\r\nx-remote-uid: 0\r\n\r\n");
    assert_eq!(wire.hear().body["uid"], 4321);
}

#[test]
fn each_listener_grants_its_own_permissions_only() {
    let all = [
        Permission::Probe,
        Permission::Scrape,
        Permission::Operate,
        Permission::ReadStatus,
        Permission::Ask,
    ];
    let unix = |uid| Peer::Unix {
        uid,
        gid: 7,
        pid: None,
    };
    let granted = |access: &Access, peer| -> Vec<Permission> {
        all.into_iter().filter(|one| access.grants(peer, *one)).collect()
    };
    let operators = Access::Operators { except: vec![900] };
    let status = Access::StatusReaders { uids: vec![900] };
    let requesters = Access::Requesters { except: vec![900] };
    let probes = Access::Probes;
    let operate = vec![Permission::Probe, Permission::Scrape, Permission::Operate];
    assert_eq!(granted(&operators, unix(1)), operate);
    assert_eq!(
        granted(&status, unix(900)),
        [Permission::Probe, Permission::ReadStatus]
    );
    assert_eq!(
        granted(&requesters, unix(1)),
        [Permission::Probe, Permission::Ask]
    );
    assert_eq!(
        granted(&probes, Peer::Loopback),
        [Permission::Probe, Permission::Scrape]
    );
    assert_eq!(granted(&operators, unix(900)), []);
    assert_eq!(granted(&status, unix(0)), [], "not even root");
    assert_eq!(granted(&requesters, unix(900)), [Permission::Probe]);
    for access in [&operators, &status, &requesters] {
        assert_eq!(granted(access, Peer::Loopback), []);
    }
    for unmapped in [65534, u32::MAX] {
        assert_eq!(granted(&operators, unix(unmapped)), [], "nobody in particular");
        assert_eq!(granted(&requesters, unix(unmapped)), [Permission::Probe]);
    }
}

#[test]
fn what_is_not_granted_is_403_and_what_a_listener_lacks_is_404() {
    let site = Site::new(tight());
    let got = site.get("/operate");
    assert_eq!((got.status, got.code()), (403, "not_allowed"));
    assert!(
        got.body["error"]["message"]
            .as_str()
            .unwrap()
            .contains(&format!("uid {}", own_uid()))
    );
    assert_eq!(site.get("/scrape").status, 404);
    let except = Site::with(
        tight(),
        Access::Requesters {
            except: vec![own_uid()],
        },
    );
    assert_eq!(
        (except.get("/query").status, except.get("/who").status),
        (403, 200)
    );
}

#[test]
fn permission_is_judged_before_a_body_is_read() {
    let site = Site::with(
        tight(),
        Access::Requesters {
            except: vec![own_uid()],
        },
    );
    let got = site.ask("POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n");
    assert_eq!(got.status, 403);
}

#[test]
fn a_tcp_listener_is_a_loopback_one_and_has_probes_only() {
    let site = Site::new(tight());
    let server = |listener: std::net::TcpListener| {
        let door = Door {
            listener: Listener::Loopback(listener),
            access: Access::Probes,
            endpoints: site.desk.clone(),
        };
        let server = Server {
            name: "probes",
            doors: vec![door],
            limits: tight(),
        };
        server.start(|| ())
    };
    let open = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
    assert!(matches!(server(open), Err(HttpFault::NotLoopback { .. })));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let _server = server(listener).unwrap();
    let ask = |path: &str| {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        let text = get(path).replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n");
        stream.write_all(text.as_bytes()).unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        said
    };
    assert!(ask("/who").ends_with(&json!("somebody").to_string()));
    assert!(ask("/scrape").starts_with("HTTP/1.1 200 "));
    for path in ["/query", "/operate"] {
        assert!(ask(path).starts_with("HTTP/1.1 404 "), "{path}");
    }
}
