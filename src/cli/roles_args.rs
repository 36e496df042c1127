//! The arguments of `pause`, `resume`, `freeze` and `unfreeze`: one role, or all. In: words. Out: roles.
//!
//! Not here: what the verbs do.

use super::parse;
use crate::job::Role;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockgate pause delete --reason \"vault moves\"\n  lockgate resume delete\n  lockgate freeze --all --reason \"stop everything\"\n  lockgate unfreeze --all"
)]
#[command(group(clap::ArgGroup::new("whom").required(true).args(["role", "all"])))]
pub struct RolesArgs {
    /// The role
    #[arg(value_parser = parse::executor())]
    pub role: Option<Role>,
    /// Every role
    #[arg(long)]
    pub all: bool,
    /// Why; it goes into the audit
    #[arg(long, value_parser = parse::reason)]
    pub reason: Option<String>,
}

impl RolesArgs {
    /// The roles that are meant.
    pub fn roles(&self) -> Vec<Role> {
        self.role
            .map_or_else(|| Role::EXECUTORS.to_vec(), |role| vec![role])
    }
}
