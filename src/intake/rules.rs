//! What follows from what the kernel says about an entry. In: its name's form and a [`Seen`]. Out: read it, or the one
//! reason why not. Pure.
//!
//! Not here: asking the kernel (`seen`, `drop_dir`), what a document says.

use super::batch::{Form, LINES_MAX, Via};
use super::drop_dir::Kind;
use super::seen::{Nature, Seen};
use crate::job::{Code, Refusal, Sha256, sha256};

/// Bytes of a `.json` file: it is one document (contract 1).
pub(super) const ONE_BYTES_MAX: usize = 64 * 1024;
/// Bytes of a `.jsonl` file.
pub(super) const LINES_BYTES_MAX: usize = 1024 * 1024;

/// Why an entry is refused as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    Symlink,
    Directory,
    Special,
    HardLink,
    TooLarge(Form),
    OwnerRefused,
    NotTheGateway,
    ForeignGroup,
    Unreadable,
    Restless,
    TooManyLines,
    OverLimit,
}

/// The outcome for one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Read,
    Refuse(Reason),
}

/// One entry as it waits in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    /// The requester, or for what is refused the owner.
    pub(super) uid: u32,
    pub(super) via: Via,
    pub(super) form: Form,
    pub(super) verdict: Verdict,
}

/// The bytes a file of this form may have.
pub(super) fn bytes_max(form: Form) -> usize {
    match form {
        Form::One => ONE_BYTES_MAX,
        Form::Lines => LINES_BYTES_MAX,
    }
}

/// What a directory believes and whom it serves.
#[derive(Debug, Clone, Copy)]
pub(super) struct House<'a> {
    pub(super) kind: Kind,
    /// The directory's group.
    pub(super) gid: u32,
    /// UIDs that are no requesters: the gateway's, the roles'.
    pub(super) refused: &'a [u32],
}

/// Judges an entry whose name has `form` and, in the gateway's directory, states `stated`.
pub(super) fn look(house: House<'_>, form: Form, stated: Option<u32>, seen: &Seen) -> Look {
    let (via, from_gateway) = match house.kind {
        Kind::Drop => (Via::Drop, None),
        Kind::Gate { gateway } => (Via::Gateway, Some(seen.uid == gateway)),
    };
    // A stated UID is believed of the gateway's own files only.
    let uid = match (from_gateway, stated) {
        (Some(true), Some(stated)) => stated,
        (Some(_), _) | (None, _) => seen.uid,
    };
    let reason = nature(seen)
        .or_else(|| (from_gateway == Some(false)).then_some(Reason::NotTheGateway))
        .or_else(|| house.refused.contains(&uid).then_some(Reason::OwnerRefused))
        // A file made elsewhere and renamed in keeps its group; who dropped it may not be its owner.
        .or_else(|| (from_gateway.is_none() && seen.gid != house.gid).then_some(Reason::ForeignGroup))
        .or_else(|| (seen.bytes > bytes(form)).then_some(Reason::TooLarge(form)));
    Look {
        uid,
        via,
        form,
        verdict: reason.map_or(Verdict::Read, Verdict::Refuse),
    }
}

fn nature(seen: &Seen) -> Option<Reason> {
    match seen.nature {
        Nature::Symlink => Some(Reason::Symlink),
        Nature::Directory => Some(Reason::Directory),
        Nature::Special => Some(Reason::Special),
        Nature::Regular => (seen.links != 1).then_some(Reason::HardLink),
    }
}

fn bytes(form: Form) -> u64 {
    u64::try_from(bytes_max(form)).unwrap_or(u64::MAX)
}

impl Reason {
    /// Its stable name, for digests of what was never read.
    fn word(self) -> &'static str {
        match self {
            Reason::Symlink => "symbolic-link",
            Reason::Directory => "directory",
            Reason::Special => "special-file",
            Reason::HardLink => "hard-link",
            Reason::TooLarge(_) => "too-large",
            Reason::OwnerRefused => "owner",
            Reason::NotTheGateway => "not-the-gateway",
            Reason::ForeignGroup => "foreign-group",
            Reason::Unreadable => "unreadable",
            Reason::Restless => "restless",
            Reason::TooManyLines => "too-many-lines",
            Reason::OverLimit => "over-limit",
        }
    }

    /// One digest for everything that is refused unread for this reason, so that a flood stays one row.
    pub(super) fn digest(self) -> Sha256 {
        sha256(format!("lockgate-unread-v1\n{}", self.word()).as_bytes())
    }

    /// What the requester is told.
    pub(super) fn refusal(self) -> Refusal {
        let (code, message) = match self {
            Reason::Symlink => (Code::NotAllowed, "a symbolic link was dropped; drop a regular file".to_owned()),
            Reason::Directory => (Code::NotAllowed, "a directory was dropped; drop a regular file".to_owned()),
            Reason::Special => {
                (Code::NotAllowed, "a FIFO, socket or device was dropped; drop a regular file".to_owned())
            }
            Reason::HardLink => {
                (Code::NotAllowed, "the file has more than one name; drop a file of its own".to_owned())
            }
            Reason::TooLarge(form) => {
                (Code::TooLarge, format!("the file is larger than {} bytes", bytes_max(form)))
            }
            Reason::OwnerRefused => (Code::NotAllowed, "this UID is not a requester".to_owned()),
            Reason::NotTheGateway => {
                (Code::NotAllowed, "only the gateway may drop files in this directory".to_owned())
            }
            Reason::ForeignGroup => (
                Code::NotAllowed,
                "the file was made elsewhere and moved in, so its owner may not be who dropped it; write it in the drop \
                 directory under a name with a leading dot, then rename it"
                    .to_owned(),
            ),
            Reason::Unreadable => {
                (Code::NotAllowed, "the role may not read the file; chmod it 0640 before renaming it".to_owned())
            }
            Reason::Restless => (
                Code::MalformedJson,
                "the file kept changing while it was read; write it under a name with a leading dot, then rename it"
                    .to_owned(),
            ),
            Reason::TooManyLines => (Code::TooLarge, format!("the file has more than {LINES_MAX} lines")),
            Reason::OverLimit => (
                Code::RateLimited,
                "the file alone holds more than limits.jobs_per_uid or limits.bytes_per_uid; split it".to_owned(),
            ),
        };
        Refusal::new(code, "", message)
    }
}

/// Whether its mode explains that we may not read it: then it is the requester's mistake. Anything else that keeps us
/// out is a fault of this host, and removing requests for it would lose them.
pub(super) fn mode_keeps_out(seen: &Seen, me: u32) -> bool {
    let needed = if seen.uid == me { 0o400 } else { 0o040 };
    seen.mode & needed == 0
}

#[cfg(test)]
mod tests {
    use super::super::seen::FileId;
    use super::*;

    const GATEWAY: u32 = 900;

    fn seen() -> Seen {
        Seen {
            id: FileId {
                dev: 1,
                ino: 2,
                ctime_ns: 3,
            },
            nature: Nature::Regular,
            mode: 0o640,
            uid: 1000,
            gid: 500,
            links: 1,
            bytes: 10,
            mtime_ns: 3,
            ctime_ns: 3,
        }
    }
    fn drop_house() -> House<'static> {
        House {
            kind: Kind::Drop,
            gid: 500,
            refused: &[GATEWAY],
        }
    }
    fn gate_house() -> House<'static> {
        House {
            kind: Kind::Gate { gateway: GATEWAY },
            gid: 500,
            refused: &[GATEWAY],
        }
    }
    fn reason(house: House<'_>, form: Form, stated: Option<u32>, seen: Seen) -> Option<Reason> {
        match look(house, form, stated, &seen).verdict {
            Verdict::Read => None,
            Verdict::Refuse(reason) => Some(reason),
        }
    }

    #[test]
    fn a20_every_kind_of_entry_has_its_own_reason() {
        let cases = [
            (seen(), None),
            (
                Seen {
                    nature: Nature::Symlink,
                    links: 2,
                    ..seen()
                },
                Some(Reason::Symlink),
            ),
            (
                Seen {
                    nature: Nature::Directory,
                    links: 2,
                    ..seen()
                },
                Some(Reason::Directory),
            ),
            (
                Seen {
                    nature: Nature::Special,
                    ..seen()
                },
                Some(Reason::Special),
            ),
            (Seen { links: 2, ..seen() }, Some(Reason::HardLink)),
            (Seen { links: 0, ..seen() }, Some(Reason::HardLink)),
            (Seen { gid: 501, ..seen() }, Some(Reason::ForeignGroup)),
            (
                Seen {
                    uid: GATEWAY,
                    ..seen()
                },
                Some(Reason::OwnerRefused),
            ),
            (
                Seen {
                    bytes: 65_536,
                    ..seen()
                },
                None,
            ),
            (
                Seen {
                    bytes: 65_537,
                    ..seen()
                },
                Some(Reason::TooLarge(Form::One)),
            ),
            (
                Seen {
                    bytes: 1 << 40,
                    ..seen()
                },
                Some(Reason::TooLarge(Form::One)),
            ),
        ];
        for (seen, expected) in cases {
            assert_eq!(reason(drop_house(), Form::One, None, seen), expected, "{seen:?}");
        }
    }

    #[test]
    fn a20_a_file_of_lines_may_be_larger() {
        for (bytes, due) in [
            (1_048_576, None),
            (1_048_577, Some(Reason::TooLarge(Form::Lines))),
        ] {
            assert_eq!(
                reason(drop_house(), Form::Lines, None, Seen { bytes, ..seen() }),
                due
            );
        }
    }

    #[test]
    fn a_stated_uid_is_believed_of_the_gateway_only() {
        let from_gateway = Seen {
            uid: GATEWAY,
            gid: 900,
            ..seen()
        };
        let believed = look(gate_house(), Form::One, Some(1000), &from_gateway);
        assert_eq!(
            (believed.uid, believed.via, believed.verdict),
            (1000, Via::Gateway, Verdict::Read)
        );
        let forged = look(gate_house(), Form::One, Some(1000), &Seen { uid: 1001, ..seen() });
        assert_eq!(
            (forged.uid, forged.verdict),
            (1001, Verdict::Refuse(Reason::NotTheGateway))
        );
        let own = look(gate_house(), Form::One, Some(GATEWAY), &from_gateway);
        assert_eq!(
            own.verdict,
            Verdict::Refuse(Reason::OwnerRefused),
            "the gateway is no requester"
        );
        let stated_in_drop = look(drop_house(), Form::One, Some(7), &seen());
        assert_eq!(stated_in_drop.uid, 1000);
    }

    #[test]
    fn only_a_mode_that_keeps_us_out_is_the_requesters_mistake() {
        let me = 400;
        for (uid, mode, expected) in [
            (1000, 0o640, false),
            (1000, 0o600, true),
            (1000, 0o000, true),
            (1000, 0o004, true),
            (1000, 0o044, false),
            (me, 0o400, false),
            (me, 0o040, true),
        ] {
            assert_eq!(
                mode_keeps_out(&Seen { uid, mode, ..seen() }, me),
                expected,
                "{uid} {mode:o}"
            );
        }
    }

    #[test]
    fn each_reason_has_a_digest_of_its_own_and_a_sentence() {
        let all = [
            Reason::Symlink,
            Reason::Directory,
            Reason::Special,
            Reason::HardLink,
            Reason::TooLarge(Form::One),
            Reason::OwnerRefused,
            Reason::NotTheGateway,
            Reason::ForeignGroup,
            Reason::Unreadable,
            Reason::Restless,
            Reason::TooManyLines,
            Reason::OverLimit,
        ];
        let digests: std::collections::BTreeSet<_> = all.iter().map(|reason| reason.digest()).collect();
        assert_eq!(digests.len(), all.len());
        assert!(all.iter().all(|reason| reason.refusal().message.len() > 20));
    }
}
