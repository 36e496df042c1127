//! Guards that other tests would not miss: what changes between a job's gates and its send, and what must stand on disk before it.
//! tests/mutants removes each of them to see these tests turn red.

use crate::support::vault::Scripted;
use crate::support::*;
use lockgate::clock::{TestClock, WallMs};
use lockgate::config::Mode;
use lockgate::daemon::start::{self, Outside};
use lockgate::executor::leases::LEASE_MS;
use lockgate::exit::Exit;
use lockgate::job::{CommitId, Role};
use lockgate::ledger::control::Switch;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

struct Scene {
    site: Site,
    commit: CommitId,
    rig: Rig,
    vault: Arc<Scripted>,
}

/// A role whose vault runs hooks; the vault holds `a.md` as the source has it if the role is delete.
fn scene(role: Role) -> Scene {
    let site = Site::new();
    let commit = site.commit(&[("a.md", Some("text")), ("b.md", Some("text"))]);
    if role == Role::Delete {
        site.put_in_vault("a.md", "text");
    }
    let (rig, vault) = site.scripted(role, &[]);
    Scene {
        site,
        commit,
        rig,
        vault,
    }
}

impl Scene {
    fn at_gate(&self, hook: impl FnMut() + Send + 'static) {
        *self.vault.at_gate.lock().unwrap() = Some(Box::new(hook));
    }

    fn before_send(&self, hook: impl FnMut() + Send + 'static) {
        *self.vault.before.lock().unwrap() = Some(Box::new(hook));
    }

    /// A DELETE of `a.md` and its approval, dropped.
    fn drop_delete(&self) -> Value {
        let job = self.site.delete_job("a.md", &self.commit, "text");
        self.drop_approved(&job);
        job
    }

    fn drop_approved(&self, job: &Value) {
        self.site.drop_json(Role::Delete, job);
        self.site.drop_json(
            Role::Delete,
            &self.site.envelope(&self.site.payload(job, WallMs(NOW))),
        );
    }

    fn approval_state(&self, job: &Value) -> String {
        self.rig
            .gear
            .ledger
            .approval(job["approval_id"].as_str().unwrap())
            .unwrap()
            .unwrap()
            .0
            .state
    }

    fn is_in_spent_log(&self, job: &Value) -> bool {
        spent_log(self.site.dir()).contains(job["approval_id"].as_str().unwrap())
    }

    fn assert_nothing_spent_or_sent(&self, job: &Value) {
        assert!(!self.is_in_spent_log(job), "nothing is spent");
        assert_eq!(self.vault.sent(), 0, "nothing is sent");
        assert_eq!(self.site.in_vault("a.md").as_deref(), Some("text"));
    }
}

fn spent_log(dir: &Path) -> String {
    std::fs::read_to_string(dir.join("state/delete/spent.log")).unwrap()
}

/// One text out of a role's database, by a connection of our own.
fn asked(dir: &Path, role: Role, query: &str) -> String {
    let db = rusqlite::Connection::open(dir.join(format!("state/{role}/inbox.db"))).unwrap();
    db.query_row(query, [], |row| row.get(0)).unwrap()
}

fn change(dir: &Path, role: Role, statement: &str) {
    let db = rusqlite::Connection::open(dir.join(format!("state/{role}/inbox.db"))).unwrap();
    db.execute_batch(statement).unwrap();
}

fn published(dir: &Path, role: Role) -> bool {
    std::fs::read_to_string(dir.join(format!("fence/unresolved.{role}")))
        .unwrap()
        .contains("+ /app/vault/a.md\n")
}

/// How far the audit is, and how far the epoch file says that it is.
fn audit_and_epoch_file(dir: &Path, role: Role) -> (String, String) {
    let text = std::fs::read_to_string(dir.join(format!("state/{role}/epoch"))).unwrap();
    let seq = text.split(' ').rev().nth(1).unwrap().to_owned();
    (asked(dir, role, "SELECT CAST(max(seq) AS TEXT) FROM audit"), seq)
}

/// What a hook saw right before the one effect.
type Seen = Arc<Mutex<Vec<(&'static str, String)>>>;

#[test]
fn m_n_m_q_m_y_everything_stands_on_disk_before_a_delete_is_sent() {
    let mut scene = scene(Role::Delete);
    let job = scene.drop_delete();
    let seen: Seen = Arc::default();
    let (told, dir, approval) = (
        Arc::clone(&seen),
        scene.site.dir().to_path_buf(),
        job["approval_id"].as_str().unwrap().to_owned(),
    );
    let copy: PathBuf = dir.join(format!(
        "state/delete/recovery/{}",
        job["job_id"].as_str().unwrap()
    ));
    scene.before_send(move || {
        let copies = std::fs::read_dir(copy.parent().unwrap()).unwrap().flatten();
        let copied = copies
            .filter(|entry| {
                entry
                    .path()
                    .to_string_lossy()
                    .starts_with(&*copy.to_string_lossy())
            })
            .count();
        let (audit, epoch) = audit_and_epoch_file(&dir, Role::Delete);
        *told.lock().unwrap() = vec![
            ("state", asked(&dir, Role::Delete, "SELECT state FROM jobs")),
            (
                "approval",
                asked(&dir, Role::Delete, "SELECT state FROM approvals"),
            ),
            (
                "audit",
                asked(
                    &dir,
                    Role::Delete,
                    "SELECT group_concat(kind) FROM (SELECT kind FROM audit ORDER BY seq)",
                ),
            ),
            ("spent", spent_log(&dir).contains(&approval).to_string()),
            ("copies", copied.to_string()),
            ("published", published(&dir, Role::Delete).to_string()),
            ("epoch file behind", (audit != epoch).to_string()),
        ];
    });
    scene.rig.settle();
    scene.rig.assert_outcome(&job, "SUCCEEDED", "deleted", "");
    let expected = [
        ("state", "EXECUTING"),
        ("approval", "RESERVED"),
        ("audit", "REQUESTED,AUTHORIZED,SENT"),
        ("spent", "true"),
        ("copies", "1"),
        ("published", "true"),
        ("epoch file behind", "false"),
    ];
    assert_eq!(
        *seen.lock().unwrap(),
        expected.map(|(what, value)| (what, value.to_owned()))
    );
}

#[test]
fn m_n_m_q_everything_stands_on_disk_before_a_save_is_sent() {
    let mut scene = scene(Role::Save);
    let job = scene.site.save_job("a.md", &scene.commit, "text");
    scene.site.drop_json(Role::Save, &job);
    let seen: Seen = Arc::default();
    let (told, dir) = (Arc::clone(&seen), scene.site.dir().to_path_buf());
    scene.before_send(move || {
        let (audit, epoch) = audit_and_epoch_file(&dir, Role::Save);
        *told.lock().unwrap() = vec![
            ("state", asked(&dir, Role::Save, "SELECT state FROM jobs")),
            (
                "audit",
                asked(
                    &dir,
                    Role::Save,
                    "SELECT group_concat(kind) FROM (SELECT kind FROM audit ORDER BY seq)",
                ),
            ),
            ("published", published(&dir, Role::Save).to_string()),
            ("epoch file behind", (audit != epoch).to_string()),
        ];
    });
    scene.rig.settle();
    scene.rig.assert_outcome(&job, "SUCCEEDED", "saved", "");
    let expected = [
        ("state", "EXECUTING"),
        ("audit", "REQUESTED,SENT"),
        ("published", "true"),
        ("epoch file behind", "false"),
    ];
    assert_eq!(
        *seen.lock().unwrap(),
        expected.map(|(what, value)| (what, value.to_owned()))
    );
}

#[test]
fn t35_m_b_an_approval_that_expires_between_the_gate_and_the_send_is_not_spent() {
    let mut scene = scene(Role::Delete);
    let job = scene.drop_delete();
    let clock = Arc::clone(&scene.rig.clock);
    scene.at_gate(move || clock.advance(3_600_000));
    scene.rig.settle();
    let row = scene.rig.row(&job);
    assert_eq!(
        (row.state.as_str(), row.hold.as_deref(), row.detail.as_deref()),
        ("READY", Some("approval"), Some("approval_expired"))
    );
    scene.assert_nothing_spent_or_sent(&job);
}

#[test]
fn m_t_a_withdrawal_between_the_gate_and_the_send_is_the_last_word() {
    let mut scene = scene(Role::Delete);
    let job = scene.drop_delete();
    let (ledger, settings) = (scene.rig.gear.ledger.clone(), scene.rig.gear.admit_settings());
    let approval = scene.site.payload(&job, WallMs(NOW)).approval_id;
    let withdrawal = lockgate::approval::WithdrawalPayload::new(approval, WallMs(NOW)).unwrap();
    scene.at_gate(move || {
        let digest = lockgate::job::sha256(b"a withdrawal");
        let (withdrawal, settings) = (withdrawal.clone(), settings);
        ledger
            .write(move |tx| {
                tx.receive_withdrawal(0, digest, &withdrawal, "ada@example.org", &rules(), &settings)
            })
            .unwrap();
    });
    scene.rig.settle();
    scene
        .rig
        .assert_outcome(&job, "REJECTED", "delete_denied", "approval_withdrawn");
    scene.assert_nothing_spent_or_sent(&job);
}

#[test]
fn m_r_an_approval_that_is_void_since_the_gate_is_not_spent() {
    let mut scene = scene(Role::Delete);
    let job = scene.drop_delete();
    let ledger = scene.rig.gear.ledger.clone();
    scene.at_gate(move || {
        ledger
            .write(|tx| {
                tx.begin_epoch(1, "test")?;
                tx.switch(Switch::Pause, false, 0, "test")
            })
            .unwrap();
    });
    scene.rig.settle();
    scene
        .rig
        .assert_outcome(&job, "REJECTED", "delete_denied", "approval_void");
    scene.assert_nothing_spent_or_sent(&job);
}

#[test]
fn t33_m_t_a_key_taken_away_between_the_gate_and_the_send_denies() {
    let mut scene = scene(Role::Delete);
    let job = scene.drop_delete();
    let approvers = scene.site.dir().join("approvers");
    scene.at_gate(move || std::fs::write(&approvers, "# nobody\n").unwrap());
    scene.rig.settle();
    scene
        .rig
        .assert_outcome(&job, "REJECTED", "delete_denied", "key_unknown");
    scene.assert_nothing_spent_or_sent(&job);
    assert_eq!(scene.approval_state(&job), "VERIFIED");
}

#[test]
fn m_u_a_pause_or_freeze_between_the_gate_and_the_send_spends_nothing() {
    for how in ["pause", "freeze", "frozen file"] {
        let mut scene = scene(Role::Delete);
        let job = scene.drop_delete();
        let (ledger, frozen) = (
            scene.rig.gear.ledger.clone(),
            scene.site.dir().join("state/frozen"),
        );
        scene.at_gate(move || match how {
            "pause" => ledger
                .write(|tx| tx.switch(Switch::Pause, true, 0, "test"))
                .unwrap(),
            "freeze" => ledger
                .write(|tx| tx.switch(Switch::Freeze, true, 0, "test"))
                .unwrap(),
            _ => std::fs::write(&frozen, "").unwrap(),
        });
        scene.rig.settle();
        let row = scene.rig.row(&job);
        assert_eq!(
            (
                row.state.as_str(),
                row.attempt,
                scene.approval_state(&job).as_str()
            ),
            ("READY", 0, "VERIFIED"),
            "{how}"
        );
        scene.assert_nothing_spent_or_sent(&job);
    }
}

#[test]
fn m_u_the_frozen_file_stops_claims_and_a_frozen_role_leaves_files_unread() {
    let mut scene = scene(Role::Save);
    let waiting = scene.site.save_job("a.md", &scene.commit, "text");
    scene.site.drop_json(Role::Save, &waiting);
    scene.rig.read_files();
    std::fs::write(scene.site.dir().join("state/frozen"), "").unwrap();
    scene.rig.settle();
    assert_eq!(
        (scene.rig.row(&waiting).state.as_str(), scene.vault.sent()),
        ("READY", 0)
    );
    std::fs::remove_file(scene.site.dir().join("state/frozen")).unwrap();
    scene
        .rig
        .gear
        .ledger
        .write(|tx| tx.switch(Switch::Freeze, true, 0, "test"))
        .unwrap();
    let late = scene.site.save_job("b.md", &scene.commit, "text");
    scene.site.drop_json(Role::Save, &late);
    scene.rig.settle();
    assert!(
        scene.rig.gear.ledger.job(id(&late)).unwrap().is_none(),
        "the file waits"
    );
    scene
        .rig
        .gear
        .ledger
        .write(|tx| tx.switch(Switch::Freeze, false, 0, "test"))
        .unwrap();
    scene.rig.settle();
    for job in [&waiting, &late] {
        scene.rig.assert_outcome(job, "SUCCEEDED", "saved", "");
    }
}

#[test]
fn m_z_a_delete_whose_lease_is_about_to_end_is_not_sent() {
    // Over, and as long as the target may take.
    for late in [LEASE_MS + 1, LEASE_MS - 30_000] {
        let mut scene = scene(Role::Delete);
        let job = scene.drop_delete();
        let clock = Arc::clone(&scene.rig.clock);
        scene.at_gate(move || clock.advance(late));
        scene.rig.settle();
        scene
            .rig
            .assert_outcome(&job, "REJECTED", "delete_denied", "approval_spent");
        assert_eq!(scene.vault.sent(), 0, "{late}");
        assert_eq!(scene.site.in_vault("a.md").as_deref(), Some("text"));
        assert_eq!(scene.approval_state(&job), "CONSUMED");
        scene.rig.verify();
    }
}

#[test]
fn m_z_a_save_whose_lease_is_about_to_end_is_not_sent_but_tried_again() {
    for late in [LEASE_MS + 1, LEASE_MS - 30_000] {
        let mut scene = scene(Role::Save);
        let job = scene.site.save_job("a.md", &scene.commit, "text");
        scene.site.drop_json(Role::Save, &job);
        let clock = Arc::clone(&scene.rig.clock);
        scene.at_gate(move || clock.advance(late));
        scene.rig.settle();
        let row = scene.rig.row(&job);
        assert_eq!(
            (row.state.as_str(), row.detail.as_deref(), scene.vault.sent()),
            ("READY", Some("not_sent"), 0),
            "{late}"
        );
        scene.rig.wait(1_000, 250);
        scene.rig.assert_outcome(&job, "SUCCEEDED", "saved", "");
        assert_eq!(scene.vault.sent(), 1);
    }
}

#[test]
fn m_z_a_lease_counts_while_it_is_renewed_and_not_once_it_is_lost() {
    let mut scene = scene(Role::Save);
    scene
        .site
        .drop_json(Role::Save, &scene.site.save_job("a.md", &scene.commit, "text"));
    scene.rig.read_files();
    let gear = &scene.rig.gear;
    let claimer = gear.claimer();
    let claimed = gear
        .ledger
        .write(move |tx| tx.claim(&claimer, 1))
        .unwrap()
        .claimed;
    gear.leases.add(&claimed);
    scene.rig.clock.advance(LEASE_MS - 1);
    assert!(!gear.leases.outlasts(&claimed[0], 1));
    gear.leases.renew();
    assert!(gear.leases.outlasts(&claimed[0], LEASE_MS - 1) && !gear.leases.outlasts(&claimed[0], LEASE_MS));
    change(
        scene.site.dir(),
        Role::Save,
        "UPDATE jobs SET lease_token = '6f0c2e9e-9a51-4a0f-9d0b-5d5d5d5d0001'",
    );
    gear.leases.renew();
    assert!(!gear.leases.outlasts(&claimed[0], 0), "somebody else has it");
    assert_eq!(gear.leases.count(), 0);
}

#[test]
fn m_h_a_lease_that_ended_moves_nothing_while_its_worker_lives() {
    let Scene {
        site,
        commit,
        mut rig,
        vault,
    } = scene(Role::Delete);
    let job = site.delete_job("a.md", &commit, "text");
    site.drop_json(Role::Delete, &job);
    site.drop_json(Role::Delete, &site.envelope(&site.payload(&job, WallMs(NOW))));
    rig.read_files();
    let claimer = rig.gear.claimer();
    let claimed = rig
        .gear
        .ledger
        .write(move |tx| tx.claim(&claimer, 1))
        .unwrap()
        .claimed;
    let outside = Outside {
        vault: vault.clone(),
        ..Outside::configured(&site.config())
    };
    let mut other = site.role_with(Role::Delete, Arc::clone(&rig.clock), outside);
    other.wait(10 * LEASE_MS, LEASE_MS);
    let row = other.row(&job);
    assert_eq!(
        (row.state.as_str(), row.lease_token),
        ("CLAIMED", Some(claimed[0].token.0.to_string()))
    );
    drop(rig);
    other.settle();
    other.assert_outcome(&job, "OUTCOME_UNKNOWN", "outcome_unknown", "not_started");
    other.wait(86_400_000, 3_600_000);
    other.assert_outcome(&job, "OUTCOME_UNKNOWN", "outcome_unknown", "not_started");
    assert_eq!(vault.sent(), 0);
    other.verify();
}

#[test]
fn m_d_m_l_an_approved_delete_is_of_the_object_at_the_commit_or_nothing() {
    let mut scene = scene(Role::Delete);
    let mut object = scene.site.delete_job("a.md", &scene.commit, "text");
    object["object_id"] = json!("b.md");
    let mut provenance = scene.site.delete_job("a.md", &scene.commit, "text");
    provenance["expected_provenance_hash"] = json!("ab".repeat(32));
    for (job, code) in [
        (object, "object_id_mismatch"),
        (provenance, "provenance_mismatch"),
    ] {
        scene.drop_approved(&job);
        scene.rig.settle();
        scene.rig.assert_outcome(&job, "REJECTED", code, "");
        scene.assert_nothing_spent_or_sent(&job);
        assert_eq!(scene.approval_state(&job), "VERIFIED");
    }
    scene.rig.verify();
}

#[test]
fn m_c_spent_log_is_asked_before_anything_is_prepared() {
    let mut scene = scene(Role::Delete);
    let job = scene.drop_delete();
    scene.rig.settle();
    scene.rig.assert_outcome(&job, "SUCCEEDED", "deleted", "");
    scene.site.put_in_vault("a.md", "text");
    // Only spent.log knows.
    change(
        scene.site.dir(),
        Role::Delete,
        "DROP TRIGGER approvals_spent_once; UPDATE approvals SET state = 'VERIFIED', job_id = NULL",
    );
    let mut again = scene.site.delete_job("a.md", &scene.commit, "text");
    for field in ["approval_id", "mission_id", "delete_request_id"] {
        again[field] = job[field].clone();
    }
    scene.site.drop_json(Role::Delete, &again);
    scene.rig.settle();
    scene
        .rig
        .assert_outcome(&again, "REJECTED", "delete_denied", "approval_spent");
    assert_eq!(scene.vault.sent(), 1);
    assert!(
        scene
            .rig
            .gear
            .recovery
            .as_ref()
            .unwrap()
            .open(&id(&again))
            .is_err(),
        "it went no further than the gate"
    );
}

#[test]
fn m_m_a_production_role_does_not_start_while_it_can_read_another_roles_credentials() {
    let site = Site::new();
    for role in Role::EXECUTORS {
        let mut config = site.config();
        config.mode = Mode::Production;
        std::fs::create_dir_all(site.dir().join(format!("credentials/{role}"))).unwrap();
        let outside = Outside::configured(&config);
        let no = start::executor_on(config, role, Arc::new(TestClock::at(WallMs(NOW))), outside).unwrap_err();
        assert_eq!(no.exit.code(), Exit::Permission.code(), "{}", no.message);
        assert!(no.message.contains("/credentials/"), "{}", no.message);
    }
}
