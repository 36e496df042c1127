//! `POST /v1/jobs`. In: one job or lines of them. Out: for each, that it is durable in its role's gate directory, or why it
//! is not accepted.
//!
//! Nothing is said to be queued before it is durable. A broken connection or a 503 may leave documents queued; sending them
//! again is safe, since a role answers a document it knows with what it knows.
//!
//! Not here: judging, dropping, counting room.

use super::drop::{DropFault, Place, drop_document, fresh_name};
use super::pending::Pending;
use super::rates::limited;
use super::waiting::{FILE_BYTES_MAX, Filed, lines};
use super::{Gateway, JobAtGate, frozen};
use crate::http::status::AtDoor;
use crate::http::{Answer, ApiError, BodyLimit, Media, Permitted};
use crate::intake::Form;
use crate::job::{Code, DOCUMENT_BYTES_MAX, Role};
use hyper::body::Bytes;
use serde_json::{Value, json};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// Documents in one upload; what a role takes in one transaction.
const LINES_MAX: usize = 1000;

/// What is said of one document.
type Said = Result<JobAtGate, ApiError>;

/// One document of an upload.
#[derive(Debug)]
struct Line {
    range: Range<usize>,
    said: Said,
}

impl Gateway {
    pub(super) async fn jobs(self: &Arc<Gateway>, permitted: Permitted) -> Result<Answer, ApiError> {
        let media = permitted.media()?;
        let limit = match media {
            Media::Json => DOCUMENT_BYTES_MAX,
            Media::JsonLines => self.body_bytes_max,
        };
        let ready = permitted.read_body(BodyLimit::Bytes(limit)).await?;
        let [] = ready.query([])?;
        let (uid, body) = (ready.uid(), ready.body().clone());
        let ranges = match media {
            Media::Json => std::iter::once(0..body.len()).collect(),
            Media::JsonLines => upload(&body)?,
        };
        self.refuse_if_frozen()
            .and_then(|()| self.rates.take(uid, ranges.len()))
            .inspect_err(|no| {
                self.counts.refused(no.code);
            })?;
        let mut all = self.judge_all(uid, &body, ranges).await?;
        self.ask_doors(uid, &mut all).await;
        let all = self.drop_all(uid, media, body, all).await?;
        for line in &all {
            match &line.said {
                Ok(job) => self.counts.queued(job.role, 1),
                Err(no) => self.counts.refused(no.code),
            }
        }
        match media {
            Media::Json => {
                let one = all.into_iter().next().ok_or_else(ApiError::internal)?;
                one.said.map(|job| Answer::accepted(&told(&job)))
            }
            Media::JsonLines => told_all(all),
        }
    }

    async fn judge_all(
        self: &Arc<Gateway>,
        uid: u32,
        body: &Bytes,
        ranges: Vec<Range<usize>>,
    ) -> Result<Vec<Line>, ApiError> {
        let (judge, body) = (self.judges.job.clone(), body.clone());
        let judging = self.looking.run(move || {
            let judged = ranges.into_iter().map(|range| {
                let document = body.get(range.clone()).unwrap_or_default();
                let said = judge(uid, document).map_err(|refusal| ApiError::refused(&refusal));
                Line { range, said }
            });
            judged.collect()
        });
        judging.await
    }

    /// What each role says at once. A role that is away says nothing: what is durable waits for it.
    async fn ask_doors(&self, uid: u32, all: &mut [Line]) {
        for door in &self.roles {
            let of_role = |line: &Line| {
                line.said
                    .as_ref()
                    .ok()
                    .is_some_and(|job| job.role == door.places.role)
            };
            let places: Vec<usize> = (0..all.len())
                .filter(|at| all.get(*at).is_some_and(of_role))
                .collect();
            let asked: Vec<AtDoor> = places
                .iter()
                .filter_map(|at| all.get(*at)?.said.as_ref().ok())
                .map(|job| AtDoor {
                    job_id: job.job_id,
                    digest: job.digest,
                    uid,
                })
                .collect();
            if asked.is_empty() {
                continue;
            }
            let Some(answer) = door.at_door(&asked).await else {
                continue;
            };
            for (position, at) in places.into_iter().enumerate() {
                let Some(line) = all.get_mut(at) else { continue };
                if answer.frozen {
                    line.said = Err(frozen(&format!("the {} role is frozen", door.places.role)));
                } else if answer.conflicts.contains(&position) {
                    line.said = Err(conflict());
                }
            }
        }
    }

    async fn drop_all(
        self: &Arc<Gateway>,
        uid: u32,
        media: Media,
        body: Bytes,
        mut all: Vec<Line>,
    ) -> Result<Vec<Line>, ApiError> {
        let gates: Vec<(Role, PathBuf)> = self
            .roles
            .iter()
            .map(|door| (door.places.role, door.places.gate.clone()))
            .collect();
        let pending = self.pending.clone();
        let dropping = self.dropping.run(move || {
            for (role, gate) in gates {
                let gate = Gate {
                    role,
                    dir: gate,
                    uid,
                    pending: &pending,
                };
                for file in files(role, &all, media) {
                    gate.drop_file(&file, &body, &mut all);
                }
            }
            all
        });
        dropping.await
    }
}

/// One file to be: its form and which lines it holds.
#[derive(Debug, PartialEq, Eq)]
struct File {
    form: Form,
    lines: Vec<usize>,
}

/// The lines for `role`, in their order, in as few files as a role reads whole.
fn files(role: Role, all: &[Line], media: Media) -> Vec<File> {
    let form = match media {
        Media::Json => Form::One,
        Media::JsonLines => Form::Lines,
    };
    let mut files: Vec<File> = Vec::new();
    let mut room = 0;
    for (at, line) in all.iter().enumerate() {
        if !line.said.as_ref().is_ok_and(|job| job.role == role) {
            continue;
        }
        let bytes = line.range.len() + 1;
        match files.last_mut() {
            Some(file) if bytes <= room => file.lines.push(at),
            Some(_) | None => {
                files.push(File {
                    form,
                    lines: vec![at],
                });
                room = FILE_BYTES_MAX;
            }
        }
        room -= bytes.min(room);
    }
    files
}

/// Where files for one role go.
struct Gate<'a> {
    role: Role,
    dir: PathBuf,
    uid: u32,
    pending: &'a Arc<Pending>,
}

impl Gate<'_> {
    fn drop_file(&self, file: &File, body: &Bytes, all: &mut [Line]) {
        let mut bytes = Vec::new();
        let mut filed = Vec::new();
        let mut first = String::new();
        for at in &file.lines {
            let Some(line) = all.get(*at) else { continue };
            let Ok(job) = &line.said else { continue };
            if first.is_empty() {
                first = job.job_id.to_string();
            }
            let start = bytes.len();
            bytes.extend_from_slice(body.get(line.range.clone()).unwrap_or_default());
            filed.push(Filed {
                digest: job.digest,
                job_id: Some(job.job_id),
                range: start..bytes.len(),
            });
            if file.form == Form::Lines {
                bytes.push(b'\n');
            }
        }
        let name = fresh_name(&first, file.form);
        if let Err(no) = place_file(self.pending, self.role, &self.dir, self.uid, &name, &bytes, filed) {
            for at in &file.lines {
                if let Some(line) = all.get_mut(*at) {
                    line.said = Err(no.clone());
                }
            }
        }
    }
}

/// Takes room, drops, remembers. Blocks on the disk.
pub(super) fn place_file(
    pending: &Arc<Pending>,
    role: Role,
    dir: &std::path::Path,
    uid: u32,
    name: &str,
    bytes: &[u8],
    filed: Vec<Filed>,
) -> Result<(), ApiError> {
    let hold = pending.hold(uid, filed.len(), bytes.len()).map_err(|_| {
        let message =
            "too much waits to be taken in (limits.jobs_per_uid, limits.bytes_per_uid); nothing was accepted";
        limited(message).retry_after(5)
    })?;
    match drop_document(&Place::Gate { dir, uid }, name, bytes) {
        Ok(_) => {
            hold.keep(role, format!("{uid}-{name}"), filed);
            Ok(())
        }
        Err(fault) => Err(not_dropped(role, &fault)),
    }
}

fn not_dropped(role: Role, fault: &DropFault) -> ApiError {
    let cause = fault.io().map(ToString::to_string).unwrap_or_default();
    tracing::warn!(%role, %fault, cause, "a document could not be queued");
    let message = match fault {
        DropFault::Uncertain { .. } => "it may have been queued; sending the same document again is safe",
        DropFault::Name { .. } | DropFault::Directory { .. } | DropFault::Io { .. } => {
            "it could not be made durable and was not accepted"
        }
    };
    ApiError::unavailable(format!("{message} (see the gateway's log)")).retry_after(5)
}

fn upload(body: &[u8]) -> Result<Vec<Range<usize>>, ApiError> {
    // Counted before they are listed: a body of line ends only must not cost memory.
    let ends = body.iter().filter(|byte| **byte == b'\n').count();
    let most = ends + usize::from(body.last() != Some(&b'\n'));
    if most > LINES_MAX {
        let message = format!("an upload holds at most {LINES_MAX} documents; split it");
        return Err(ApiError::field(Code::TooLarge, "", message));
    }
    Ok(lines(body))
}

fn conflict() -> ApiError {
    let message =
        "the role has a job with this job_id that is not this document; use a new job_id for a new request";
    ApiError::field(Code::IdempotencyConflict, "/job_id", message)
}

fn told(job: &JobAtGate) -> Value {
    json!({"job_id": job.job_id.to_string(), "digest": job.digest.to_string(), "state": "CREATED"})
}

/// One line each; 202 if anything was queued. If nothing was, and for one reason that has nothing to do with the documents,
/// that reason is the answer.
fn told_all(all: Vec<Line>) -> Result<Answer, ApiError> {
    let first = all.iter().find_map(|line| line.said.as_ref().err()).cloned();
    let none = all.iter().all(|line| line.said.is_err());
    let same = |no: &ApiError| {
        all.iter()
            .all(|line| line.said.as_ref().err().is_some_and(|one| one.code == no.code))
    };
    let status = match first {
        Some(no) if none && no.retry_after_s.is_some() && same(&no) => return Err(no),
        Some(no) if none => no.status,
        Some(_) | None => 202,
    };
    let answers: Vec<Value> = all
        .iter()
        .map(|line| match &line.said {
            Ok(job) => told(job),
            Err(no) => no.to_json(),
        })
        .collect();
    Ok(Answer::lines(status, &answers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{JobId, sha256};

    fn line(role: Role, range: Range<usize>) -> Line {
        let said = Ok(JobAtGate {
            role,
            job_id: JobId::random(),
            digest: sha256(b""),
        });
        Line { range, said }
    }

    #[test]
    fn lines_go_to_their_role_in_order_and_no_file_is_larger_than_a_role_reads() {
        let half = FILE_BYTES_MAX / 2;
        let mut all = vec![
            line(Role::Save, 0..half - 1),
            line(Role::Delete, 0..10),
            line(Role::Save, 0..half - 1),
            line(Role::Save, 0..5),
        ];
        all.push(Line {
            range: 0..3,
            said: Err(conflict()),
        });
        let of = |role| -> Vec<Vec<usize>> {
            files(role, &all, Media::JsonLines)
                .into_iter()
                .map(|file| file.lines)
                .collect()
        };
        assert_eq!(of(Role::Save), [vec![0, 2], vec![3]]);
        assert_eq!(of(Role::Delete), [vec![1]]);
    }

    #[test]
    fn a_thousand_documents_fit_in_an_upload() {
        assert_eq!(upload(&b"x\n".repeat(1000)).unwrap().len(), 1000);
        assert_eq!(
            upload(&[&b"x\n".repeat(999)[..], b"x"].concat()).unwrap().len(),
            1000
        );
        for body in [
            b"x\n".repeat(1001),
            b"\n".repeat(1 << 20),
            [&b"x\n".repeat(1000)[..], b"x"].concat(),
        ] {
            assert_eq!(upload(&body).unwrap_err().status, 413);
        }
    }
}
