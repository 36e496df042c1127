//! The command line of `lockgate-sign`. In: words. Out: [`Cli`].
//!
//! Not here: what is done with it.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  lockgate approval draft JOB > payload.json        (on the host)
  lockgate-sign --instance ID --ssh-keygen -f ~/.ssh/id_ed25519_sk payload.json > envelope.json
  lockgate-sign --instance ID --key KEY --merge envelope.json --out envelope.json payload.json
  lockgate-sign --instance ID --key KEY withdraw 3b241101-e2bb-4255-8caf-4136c566a962 > withdrawal.json
  lockgate-sign keygen --principal alice@example.org approver-key

Exit status: 0 signed; 1 not signed; 2 wrong usage; 65 the payload or envelope is refused.";

/// Sign lockgate approvals: shows every field, asks, writes an envelope to standard output.
#[derive(Debug, Parser)]
#[command(name = "lockgate-sign", version, after_help = EXAMPLES, subcommand_negates_reqs = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) how: How,
    /// The payload to sign, exactly as drafted; `-` reads standard input
    #[arg(required = true)]
    pub(crate) payload: Option<PathBuf>,
    /// Add the signature to this envelope, which must hold the same payload
    #[arg(long, value_name = "ENVELOPE")]
    pub(crate) merge: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Take an approval back: signs a withdrawal instead of an approval
    Withdraw {
        /// The approval's id
        approval_id: String,
    },
    /// Make an unencrypted key file, for trials; `ssh-keygen -t ed25519-sk` makes better ones
    Keygen {
        /// The private key file to create; the public half goes beside it as FILE.pub
        file: PathBuf,
        /// Whose key it is; the approvers line for it is printed
        #[arg(long, value_name = "NAME", default_value = "approver")]
        principal: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct How {
    /// The instance the approval is for: `instance` in its lockgate.toml
    #[arg(long, value_name = "ID", global = true)]
    pub(crate) instance: Option<String>,
    /// Sign with this unencrypted OpenSSH ed25519 private key file
    #[arg(long, value_name = "FILE", global = true, conflicts_with = "ssh_keygen")]
    pub(crate) key: Option<PathBuf>,
    /// Let ssh-keygen sign: for keys with a passphrase, in an agent, or in a security key
    #[arg(long, global = true)]
    pub(crate) ssh_keygen: bool,
    /// The key file that ssh-keygen gets (private, or public with the private half in an agent)
    #[arg(short = 'f', value_name = "KEY", global = true, conflicts_with = "key")]
    pub(crate) ssh_key: Option<PathBuf>,
    /// How a --key file signs
    #[arg(
        long,
        value_enum,
        default_value = "sshsig",
        global = true,
        conflicts_with = "ssh_keygen"
    )]
    pub(crate) scheme: SchemeName,
    /// Write the envelope here instead of to standard output
    #[arg(long, value_name = "ENVELOPE", global = true)]
    pub(crate) out: Option<PathBuf>,
    /// Do not ask; you have read the payload by other means
    #[arg(long, global = true)]
    pub(crate) yes: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum SchemeName {
    /// As `ssh-keygen -Y sign`
    Sshsig,
    /// 64 plain bytes
    Ed25519,
}
