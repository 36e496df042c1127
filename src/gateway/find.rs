//! What a requester is told of its own. In: a UID and a job_id or digest. Out: the role's answer, or that the document still
//! waits, or 404. A role that is away is no 404: nobody knows what it has.
//!
//! A file goes only after its role committed what it says, so whoever finds it gone asks the role once more.
//!
//! Not here: asking (`roles`), what waits (`pending`).

use super::roles::Told;
use super::{Gateway, waiting};
use crate::http::{Answer, ApiError};
use crate::job::{JobId, ReceiptState, Role, Sha256};
use serde_json::{Value, json};

/// Who has a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holder {
    /// Its role's ledger.
    Ledger,
    /// Its role's gate directory.
    Spool,
}

/// A job of the requester.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) role: Role,
    pub(super) holder: Holder,
    pub(super) receipt: Value,
}

impl Found {
    pub(super) fn is_settled(&self) -> bool {
        is_settled(&self.receipt)
    }
}

/// Whether nothing will change by itself any more.
pub(super) fn is_settled(receipt: &Value) -> bool {
    let state = receipt["state"].as_str().and_then(ReceiptState::parse);
    state.is_some_and(ReceiptState::is_settled)
}

/// What asking every role came to.
enum Asked<T> {
    Yes(T),
    No,
    /// This one did not say.
    Away(Role, String),
}

impl Gateway {
    /// The job wherever it is; `None` if no role has it and none is away.
    pub(super) async fn find(&self, uid: u32, id: JobId) -> Result<Option<Found>, ApiError> {
        let target = format!("/v1/receipts/{id}?uid={uid}");
        // Twice: between the first look at the spool and the role's answer the file may have been taken.
        for _ in 0..2 {
            let spooled = self.pending.job(uid, id);
            let asked = self.ask_all(&target).await?;
            if let Asked::Yes((role, receipt)) = asked {
                return Ok(Some(Found {
                    role,
                    holder: Holder::Ledger,
                    receipt,
                }));
            }
            let Some(spooled) = spooled else {
                return none_unless_away(&asked);
            };
            let (path, range, rules) = (spooled.path, spooled.range, self.rules.clone());
            let reading = self.looking.run(move || waiting::receipt(&path, &range, &rules));
            if let Some(receipt) = reading.await? {
                return Ok(Some(Found {
                    role: spooled.role,
                    holder: Holder::Spool,
                    receipt,
                }));
            }
            if let Asked::Away(..) = asked {
                return none_unless_away(&asked);
            }
        }
        Ok(None)
    }

    /// The first role that has it.
    async fn ask_all(&self, target: &str) -> Result<Asked<(Role, Value)>, ApiError> {
        let mut all = Asked::No;
        for door in &self.roles {
            match door.get(target).await {
                Told::Yes(body) => {
                    let value = serde_json::from_slice(&body).map_err(|error| {
                        tracing::error!(role = %door.places.role, %error, "not an answer of a role");
                        ApiError::internal()
                    })?;
                    return Ok(Asked::Yes((door.places.role, value)));
                }
                Told::Nothing => {}
                Told::No(reply) => {
                    all = Asked::Away(door.places.role, format!("it answers {}", reply.status))
                }
                Told::Away(why) => all = Asked::Away(door.places.role, why),
            }
        }
        Ok(all)
    }

    pub(super) async fn receipt(&self, uid: u32, id: JobId) -> Result<Answer, ApiError> {
        let found = self.find(uid, id).await?;
        found
            .map(|found| Answer::ok(&found.receipt))
            .ok_or_else(|| ApiError::not_found("no such job of yours"))
    }

    pub(super) async fn submission(&self, uid: u32, digest: Sha256) -> Result<Answer, ApiError> {
        let target = format!("/v1/submissions/{digest}?uid={uid}");
        let spooled = self.pending.digest(uid, digest);
        let mut asked = self.ask_all(&target).await?;
        if let Some(spooled) = spooled {
            if let Asked::No | Asked::Away(..) = asked
                && self.pending.digest(uid, digest).is_some()
            {
                return Ok(Answer::ok(&json!({
                    "digest": digest.to_string(), "accepted": null, "state": "CREATED", "code": null,
                    "job_id": spooled.job_id.map(|id| id.to_string()),
                })));
            }
            if let Asked::No = asked {
                asked = self.ask_all(&target).await?;
            }
        }
        match asked {
            Asked::Yes((_, value)) => Ok(Answer::ok(&value)),
            Asked::No => Err(ApiError::not_found("no such submission of yours")),
            Asked::Away(role, why) => Err(away(role, &why)),
        }
    }

    pub(super) async fn draft(&self, uid: u32, id: JobId) -> Result<Answer, ApiError> {
        let door = self.role(Role::Delete)?;
        match door.get(&format!("/v1/jobs/{id}/approval-draft?uid={uid}")).await {
            Told::Yes(body) => Ok(Answer::forwarded(200, body)),
            Told::No(reply) => Ok(Answer::forwarded(reply.status, reply.body)),
            Told::Away(why) => Err(away(Role::Delete, &why)),
            Told::Nothing => match self.pending.job(uid, id) {
                Some(spooled) if spooled.role == Role::Delete => Err(ApiError::unavailable(
                    "the role has not judged the job yet; ask again once its state is READY",
                )),
                Some(_) | None => Err(ApiError::not_found("no such DELETE job of yours")),
            },
        }
    }
}

fn none_unless_away<T>(asked: &Asked<T>) -> Result<Option<Found>, ApiError> {
    match asked {
        Asked::Away(role, why) => Err(away(*role, why)),
        Asked::Yes(_) | Asked::No => Ok(None),
    }
}

/// 503. Which socket did not answer is for the log, not for requesters.
fn away(role: Role, why: &str) -> ApiError {
    tracing::debug!(%role, why, "a role could not be asked");
    ApiError::unavailable(format!("the {role} role does not answer right now; ask again"))
}
