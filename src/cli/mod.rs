//! The command line. In: words. Out: data on standard output, talk on standard error, an exit status.
//!
//! One file for each verb: its arguments and a `run`. All verbs of contract 6 are parsed here.
//!
//! Not here: deciding anything (the roles do), waiting for a role to answer (http/ has the client).

pub mod adopt;
pub mod approval;
mod approval_draft;
pub mod audit;
pub mod backup;
pub mod bulk_args;
mod call;
pub mod cancel;
pub mod clock;
pub mod completions;
pub mod config_check;
pub mod demo;
mod documents;
pub mod draft;
pub mod explain;
mod family;
pub mod freeze;
mod head;
pub mod jobs;
pub mod man;
pub mod overview;
pub mod parse;
pub mod pause;
mod playground;
pub mod probe;
pub mod recover;
pub mod requeue;
pub mod resolve;
mod rest;
pub mod restore;
pub mod resume;
pub mod roles_args;
pub mod serve;
pub mod show;
pub mod state;
pub mod status;
mod stopped;
pub mod submit;
mod switch;
mod table;
pub mod ui;
pub mod unfreeze;
pub mod up;
mod wait;
pub mod why;

use crate::config::{self, Config, Installation, LogLevel};
use crate::exit::Exit;
use clap::Parser;
use std::ffi::OsString;
use std::path::PathBuf;
use ui::{Ended, Format, Ui};

/// Everything the program understands.
#[derive(Debug, Parser)]
#[command(name = "lockgate", version, about, long_about = LONG, after_help = AFTER, after_long_help = AFTER_LONG)]
#[command(propagate_version = true, arg_required_else_help = true, max_term_width = 110)]
pub struct Cli {
    /// The installation below this directory (development)
    #[arg(long, global = true, value_name = "DIR", conflicts_with = "config_file")]
    pub dir: Option<PathBuf>,
    /// The installation of this main file [default: /etc/lockgate/lockgate.toml]
    #[arg(long = "config", id = "config_file", global = true, value_name = "FILE")]
    pub config_file: Option<PathBuf>,
    /// Write data as JSON
    #[arg(long, global = true)]
    pub json: bool,
    /// The least important level of log lines, over log.level
    #[arg(long, global = true, value_name = "LEVEL", value_parser = parse::level())]
    pub log_level: Option<LogLevel>,
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

const LONG: &str = "\
Privileged work on one host for requesters that hold no key: a requester hands in a document, a role under a user of its \
own decides whether it becomes an effect, and a delete needs a signature from a human key that is not on the host.";

const AFTER: &str = "See `lockgate --help` for examples and exit statuses.";

const AFTER_LONG: &str = "\
Examples:
  lockgate up --dir /tmp/play                               a playground below one directory
  lockgate --dir /tmp/play draft save /app/vault/a.md | lockgate --dir /tmp/play submit --wait -
  lockgate --dir /tmp/play approval draft JOB               what an approver signs, and how
  lockgate overview                                         every role of the packaged installation
  lockgate explain target_drift                             what a code means and what to do
  lockgate config check                                     every problem at once

Exit statuses:
   0  done                                  65  the document was refused
   1  it ran and failed                     69  unavailable
   2  wrong usage                           75  try again
   3  the job ended REJECTED or FAILED      77  permission
   4  the job ended OUTCOME_UNKNOWN         78  configuration";

/// The verbs.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Make a complete document for PATH
    Draft(draft::DraftArgs),
    /// Hand a document to its role
    Submit(submit::SubmitArgs),
    /// Show the receipt of a job or what became of a submission
    Status(status::StatusArgs),
    /// Take a waiting job back
    Cancel(cancel::CancelArgs),
    /// Draft, submit or withdraw an approval
    #[command(subcommand)]
    Approval(approval::ApprovalVerb),
    /// Show every role at a glance (operators)
    Overview(overview::OverviewArgs),
    /// List the jobs of a role (operators)
    Jobs(jobs::JobsArgs),
    /// Show a job with its audit (operators)
    Show(show::ShowArgs),
    /// Say why a job is where it is (operators)
    Why(why::WhyArgs),
    /// Say what became of a job in OUTCOME_UNKNOWN (operators)
    Resolve(resolve::ResolveArgs),
    /// Send a job in OUTCOME_UNKNOWN back to READY (operators)
    Requeue(requeue::RequeueArgs),
    /// Look at the target of a job now (operators)
    Probe(probe::ProbeArgs),
    /// Make what the vault holds at PATH known to the ledger (operators)
    Adopt(adopt::AdoptArgs),
    /// Write the sealed copy of a deleted object to standard output (operators)
    Recover(recover::RecoverArgs),
    /// Stop claiming (operators)
    Pause(roles_args::RolesArgs),
    /// Claim again (operators)
    Resume(roles_args::RolesArgs),
    /// Stop claiming and admitting (operators)
    Freeze(roles_args::RolesArgs),
    /// Admit and claim again (operators)
    Unfreeze(roles_args::RolesArgs),
    /// Accept the wall clock after it went back (operators)
    #[command(subcommand)]
    Clock(clock::ClockVerb),
    /// Export, verify or anchor the audit of a role (operators)
    #[command(subcommand)]
    Audit(audit::AuditVerb),
    /// Check the configuration
    #[command(subcommand)]
    Config(config_check::ConfigVerb),
    /// Make, list or verify backups of a role
    #[command(subcommand)]
    Backup(backup::BackupVerb),
    /// Put a backup in the place of the state of a stopped role
    Restore(restore::RestoreArgs),
    /// End an installation for good
    #[command(subcommand)]
    State(state::StateVerb),
    /// Print the page of a code: cause, effect, what to do
    Explain(explain::ExplainArgs),
    /// Show a whole installation at work, step by step
    Demo(demo::DemoArgs),
    /// Run every role below --dir DIR, for development
    Up(up::UpArgs),
    /// Run one role in the foreground
    Serve(serve::ServeArgs),
    /// Print a completion script
    Completions(completions::CompletionsArgs),
    /// Write the manual pages
    Man(man::ManArgs),
}

/// What every verb is handed.
#[derive(Debug)]
pub struct Ctx {
    /// Which installation.
    pub installation: Installation,
    /// The streams, and whether data is JSON.
    pub ui: Ui,
    /// Asked for with `--log-level`.
    pub log_level: Option<LogLevel>,
}

impl Ctx {
    /// The installation's configuration; its problems are told on standard error.
    ///
    /// # Errors
    /// 78 if there is any problem.
    pub fn config(&self) -> Result<Config, Exit> {
        config::load(&self.installation).map_err(|problems| {
            self.ui.say(&problems.to_string());
            Exit::Configuration
        })
    }
}

/// Understands the words and runs the verb.
pub fn run(words: impl IntoIterator<Item = OsString>) -> Exit {
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(told) => {
            // Help and the version go to standard output, wrong usage to standard error; a reader that went away is
            // not an error.
            let _shown = told.print();
            return if told.exit_code() == 0 {
                Exit::Done
            } else {
                Exit::Usage
            };
        }
    };
    let installation = match (cli.dir, cli.config_file) {
        (Some(dir), _) => Installation::Dir(dir),
        (None, Some(file)) => Installation::File(file),
        (None, None) => Installation::default(),
    };
    let format = if cli.json { Format::Json } else { Format::Text };
    let ctx = Ctx {
        installation,
        ui: Ui { format },
        log_level: cli.log_level,
    };
    match cli.command.run(&ctx) {
        Ok(exit) | Err(exit) => exit,
    }
}

impl Command {
    fn run(&self, ctx: &Ctx) -> Ended {
        match self {
            Command::Draft(args) => draft::run(ctx, args),
            Command::Submit(args) => submit::run(ctx, args),
            Command::Status(args) => status::run(ctx, args),
            Command::Cancel(args) => cancel::run(ctx, args),
            Command::Approval(args) => approval::run(ctx, args),
            Command::Overview(args) => overview::run(ctx, args),
            Command::Jobs(args) => jobs::run(ctx, args),
            Command::Show(args) => show::run(ctx, args),
            Command::Why(args) => why::run(ctx, args),
            Command::Resolve(args) => resolve::run(ctx, args),
            Command::Requeue(args) => requeue::run(ctx, args),
            Command::Probe(args) => probe::run(ctx, args),
            Command::Adopt(args) => adopt::run(ctx, args),
            Command::Recover(args) => recover::run(ctx, args),
            Command::Pause(args) => pause::run(ctx, args),
            Command::Resume(args) => resume::run(ctx, args),
            Command::Freeze(args) => freeze::run(ctx, args),
            Command::Unfreeze(args) => unfreeze::run(ctx, args),
            Command::Clock(args) => clock::run(ctx, args),
            Command::Audit(args) => audit::run(ctx, args),
            Command::Config(args) => config_check::run(ctx, args),
            Command::Backup(args) => backup::run(ctx, args),
            Command::Restore(args) => restore::run(ctx, args),
            Command::State(args) => state::run(ctx, args),
            Command::Explain(args) => explain::run(ctx, args),
            Command::Demo(args) => demo::run(ctx, args),
            Command::Up(args) => up::run(ctx, args),
            Command::Serve(args) => serve::run(ctx, args),
            Command::Completions(args) => completions::run(ctx, args),
            Command::Man(args) => man::run(ctx, args),
        }
    }
}

#[cfg(test)]
mod tests;
