//! From configuration files to settings the program can trust. In: the name of an installation. Out: a [`Config`], or
//! every problem at once with file, line and key.
//!
//! ```text
//! files ──▶ parse ──▶ Raw ──▶ check ──▶ Config
//!  texts     types,            limits, defaults,
//!            keys, joins       policy
//! ```
//!
//! This room and daemon/ are the only ones that read the environment.
//!
//! Not here: whether the file system fits the settings (daemon/hygiene), secrets (credentials/).

mod check;
mod check_places;
mod check_policy;
mod checked;
mod files;
mod keys;
mod layout;
mod page;
mod parse;
mod pattern;
mod people;
mod playground;
mod problem;
mod raw;
mod requesters;
mod units;

#[cfg(test)]
mod tests;

pub use check::Surroundings;
pub use checked::{
    ApprovalRule, Config, Deadlines, Delete, Duty, Http, Limits, Log, LogFormat, LogLevel, Mode,
    ObjectIdRule, Retention, Save, SharedWrite, Source, SourceKind, SourceLimits, UserVerification, Vault,
    VaultKind,
};
pub use layout::{Credentials, Installation, Layout, MAIN_FILE, SOCKET_PATH_BYTES_MAX};
pub use page::man_page;
pub use pattern::PathPattern;
pub use people::{People, PeopleError};
pub use playground::default_toml;
pub use problem::{Problem, Problems};
pub use requesters::{RequesterPolicy, RequesterRule};

use std::path::PathBuf;

/// Reads and judges an installation's configuration. This is the exact start-up path, for `config check` too.
///
/// # Errors
/// [`Problems`]: all of them, by file and line.
pub fn load(installation: &Installation) -> Result<Config, Problems> {
    let people = People::of_this_machine().map_err(|error| error.to_string());
    load_with(
        installation,
        &Surroundings {
            people,
            credentials_directory: credentials_directory(),
        },
    )
}

/// The same with given surroundings.
///
/// # Errors
/// As [`load`].
pub fn load_with(installation: &Installation, surroundings: &Surroundings) -> Result<Config, Problems> {
    let mut problems = Vec::new();
    let installation = absolute(installation, &mut problems);
    let files = files::Files::read(&installation.main_file(), &mut problems);
    judge(&files, &installation, surroundings, problems)
}

fn judge(
    files: &files::Files,
    installation: &Installation,
    surroundings: &Surroundings,
    mut problems: Vec<Problem>,
) -> Result<Config, Problems> {
    let (raw, places, absence) = parse::parse(files, &mut problems);
    let config = check::check(
        files,
        raw,
        &places,
        absence,
        installation,
        surroundings,
        &mut problems,
    );
    if problems.is_empty() {
        return Ok(config);
    }
    problems.sort();
    problems.dedup();
    Err(Problems(problems))
}

/// Paths must not change meaning when a process changes its directory.
fn absolute(installation: &Installation, problems: &mut Vec<Problem>) -> Installation {
    let mut fixed = |path: &PathBuf| {
        std::path::absolute(path).unwrap_or_else(|error| {
            let message = format!("cannot be made absolute: {error}");
            problems.push(Problem {
                file: path.clone(),
                line: None,
                key: String::new(),
                message,
            });
            path.clone()
        })
    };
    match installation {
        Installation::Dir(dir) => Installation::Dir(fixed(dir)),
        Installation::File(file) => Installation::File(fixed(file)),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the service manager names the directory in the environment only"
)]
fn credentials_directory() -> Option<PathBuf> {
    std::env::var_os("CREDENTIALS_DIRECTORY")
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
}
