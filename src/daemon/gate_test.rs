//! The gateway's process: its judges, its rate, its sockets, its signals.

use super::*;
use crate::config::{Installation, default_toml, load};
use crate::http::Media;
use crate::job::{JobId, Uuid4};
use proptest::prelude::{prop_assert, proptest};
use serde_json::{Value, json};
use std::collections::VecDeque;

/// A development installation without roles.
fn installation(more: &str) -> (tempfile::TempDir, Config) {
    let dir = tempfile::tempdir().unwrap();
    let text = format!(
        "{}\n{more}",
        default_toml(&Uuid4::random().to_string(), &Uuid4::random().to_string())
    );
    std::fs::write(dir.path().join("lockgate.toml"), text).unwrap();
    for role in Role::EXECUTORS {
        std::fs::create_dir_all(dir.path().join("spool").join(role.as_str()).join("gate")).unwrap();
    }
    let config = load(&Installation::Dir(dir.path().to_owned())).unwrap();
    (dir, config)
}

fn save(id: JobId) -> Value {
    json!({
        "job_version": 1, "job_id": id.to_string(), "mission_id": Uuid4::random().to_string(),
        "job_type": "C5_SAVE_OBJECT", "object_id": "notes/a.md", "vault_path": "/app/vault/notes/a.md",
        "source_commit": "a".repeat(40), "provenance_hash": "b".repeat(64),
        "expected_state": format!("sha256:{}", "c".repeat(64)), "created_at": "2026-01-01T00:00:00Z",
        "idempotency_key": Uuid4::random().to_string(),
    })
}

fn judged(config: &Config) -> Judges {
    judges(config, &crate::daemon::settings::rules(config))
}

#[test]
fn jobs_are_judged_as_the_roles_will_and_for_the_uid_that_asks() {
    let (_dir, config) =
        installation("[[requester]]\nuid = 1000\nkinds = [\"save\"]\npaths = [\"/app/vault/notes/**\"]\n");
    let judges = judged(&config);
    let id = JobId::random();
    let text = save(id).to_string();
    let job = (judges.job)(1000, text.as_bytes()).unwrap();
    assert_eq!((job.role, job.job_id), (Role::Save, id));
    assert_eq!(job.digest, crate::job::document_digest(text.as_bytes()));
    assert_eq!(
        (judges.job)(1001, text.as_bytes()).unwrap_err().code,
        Code::NotAllowed
    );
    let elsewhere = text.replace("notes/a.md", "other/a.md");
    assert_eq!(
        (judges.job)(1000, elsewhere.as_bytes()).unwrap_err().code,
        Code::NotAllowed
    );
    assert_eq!((judges.job)(1000, b"{").unwrap_err().code, Code::MalformedJson);
}

#[test]
fn what_belongs_to_another_endpoint_is_sent_there() {
    let (_dir, config) = installation("");
    let judges = judged(&config);
    let cancel = json!({"cancel_version": 1, "job_id": JobId::random().to_string()}).to_string();
    let no = (judges.job)(0, cancel.as_bytes()).unwrap_err();
    assert!(no.message.contains("/cancel"), "{no}");
    let no = (judges.envelope)(0, save(JobId::random()).to_string().as_bytes()).unwrap_err();
    assert!(no.message.contains("/v1/jobs"), "{no}");
    assert_eq!(no.code, Code::MissingField);
}

#[test]
fn an_envelope_is_refused_for_what_nobody_needs_the_approvers_for() {
    let (_dir, config) = installation("");
    let judges = judged(&config);
    // {"approval_version":1}
    let payload = "eyJhcHByb3ZhbF92ZXJzaW9uIjoxfQ==";
    let of = |signatures: Value| json!({"payload_b64": payload, "signatures": signatures}).to_string();
    let refused = |text: &str| (judges.envelope)(0, text.as_bytes()).unwrap_err();
    assert_eq!(refused(&of(json!([]))).code, Code::SignatureInvalid);
    let armour = "-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n";
    let no = refused(&of(json!([{"scheme": "sshsig", "signature": armour}])));
    assert_eq!(
        (no.code, no.pointer.as_str()),
        (Code::SignatureInvalid, "/signatures/0")
    );
    assert_eq!(refused("{\"payload_b64\":\"\"}").code, Code::MissingField);
}

#[test]
fn pending_follows_the_limits_and_an_unknown_socket_is_a_mistake() {
    let (dir, config) = installation("[limits]\njobs_per_uid = 7\nbytes_per_uid = 65536\n");
    let pending = pending(&config);
    assert_eq!((pending.documents_per_uid, pending.bytes_per_uid), (7, 65_536));
    assert!(pending.documents >= 7 && pending.bytes >= 65_536);
    let tcp = || Handed::Tcp(TcpListener::bind("127.0.0.1:0").unwrap());
    let unix = Handed::Unix(crate::http::socket::bind_unix(&dir.path().join("s"), 0o600).unwrap());
    assert!(probes(Vec::new()).unwrap().is_none());
    assert!(probes(vec![("probes".to_owned(), tcp())]).unwrap().is_some());
    assert!(
        probes(vec![("admin".to_owned(), unix)])
            .unwrap_err()
            .contains("\"admin\"")
    );
    assert!(probes(vec![("a".to_owned(), tcp()), ("b".to_owned(), tcp())]).is_err());
}

#[test]
fn the_process_serves_from_one_signal_to_the_next() {
    let (dir, config) = installation("");
    let socket = config.layout.gateway_socket();
    let running = std::thread::spawn({
        let config = config.clone();
        move || run(&config, "0".repeat(32))
    });
    let mut client = Client::new(&socket, PROBE_TIME).unwrap();
    let mut tries = 0;
    while client.get_raw("/health").is_err() {
        tries += 1;
        assert!(tries < 500, "it never answered");
        std::thread::park_timeout(Duration::from_millis(20));
    }
    assert!(answers(&socket));
    let body = save(JobId::random()).to_string().into_bytes();
    assert_eq!(
        client.post_raw("/v1/jobs", Media::Json, body).unwrap().status,
        202
    );
    let waiting = std::fs::read_dir(dir.path().join("spool/save/gate"))
        .unwrap()
        .count();
    assert_eq!(waiting, 1);
    // Registered before the socket answers, so the signal ends the gateway and not the test.
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TERM).unwrap();
    assert_eq!(running.join().unwrap(), Exit::Done);
    assert!(!answers(&socket));
}

#[test]
fn a_socket_that_somebody_serves_is_not_taken() {
    let (_dir, config) = installation("");
    let socket = config.layout.gateway_socket();
    std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
    let _other = crate::http::socket::bind_unix(&socket, 0o660).unwrap();
    assert_eq!(run(&config, "0".repeat(32)), Exit::Configuration);
}

proptest! {
    /// F-190: not twice the number around the turn of a minute.
    #[test]
    fn f190_never_more_than_the_number_in_any_minute(
        per_minute in 1u32..300, steps in proptest::collection::vec((0i64..20_000, 1u32..200), 1..100)
    ) {
        use crate::clock::BootMs;
        use crate::throttle::Take;
        let rate = rate(per_minute);
        let (mut now, mut level) = (0, rate.full(BootMs(0)));
        let mut served: VecDeque<(i64, u32)> = VecDeque::new();
        for (wait, tokens) in steps {
            now += wait;
            if let Take::Taken(next) = rate.take(level, tokens.min(rate.burst), BootMs(now)) {
                level = next;
                served.push_back((now, tokens.min(rate.burst)));
            }
            while served.front().is_some_and(|(at, _)| *at <= now - 60_000) {
                served.pop_front();
            }
            let sum: u32 = served.iter().map(|(_, tokens)| tokens).sum();
            prop_assert!(sum <= per_minute, "{sum} of {per_minute}");
        }
    }
}
