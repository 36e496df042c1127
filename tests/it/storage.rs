//! F01, F02 and their kind: a database that is locked, full, gone or damaged, a disk without room. Health says which, nothing is
//! sent, and work goes on by itself when the cause is gone.

use crate::support::process::Daemon;
use crate::support::*;
use lockgate::clock::WallMs;
use lockgate::job::Role;
use serde_json::json;

fn reason(rig: &Rig) -> String {
    rig.gear
        .conditions
        .list()
        .first()
        .map_or_else(|| "ok".to_owned(), |condition| condition.reason.to_owned())
}

#[test]
fn f01_f02_a_locked_database_sends_nothing_and_recovers_by_itself() {
    for role in Role::EXECUTORS {
        let site = Site::new();
        let commit = site.commit(&[("a.md", Some("text"))]);
        let mut rig = site.role(role);
        let job = if role == Role::Save {
            site.save_job("a.md", &commit, "text")
        } else {
            site.put_in_vault("a.md", "text");
            let job = site.delete_job("a.md", &commit, "text");
            site.drop_json(role, &site.envelope(&site.payload(&job, WallMs(NOW))));
            job
        };
        site.drop_json(role, &job);
        rig.read_files();
        let holder = rusqlite::Connection::open(rig.gear.ledger.path()).unwrap();
        holder.execute_batch("BEGIN IMMEDIATE").unwrap();
        let fault = rig.try_work().unwrap_err();
        rig.gear.storage_failed(&fault);
        assert_eq!(reason(&rig), "database", "{fault}");
        assert!(!rig.gear.is_stopping(), "it may come back");
        let before = if role == Role::Save {
            None
        } else {
            Some("text".to_owned())
        };
        assert_eq!(site.in_vault("a.md"), before, "{role}: nothing is sent");
        holder.execute_batch("ROLLBACK").unwrap();
        rig.settle();
        assert_eq!(rig.row(&job).state, "SUCCEEDED");
        assert_eq!(reason(&rig), "ok");
    }
}

#[test]
fn f02_a_disk_without_room_takes_nothing_in_and_says_so() {
    let site = Site::with(&format!("\n[limits]\ndisk_free_bytes_min = {}\n", 1024u64 << 30));
    let commit = site.commit(&[("a.md", Some("text"))]);
    let mut rig = site.role(Role::Save);
    let job = site.save_job("a.md", &commit, "text");
    site.drop_json(Role::Save, &job);
    rig.settle();
    assert_eq!(reason(&rig), "disk");
    assert!(rig.gear.ledger.job(id(&job)).unwrap().is_none());
    assert_eq!(
        std::fs::read_dir(site.spool(Role::Save).join("drop"))
            .unwrap()
            .count(),
        1,
        "the file stays"
    );
}

#[test]
fn f01_a_full_file_system_loses_nothing_and_goes_on_when_there_is_room() {
    let site = Site::with("\n[limits]\ndisk_free_bytes_min = 0\n");
    let state = site.dir().join("state/save");
    let Some(_mount) = Tmpfs::over(&state, "16m") else {
        println!("not root: no file system can be made that is full");
        return;
    };
    std::fs::set_permissions(&state, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let names: Vec<String> = (0..500).map(|n| format!("{n}.md")).collect();
    let changes: Vec<(&str, Option<&str>)> = names.iter().map(|name| (name.as_str(), Some("text"))).collect();
    let commit = site.commit(&changes);
    let daemon = Daemon::start(&site, Role::Save);
    let ballast = state.join("ballast");
    fill(&ballast);
    let jobs: Vec<_> = names
        .iter()
        .map(|name| site.save_job(name, &commit, "text"))
        .collect();
    let lines: Vec<String> = jobs.iter().map(ToString::to_string).collect();
    site.drop_file(Role::Save, "all.jsonl", lines.join("\n").as_bytes());
    wait_for(&daemon, |health| health["reason"] == "disk");
    std::fs::remove_file(&ballast).unwrap();
    for job in &jobs {
        daemon.wait_state(job, &["SUCCEEDED"]);
    }
    for name in &names {
        assert_eq!(site.in_vault(name).as_deref(), Some("text"));
    }
    assert_eq!(daemon.get("/health"), (200, json!({ "status": "ok" })));
}

fn fill(path: &std::path::Path) {
    use std::io::Write;
    let mut file = std::fs::File::create(path).unwrap();
    for size in [4096, 512, 1] {
        while file.write_all(&vec![b'x'; size]).is_ok() {}
    }
}

/// A small file system of its own, gone at the end.
struct Tmpfs(std::path::PathBuf);

impl Tmpfs {
    fn over(path: &std::path::Path, size: &str) -> Option<Tmpfs> {
        if own_uid() != 0 {
            return None;
        }
        let made = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "none"])
            .arg(path)
            .status();
        made.is_ok_and(|status| status.success())
            .then(|| Tmpfs(path.to_path_buf()))
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        drop(
            std::process::Command::new("umount")
                .arg("-l")
                .arg(&self.0)
                .status(),
        );
    }
}

#[test]
fn a_damaged_database_stops_the_role_with_advice_and_is_never_repaired() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("text"))]);
    let mut rig = site.role(Role::Save);
    for n in 0..50 {
        site.drop_json(Role::Save, &site.save_job("a.md", &commit, "text"));
        if n % 10 == 0 {
            rig.settle();
        }
    }
    rig.settle();
    drop(rig);
    let inbox = site.dir().join("state/save/inbox.db");
    let mut bytes = std::fs::read(&inbox).unwrap();
    for page in bytes.chunks_mut(4096).skip(1) {
        page.fill(0x5a);
    }
    std::fs::write(&inbox, &bytes).unwrap();
    let mut child = crate::support::process::spawn(&site, Role::Save, "");
    site.drop_json(Role::Save, &site.save_job("a.md", &commit, "text"));
    let end = std::time::Instant::now() + crate::support::process::PATIENCE;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(
            std::time::Instant::now() < end,
            "the role goes on with a damaged database"
        );
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    assert_eq!(status.code(), Some(78));
    let log = std::fs::read_to_string(site.dir().join("save.log")).unwrap();
    assert!(
        log.contains("inbox.db") && log.contains("restore the last verified backup"),
        "{log}"
    );
}

#[test]
fn a_drop_directory_that_is_gone_is_named_by_health_and_used_again_when_it_is_back() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("text"))]);
    let daemon = Daemon::start(&site, Role::Save);
    let (drop_dir, away) = (
        site.spool(Role::Save).join("drop"),
        site.spool(Role::Save).join("away"),
    );
    std::fs::rename(&drop_dir, &away).unwrap();
    wait_for(&daemon, |health| health["reason"] == "disk");
    std::fs::rename(&away, &drop_dir).unwrap();
    let job = site.save_job("a.md", &commit, "text");
    site.drop_json(Role::Save, &job);
    daemon.wait_state(&job, &["SUCCEEDED"]);
    wait_for(&daemon, |health| health["status"] == "ok");
}

fn wait_for(daemon: &Daemon, is_so: impl Fn(&serde_json::Value) -> bool) {
    let end = std::time::Instant::now() + crate::support::process::PATIENCE;
    loop {
        let health = daemon.get("/health").1;
        if is_so(&health) {
            return;
        }
        assert!(
            std::time::Instant::now() < end,
            "{health} {}",
            daemon.get("/v1/overview").1
        );
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[test]
fn an_epoch_file_that_cannot_be_written_stops_every_send_until_it_can() {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("a")), ("b.md", Some("b"))]);
    let mut rig = site.role(Role::Save);
    let epoch = site.dir().join("state/save/epoch");
    let text = std::fs::read(&epoch).unwrap();
    std::fs::write(&epoch, "not a record").unwrap();
    let (first, second) = (
        site.save_job("a.md", &commit, "a"),
        site.save_job("b.md", &commit, "b"),
    );
    site.drop_json(Role::Save, &first);
    rig.settle();
    site.drop_json(Role::Save, &second);
    rig.settle();
    rig.wait(60_000, 10_000);
    assert_eq!((site.in_vault("a.md"), site.in_vault("b.md")), (None, None));
    assert_eq!(rig.row(&second).attempt, 0, "nothing more is claimed");
    assert_eq!(reason(&rig), "disk");
    std::fs::write(&epoch, text).unwrap();
    rig.wait(60_000, 10_000);
    rig.assert_outcome(&first, "SUCCEEDED", "saved", "");
    rig.assert_outcome(&second, "SUCCEEDED", "saved", "");
    rig.verify();
}
