//! What is handed in about a job: approvals, withdrawals, cancels. In: an envelope, or the job to cancel. Out: that it is
//! durable in the role's gate directory. What became of it is asked by its digest.
//!
//! What only takes something back (a withdrawal, a cancel) is queued even while the role is frozen.
//!
//! Not here: verifying signatures against the approvers (the delete role alone has them).

use super::drop::fresh_name;
use super::find::Found;
use super::jobs::place_file;
use super::roles::RoleDoor;
use super::waiting::Filed;
use super::{Gateway, Meant, frozen};
use crate::http::{Answer, ApiError, BodyLimit, Permitted};
use crate::intake::Form;
use crate::job::{DOCUMENT_BYTES_MAX, JobId, Role, Sha256, document_digest};
use hyper::body::Bytes;
use serde_json::json;
use std::sync::Arc;

impl Gateway {
    pub(super) async fn approve(self: &Arc<Gateway>, permitted: Permitted) -> Result<Answer, ApiError> {
        let ready = permitted.read_body(BodyLimit::Bytes(DOCUMENT_BYTES_MAX)).await?;
        let [] = ready.query([])?;
        let (uid, body) = (ready.uid(), ready.body().clone());
        let taken = self.take_envelope(uid, body).await;
        let digest = taken.inspect_err(|no| self.counts.refused(no.code))?;
        Ok(Answer::accepted(
            &json!({"digest": digest.to_string(), "state": "CREATED"}),
        ))
    }

    async fn take_envelope(self: &Arc<Gateway>, uid: u32, body: Bytes) -> Result<Sha256, ApiError> {
        self.rates.take(uid, 1)?;
        let (judge, document) = (self.judges.envelope.clone(), body.clone());
        let judged = self.looking.run(move || judge(uid, &document)).await?;
        let envelope = judged.map_err(|refusal| ApiError::refused(&refusal))?;
        let door = self.role(envelope.role)?;
        match envelope.meant {
            Meant::Approval => {
                self.refuse_if_frozen()?;
                if door.at_door(&[]).await.is_some_and(|answer| answer.frozen) {
                    return Err(frozen(&format!("the {} role is frozen", envelope.role)));
                }
            }
            Meant::Withdrawal => {}
        }
        self.queue(door, uid, "approval", body, envelope.digest).await?;
        Ok(envelope.digest)
    }

    pub(super) async fn cancel(self: &Arc<Gateway>, uid: u32, id: JobId) -> Result<Answer, ApiError> {
        self.rates.take(uid, 1)?;
        let found = self.find(uid, id).await?;
        let found = found.ok_or_else(|| ApiError::not_found("no such job of yours"))?;
        if found.is_settled() {
            let message = "the job is settled; there is nothing left to cancel";
            return Err(ApiError::new(409, "too_late", message));
        }
        let Found { role, receipt, .. } = found;
        // In its canonical form, so that its digest can be said without reading it again.
        let body = Bytes::from(format!("{{\"cancel_version\":1,\"job_id\":\"{id}\"}}"));
        let digest = document_digest(&body);
        self.queue(self.role(role)?, uid, "cancel", body, digest).await?;
        Ok(Answer::accepted(&json!({
            "job_id": id.to_string(), "digest": digest.to_string(), "state": receipt["state"],
        })))
    }

    async fn queue(
        self: &Arc<Gateway>,
        door: &RoleDoor,
        uid: u32,
        stem: &'static str,
        body: Bytes,
        digest: Sha256,
    ) -> Result<(), ApiError> {
        let (role, dir): (Role, _) = (door.places.role, door.places.gate.clone());
        let pending = self.pending.clone();
        let filed = vec![Filed {
            digest,
            job_id: None,
            range: 0..body.len(),
        }];
        let dropping = self.dropping.run(move || {
            let name = fresh_name(stem, Form::One);
            place_file(&pending, role, &dir, uid, &name, &body, filed)
        });
        dropping.await??;
        self.counts.queued(role, 1);
        Ok(())
    }
}
