//! What the demo plays on: an installation with running roles, a requester, an approver, an operator. In: notes, documents,
//! signatures. Out: receipts and what operators see.
//!
//! Not here: the story.

use super::super::call::QUICK;
use super::super::documents;
use super::super::draft;
use super::super::family::Family;
use super::super::playground;
use super::super::rest::pause_ms;
use super::super::table::{cell, code};
use super::super::ui::Format;
use super::super::{Ctx, Ui};
use crate::approval::draft::draft as draft_approval;
use crate::approval::envelope::Envelope;
use crate::approval::{ApprovalPayload, Purpose};
use crate::clock::{Clock, SystemClock};
use crate::config::{Config, Installation, default_toml};
use crate::daemon::settings;
use crate::durable;
use crate::exit::Exit;
use crate::http::client::{Client, ClientFault};
use crate::intake::Form;
use crate::job::{DeleteJob, Job, JobKind, MissionId, ReceiptState, Role, Uuid4, VaultPath, sha256};
use crate::signing::{ApproverKey, Scheme};
use crate::source::playground::{Change, commit};
use crate::source::{LocalGit, describe};
use serde_json::{Value, json};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Why the story cannot go on.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Trouble(pub(super) String);

pub(super) fn trouble(error: impl std::fmt::Display) -> Trouble {
    Trouble(error.to_string())
}

/// Longest wait for anything, ms.
const PATIENCE_MS: i64 = 60_000;
/// Between two looks, ms.
const LOOK_MS: i64 = 5;
/// The shortest that the configuration takes: so soon after a crash a person may resolve, and a job without approval is denied.
const HASTE: &str = "\n[vault.deadlines]\nsend = \"100ms\"\n";

/// Everything there is.
pub(super) struct Stage {
    pub(super) ctx: Ctx,
    pub(super) config: Config,
    pub(super) dir: PathBuf,
    pub(super) family: Family,
    pub(super) clock: SystemClock,
    key: ApproverKey,
    gateway: Client,
    steps: u32,
    wrong: u32,
}

/// The roles ended before the directory they work in is removed; the caller does both in that order.
impl Stage {
    pub(super) fn set(ui: Ui, dir: &Path) -> Result<Stage, Trouble> {
        let ctx = Ctx {
            installation: Installation::Dir(dir.to_owned()),
            ui,
            log_level: None,
        };
        let told = |exit: Exit| {
            Trouble(format!(
                "the installation could not be made (status {})",
                exit.code()
            ))
        };
        let config = playground::create(&ctx, dir, toml).map_err(told)?;
        let key = ApproverKey::generate().map_err(trouble)?;
        let line = format!("approver@demo {}\n", key.public().to_openssh());
        durable::write_file_atomically(&config.layout.approvers, line.as_bytes(), 0o640).map_err(trouble)?;
        let log = File::create(dir.join("log")).map_err(trouble)?;
        let mut family = Family::start(config.clone(), dir.to_owned(), None, Some(log)).map_err(trouble)?;
        let unwell = family.ready(PATIENCE_MS).map_err(trouble)?;
        if let Some((role, health)) = unwell.first() {
            return Err(Trouble(format!("the role {role} is not well: {health}")));
        }
        let gateway = Client::new(&config.layout.gateway_socket(), QUICK).map_err(trouble)?;
        let clock = SystemClock::new(String::new());
        Ok(Stage {
            ctx,
            config,
            dir: dir.to_owned(),
            family,
            clock,
            key,
            gateway,
            steps: 0,
            wrong: 0,
        })
    }

    /// One line of the story.
    pub(super) fn step(&mut self, title: &str, expected: &str, saw: &str) -> Result<(), Trouble> {
        self.judged(title, expected, saw, expected == saw)
    }

    /// The same where more than one sight is right.
    pub(super) fn judged(&mut self, title: &str, expected: &str, saw: &str, ok: bool) -> Result<(), Trouble> {
        self.steps += 1;
        if !ok {
            self.wrong += 1;
        }
        let line = match self.ctx.ui.format {
            Format::Json => {
                json!({"step": self.steps, "title": title, "expected": expected, "saw": saw, "ok": ok})
                    .to_string()
            }
            Format::Text => {
                let verdict = if ok { "ok" } else { "NOT AS EXPECTED" };
                format!(
                    "{:>2}  {title}: expected {expected} · saw {saw} · {verdict}",
                    self.steps
                )
            }
        };
        self.ctx
            .ui
            .data(&format!("{line}\n"))
            .map_err(|_| Trouble("nobody reads the story".to_owned()))
    }

    /// Steps told, and how many were not as expected.
    pub(super) fn tally(&self) -> (u32, u32) {
        (self.steps, self.wrong)
    }

    /// A commit to the source, with this content of a note.
    pub(super) fn commit(&self, note: &str, content: &[u8]) -> Result<(), Trouble> {
        let changes: [Change<'_>; 1] = [(note, Some(content))];
        commit(
            &self.config.source.path,
            &changes,
            "A change",
            self.clock.wall().0 / 1000,
        )
        .map_err(trouble)?;
        Ok(())
    }

    pub(super) fn source_sha256(&self, note: &str) -> Result<String, Trouble> {
        let bytes = std::fs::read(self.config.source.path.join(note)).map_err(trouble)?;
        Ok(sha256(&bytes).to_string())
    }

    /// The file in the vault.
    pub(super) fn in_vault(&self, note: &str) -> PathBuf {
        self.config.vault.path.join(note)
    }

    /// Its bytes' hash, or that it is absent.
    pub(super) fn vault_sha256(&self, note: &str) -> String {
        std::fs::read(self.in_vault(note))
            .map_or_else(|_| "absent".to_owned(), |bytes| sha256(&bytes).to_string())
    }

    /// A document from the tip of the source.
    pub(super) fn draft(&self, kind: JobKind, note: &str) -> Result<Value, Trouble> {
        let root = &self.config.vault.root;
        let path =
            VaultPath::parse(root, &format!("{root}{note}")).map_err(|error| Trouble(error.message))?;
        let source = LocalGit::new(settings::source(&self.config));
        let object = describe(&source, path.relative(), None).map_err(trouble)?;
        Ok(draft::document(kind, &path, &object, MissionId(Uuid4::random())))
    }

    /// Drops a document where requesters do; its job_id.
    pub(super) fn submit(&self, document: &Value) -> Result<String, Trouble> {
        let role = match cell(document, "job_type") {
            kind if kind == JobKind::Save.as_str() => Role::Save,
            _ => Role::Delete,
        };
        self.hand_in(role, document.to_string().as_bytes())?;
        Ok(cell(document, "job_id"))
    }

    fn hand_in(&self, role: Role, bytes: &[u8]) -> Result<(), Trouble> {
        documents::drop_bytes(&self.ctx, &self.config, role, "demo", Form::One, bytes).map_err(|exit| {
            Trouble(format!(
                "a document could not be dropped (status {})",
                exit.code()
            ))
        })
    }

    /// Waits until `look` sees something.
    pub(super) fn until<T>(
        &mut self,
        what: &str,
        mut look: impl FnMut(&mut Stage) -> Result<Option<T>, Trouble>,
    ) -> Result<T, Trouble> {
        let end = self.clock.boot().0 + PATIENCE_MS;
        loop {
            if let Some(seen) = look(self)? {
                return Ok(seen);
            }
            if self.clock.boot().0 > end {
                return Err(Trouble(format!(
                    "nothing came of it within {} s: {what}",
                    PATIENCE_MS / 1000
                )));
            }
            pause_ms(LOOK_MS);
        }
    }

    /// The requester's own receipt, if the role has the job already.
    pub(super) fn receipt(&mut self, job: &str) -> Result<Option<Value>, Trouble> {
        match self.gateway.get(&format!("/v1/jobs/{job}")) {
            Ok(receipt) => Ok(Some(receipt)),
            Err(ClientFault::Refused { .. }) => Ok(None),
            Err(fault) => Err(trouble(fault)),
        }
    }

    /// The receipt once nothing changes by itself any more.
    pub(super) fn settled(&mut self, job: &str) -> Result<Value, Trouble> {
        self.until("the job settles", |stage| {
            let receipt = stage.receipt(job)?;
            Ok(receipt.filter(|receipt| {
                receipt["state"]
                    .as_str()
                    .and_then(ReceiptState::parse)
                    .is_some_and(ReceiptState::is_settled)
            }))
        })
    }

    /// Submits and waits: `STATE code/detail`.
    pub(super) fn outcome(&mut self, document: &Value) -> Result<String, Trouble> {
        let job = self.submit(document)?;
        let receipt = self.settled(&job)?;
        Ok(told(&receipt))
    }

    /// Waits until the role has taken everything out of its drop directory.
    pub(super) fn taken(&mut self, role: Role) -> Result<(), Trouble> {
        let drop_dir = self.config.layout.drop_dir(role);
        self.until("the role takes the file", |_| {
            let left = std::fs::read_dir(&drop_dir).map_err(trouble)?.count();
            Ok((left == 0).then_some(()))
        })
    }

    /// A job as admission reads it.
    pub(super) fn delete_job(&self, document: &Value) -> Result<DeleteJob, Trouble> {
        let judged = documents::judge(&self.config, document.to_string().as_bytes());
        match judged.job.as_ref().map(|admitted| admitted.job()) {
            Some(Job::Delete(job)) => Ok(job.clone()),
            Some(Job::Save(_)) | None => Err(Trouble("not a DELETE document".to_owned())),
        }
    }

    /// What approves exactly this job.
    pub(super) fn approval(&self, job: &DeleteJob) -> Result<ApprovalPayload, Trouble> {
        draft_approval(job, self.clock.wall(), 3_600_000)
            .ok_or_else(|| Trouble("no approval could be drafted".to_owned()))
    }

    /// The approver signs, the requester hands it in, the role takes it or not.
    pub(super) fn sign(&mut self, payload: &ApprovalPayload) -> Result<String, Trouble> {
        let bytes = payload.to_canonical();
        let signature = self
            .key
            .sign(Scheme::Sshsig, Purpose::Approval, &self.config.instance, &bytes);
        let mut envelope = Envelope::unsigned(bytes);
        envelope.add(signature).map_err(trouble)?;
        let envelope = envelope.to_canonical();
        self.hand_in(Role::Delete, &envelope)?;
        let target = format!("/v1/submissions/{}", sha256(&envelope));
        self.until("the approval is judged", |stage| {
            match stage.gateway.get(&target) {
                Ok(answer) => Ok(answer["accepted"].as_bool().map(|accepted| {
                    if accepted {
                        "accepted".to_owned()
                    } else {
                        format!("refused: {}", cell(&answer, "code"))
                    }
                })),
                Err(ClientFault::Refused { .. }) => Ok(None),
                Err(fault) => Err(trouble(fault)),
            }
        })
    }

    /// A fresh client of an operator.
    pub(super) fn operator(&self, role: Role) -> Result<Client, Trouble> {
        Client::new(&self.config.layout.admin_socket(role), QUICK).map_err(trouble)
    }
}

/// `STATE code/detail`
pub(super) fn told(job: &Value) -> String {
    format!("{} {}", cell(job, "state"), code(job))
        .trim_end()
        .to_owned()
}

fn toml(instance: &str, vault_id: &str) -> String {
    let text = default_toml(instance, vault_id);
    let text = text.replace(
        "[[delete.approval]]",
        "[delete]\napproval_wait = \"1s\"\n\n[[delete.approval]]",
    );
    format!("{text}{HASTE}")
}
