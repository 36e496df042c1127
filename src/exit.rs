//! The exit statuses of the program (contract 6). In: nothing. Out: one closed list.
//!
//! Not here: which verb ends how (cli/, daemon/).

use std::process::ExitCode;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exit {
    /// 0: done.
    Done,
    /// 1: it ran and failed.
    Failed,
    /// 2: wrong usage.
    Usage,
    /// 3: the job ended REJECTED or FAILED.
    NotDone,
    /// 4: the job ended OUTCOME_UNKNOWN.
    Unknown,
    /// 65: the document was refused.
    Refused,
    /// 69: a part that is needed does not answer.
    Unavailable,
    /// 75: not now; the same command may work later.
    TryAgain,
    /// 77: this user may not do that.
    Permission,
    /// 78: the configuration or the installation must be put right first.
    Configuration,
}

impl Exit {
    /// Every status, in the order of their numbers.
    pub const ALL: [Exit; 10] = [
        Exit::Done,
        Exit::Failed,
        Exit::Usage,
        Exit::NotDone,
        Exit::Unknown,
        Exit::Refused,
        Exit::Unavailable,
        Exit::TryAgain,
        Exit::Permission,
        Exit::Configuration,
    ];

    /// The number the shell sees.
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::NotDone => 3,
            Exit::Unknown => 4,
            Exit::Refused => 65,
            Exit::Unavailable => 69,
            Exit::TryAgain => 75,
            Exit::Permission => 77,
            Exit::Configuration => 78,
        }
    }

    /// What the number means, for `--help` and the man page.
    pub fn meaning(self) -> &'static str {
        match self {
            Exit::Done => "done",
            Exit::Failed => "it ran and failed",
            Exit::Usage => "wrong usage",
            Exit::NotDone => "the job ended REJECTED or FAILED",
            Exit::Unknown => "the job ended OUTCOME_UNKNOWN",
            Exit::Refused => "the document was refused",
            Exit::Unavailable => "unavailable",
            Exit::TryAgain => "try again",
            Exit::Permission => "permission",
            Exit::Configuration => "configuration",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}
