//! How a server ends.

use super::support::{Site, get, tight};
use crate::http::socket::connect_unix;
use crate::http::{Limits, Stop};
use std::io::Read;
use std::time::Duration;

#[test]
fn a_stop_finishes_what_is_in_progress_and_takes_nothing_new() {
    let site = Site::new(tight());
    let (mut busy, mut idle) = (site.busy(), site.wire());
    idle.say(&get("/query"));
    assert_eq!(idle.hear().status, 200);
    site.server.stop();
    assert!(idle.rest().is_empty(), "an idle connection ends at once");
    site.desk.tickets.add_permits(1);
    let got = busy.hear();
    assert_eq!(got.status, 200);
    assert!(got.head.contains("connection: close"), "{}", got.head);
    assert!(busy.rest().is_empty());
    let path = site.path();
    site.server.join().unwrap();
    assert!(connect_unix(&path).is_err());
}

#[test]
fn a_request_that_does_not_end_is_given_up_after_the_drain() {
    let site = Site::new(Limits {
        drain: Duration::from_millis(100),
        ..tight()
    });
    let mut busy = site.busy();
    site.server.join().unwrap();
    assert!(busy.rest().is_empty());
}

#[test]
fn streams_end_with_the_server() {
    let site = Site::new(tight());
    let mut wire = site.wire();
    wire.say(&get("/stream"));
    let mut some = [0; 16];
    wire.stream.read_exact(&mut some).unwrap();
    site.server.join().unwrap();
    let said = wire.rest();
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("data: 1") && said.ends_with("0\r\n\r\n"), "{said}");
}

#[test]
fn a_wish_to_stop_wakes_everybody_and_is_kept() {
    let stop = Stop::new();
    assert!(!stop.wait_for(Duration::from_millis(1)));
    let waiting: Vec<_> = (0..3)
        .map(|_| {
            let stop = stop.clone();
            std::thread::spawn(move || stop.wait())
        })
        .collect();
    stop.request();
    for thread in waiting {
        thread.join().unwrap();
    }
    assert!(stop.wait_for(Duration::from_secs(3600)));
    stop.wait();
}
