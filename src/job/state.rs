//! Job states and the one table of transitions (design 3). In: a kind, a from and a to. Out: yes, or `IllegalTransition`.
//!
//! Not here: when a transition is taken (ledger/, settlement/). The same list stands in schema/ as a trigger; a test
//! holds the two together.

use super::kind::JobKind;
use std::fmt;

/// Where an admitted job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    /// Admitted; waits for its claim.
    Ready,
    /// A worker holds a lease; nothing was sent.
    Claimed,
    /// Durable intent: something may have been sent.
    Executing,
    /// The effect is confirmed.
    Succeeded,
    /// It was tried and did not work.
    Failed,
    /// A gate refused it; nothing was sent.
    Rejected,
    /// Nobody knows; a person looks.
    OutcomeUnknown,
}

impl State {
    /// Every state.
    pub const ALL: [State; 7] = [
        State::Ready,
        State::Claimed,
        State::Executing,
        State::Succeeded,
        State::Failed,
        State::Rejected,
        State::OutcomeUnknown,
    ];
    /// The stored and printed word.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Ready => "READY",
            State::Claimed => "CLAIMED",
            State::Executing => "EXECUTING",
            State::Succeeded => "SUCCEEDED",
            State::Failed => "FAILED",
            State::Rejected => "REJECTED",
            State::OutcomeUnknown => "OUTCOME_UNKNOWN",
        }
    }
    /// The state a word names.
    pub fn parse(text: &str) -> Option<State> {
        State::ALL.into_iter().find(|state| state.as_str() == text)
    }
    /// Whether nothing will change by itself any more.
    pub fn is_settled(self) -> bool {
        match self {
            State::Succeeded | State::Failed | State::Rejected | State::OutcomeUnknown => true,
            State::Ready | State::Claimed | State::Executing => false,
        }
    }
}
impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A change that the table does not contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no transition from {from} to {to} for {kind}; nothing was changed")]
pub struct IllegalTransition {
    /// Kind of the job.
    pub kind: JobKind,
    /// The state it is in.
    pub from: State,
    /// The state that was asked for.
    pub to: State,
}

/// Which kinds a row of the table is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum For {
    /// SAVE and DELETE.
    Both,
    /// SAVE only.
    SaveOnly,
    /// DELETE only.
    DeleteOnly,
}

/// The whole table.
pub const TRANSITIONS: [(State, State, For); 17] = [
    (State::Ready, State::Claimed, For::Both),
    (State::Ready, State::Rejected, For::Both),
    (State::Ready, State::Failed, For::SaveOnly),
    (State::Claimed, State::Failed, For::SaveOnly),
    (State::Claimed, State::Executing, For::Both),
    (State::Claimed, State::Rejected, For::Both),
    (State::Claimed, State::Ready, For::Both),
    (State::Claimed, State::OutcomeUnknown, For::DeleteOnly),
    (State::Executing, State::Executing, For::SaveOnly),
    (State::Executing, State::Ready, For::SaveOnly),
    (State::Executing, State::Succeeded, For::Both),
    (State::Executing, State::Failed, For::Both),
    (State::Executing, State::Rejected, For::Both),
    (State::Executing, State::OutcomeUnknown, For::Both),
    (State::OutcomeUnknown, State::Succeeded, For::Both),
    (State::OutcomeUnknown, State::Failed, For::Both),
    (State::OutcomeUnknown, State::Ready, For::Both),
];

/// `Ok(to)` if the table has the row.
///
/// # Errors
/// [`IllegalTransition`] otherwise.
pub fn next(kind: JobKind, from: State, to: State) -> Result<State, IllegalTransition> {
    let found = TRANSITIONS.iter().any(|(f, t, whom)| {
        *f == from
            && *t == to
            && match whom {
                For::Both => true,
                For::SaveOnly => kind == JobKind::Save,
                For::DeleteOnly => kind == JobKind::Delete,
            }
    });
    if found {
        Ok(to)
    } else {
        Err(IllegalTransition { kind, from, to })
    }
}
