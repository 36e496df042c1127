//! The process before anything is opened. In: nothing. Out: a process that leaves no core and opens nothing to others,
//! its user, its boot, and complaints that say what to put right.
//!
//! Not here: what the installation looks like ([`installation`], which is [`self_check`]).

mod installation;

pub use installation::self_check;

use crate::exit::Exit;

/// Why a role does not start, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// 77 where a user is the wrong one, 78 where something must be put right first.
    pub exit: Exit,
    /// What is wrong and the command that puts it right.
    pub message: String,
}

impl Complaint {
    fn permission(message: impl Into<String>) -> Complaint {
        Complaint {
            exit: Exit::Permission,
            message: message.into(),
        }
    }
    fn configuration(message: impl Into<String>) -> Complaint {
        Complaint {
            exit: Exit::Configuration,
            message: message.into(),
        }
    }
}

/// First of all: no core dump, no ptrace by the same user, nothing made readable by others.
///
/// # Errors
/// The kernel refused one of them.
pub fn harden() -> std::io::Result<()> {
    use rustix::process::{DumpableBehavior, Resource, Rlimit};
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    // A unit with LimitCORE=0 may also refuse the call.
    if rustix::process::getrlimit(Resource::Core) != none {
        rustix::process::setrlimit(Resource::Core, none)?;
    }
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    Ok(())
}

/// The user this process is.
pub fn uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Names this boot, the same whether the service manager or the kernel says it.
///
/// # Errors
/// Neither says it; the role must not start, since it could not tell a dead lease from a living one.
#[expect(
    clippy::disallowed_methods,
    reason = "the units hand the boot id over in the environment"
)]
pub fn boot_id() -> Result<String, Complaint> {
    let told = std::env::var("LOCKGATE_BOOT_ID").ok();
    let kernel = || std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    told.as_deref().and_then(plain_boot_id).or_else(|| kernel().as_deref().and_then(plain_boot_id)).ok_or_else(|| {
        Complaint::configuration(
            "the boot id is unknown: set LOCKGATE_BOOT_ID (Environment=LOCKGATE_BOOT_ID=%b in the unit), since \
             /proc/sys/kernel/random/boot_id cannot be read",
        )
    })
}

/// 32 hex digits; the service manager writes them without hyphens, the kernel with.
fn plain_boot_id(text: &str) -> Option<String> {
    let id: String = text
        .trim()
        .chars()
        .filter(|c| *c != '-')
        .collect::<String>()
        .to_ascii_lowercase();
    (id.len() == 32 && id.bytes().all(|c| c.is_ascii_hexdigit())).then_some(id)
}

#[cfg(test)]
mod tests;
