//! From what the files set to what the program uses. In: [`Raw`] with its places. Out: a [`Config`], and every problem.
//!
//! Not here: syntax and types (`parse`), what the file system looks like (daemon/hygiene).

use super::checked::{
    Config, Deadlines, Http, Limits, Log, LogFormat, LogLevel, Mode, Retention, Save, SharedWrite,
    SourceLimits,
};
use super::files::Files;
use super::keys::{self, Count, Flag, Text, Time, Words, Zero};
use super::layout::{Installation, Layout, SOCKET_PATH_BYTES_MAX};
use super::parse::{Absence, key_at};
use super::people::People;
use super::problem::Problem;
use super::raw::{self, Raw};
use super::{check_places, check_policy, units};
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;
use toml::Spanned;
use toml::de::DeTable;

/// What the check needs to know beside the files.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// Who is in which group; the error text if the two files cannot be read.
    pub people: Result<People, String>,
    /// The service manager's credentials directory for this process.
    pub credentials_directory: Option<PathBuf>,
}

/// Collects problems and knows where every key stands.
#[derive(Debug)]
pub(super) struct Check<'a> {
    pub(super) files: &'a Files,
    pub(super) places: &'a DeTable<'a>,
    pub(super) problems: &'a mut Vec<Problem>,
    pub(super) absence: Absence,
    pub(super) mode: Mode,
    pub(super) installation: &'a Installation,
}

impl Check<'_> {
    /// A problem at a place in the files.
    pub(super) fn wrong(&mut self, at: &Range<usize>, message: impl Into<String>) {
        let (file, line) = self.files.locate(at.start);
        let key = key_at(self.places, at).unwrap_or_default();
        self.problems.push(Problem {
            file,
            line,
            key,
            message: message.into(),
        });
    }

    /// Whether a key was told already: it may have been taken out for its type.
    pub(super) fn is_told(&self, key: &str) -> bool {
        self.problems.iter().any(|problem| problem.key == key)
    }

    /// A key that must be there is not, unless it was taken out for a problem of its own.
    pub(super) fn missing(&mut self, key: &str, message: impl Into<String>) {
        if self.absence == Absence::Known && !self.is_told(key) {
            let file = self.files.main();
            self.problems.push(Problem {
                file,
                line: None,
                key: key.to_owned(),
                message: message.into(),
            });
        }
    }

    pub(super) fn count<T: TryFrom<i64> + Default>(&mut self, key: &Count, set: raw::Key<i64>) -> T {
        let mut value = key.default;
        if let Some(set) = set {
            let span = set.span();
            value = set.into_inner();
            if value < key.min || value > key.max {
                let message = format!("{value} is not between {} and {} {}", key.min, key.max, key.unit);
                self.wrong(&span, message);
                value = key.default;
            }
        }
        T::try_from(value).unwrap_or_default()
    }

    pub(super) fn time(&mut self, key: &Time, set: raw::Key<String>) -> Duration {
        let default = units::duration(key.default).unwrap_or_default();
        let Some(set) = set else { return default };
        let text = set.get_ref();
        let Some(value) = units::duration(text) else {
            self.wrong(
                &set.span(),
                format!("\"{text}\" is not a duration: write {}", units::HOW),
            );
            return default;
        };
        let (min, max) = (
            Duration::from_millis(key.min_ms),
            Duration::from_millis(key.max_ms),
        );
        let fits = match key.zero {
            Zero::Means(_) => value.is_zero() || (min..=max).contains(&value),
            Zero::Refused => (min..=max).contains(&value),
        };
        if fits {
            return value;
        }
        let zero = match key.zero {
            Zero::Means(meaning) => format!(", nor \"0\" ({meaning})"),
            Zero::Refused => String::new(),
        };
        let message = format!(
            "\"{text}\" is not between \"{}\" and \"{}\"{zero}",
            units::words(min),
            units::words(max)
        );
        self.wrong(&set.span(), message);
        default
    }

    pub(super) fn flag(&mut self, key: &Flag, set: raw::Key<bool>) -> bool {
        set.map_or(key.default, Spanned::into_inner)
    }

    /// One of the key's words.
    pub(super) fn word(&mut self, key: &Words, set: Option<&Spanned<String>>) -> &'static str {
        let Some(set) = set else { return key.default };
        if let Some(word) = key.words.iter().find(|word| *word == set.get_ref()) {
            return word;
        }
        let known = key
            .words
            .iter()
            .map(|word| format!("\"{word}\""))
            .collect::<Vec<_>>()
            .join(", ");
        self.wrong(
            &set.span(),
            format!("\"{}\" is not one of {known}", set.get_ref()),
        );
        key.default
    }

    /// A key that no driver of this build takes.
    pub(super) fn unused(&mut self, key: &Text, set: Option<&Spanned<String>>, why: &str) {
        if let Some(set) = set {
            self.wrong(
                &set.span(),
                format!("is only for {why} (\"{}\" is set)", key.name),
            );
        }
    }
}

/// Judges everything.
pub(super) fn check(
    files: &Files,
    raw: Raw,
    places: &DeTable<'_>,
    absence: Absence,
    installation: &Installation,
    surroundings: &Surroundings,
    problems: &mut Vec<Problem>,
) -> Config {
    let mode = match installation {
        Installation::Dir(_) => Mode::Development,
        Installation::File(_) => Mode::Production,
    };
    let mut check = Check {
        files,
        places,
        problems,
        absence,
        mode,
        installation,
    };
    if let Some(set) = &raw.mode {
        // With a misspelt mode the rest is judged as if it were left out.
        check.word(keys::MODE, Some(set));
        check.mode = match set.get_ref().as_str() {
            "development" => Mode::Development,
            "production" => Mode::Production,
            _ => mode,
        };
    }
    let mode = check.mode;
    let instance = check_places::instance(&mut check, raw.instance);
    let vault = check_places::vault(&mut check, raw.vault);
    if mode == Mode::Production && vault.shared_write == SharedWrite::NotAccepted {
        check_places::shared_write(&mut check, vault.kind);
    }
    let source = check_places::source(&mut check, raw.source);
    let delete = check_policy::delete(&mut check, raw.delete, &vault.root);
    let requesters = check_policy::requesters(&mut check, raw.requester, &vault.root, &surroundings.people);
    Config {
        mode,
        instance,
        source,
        vault,
        save: Save {
            workers: check.count(keys::SAVE_WORKERS, raw.save.workers),
            batch: check.count(keys::SAVE_BATCH, raw.save.batch),
        },
        delete,
        requesters,
        limits: limits(&mut check, raw.limits),
        retention: Retention {
            jobs: check.time(keys::KEEP_JOBS, raw.retention.jobs),
            refusals: check.time(keys::KEEP_REFUSALS, raw.retention.refusals),
            backups: check.count(keys::KEEP_BACKUPS, raw.retention.backups),
        },
        http: http(&mut check, raw.http),
        log: log(&mut check, &raw.log),
        layout: layout(&mut check, raw.paths, surroundings),
        files: files.files.iter().map(|file| file.path.clone()).collect(),
    }
}

fn limits(check: &mut Check<'_>, raw: raw::Limits) -> Limits {
    Limits {
        jobs_per_uid: check.count(keys::LIMIT_JOBS, raw.jobs_per_uid),
        bytes_per_uid: check.count(keys::LIMIT_BYTES, raw.bytes_per_uid),
        job_max_age: check.time(keys::LIMIT_AGE, raw.job_max_age),
        submissions_per_minute: check.count(keys::LIMIT_SUBMISSIONS, raw.submissions_per_minute),
        refusals_max: check.count(keys::LIMIT_REFUSALS, raw.refusals_max),
        quarantine_bytes_max: check.count(keys::LIMIT_QUARANTINE, raw.quarantine_bytes_max),
        disk_free_bytes_min: check.count(keys::LIMIT_DISK, raw.disk_free_bytes_min),
    }
}

fn http(check: &mut Check<'_>, raw: raw::Http) -> Http {
    Http {
        header_bytes_max: check.count(keys::HTTP_HEADER, raw.header_bytes_max),
        body_bytes_max: check.count(keys::HTTP_BODY, raw.body_bytes_max),
        connections_max: check.count(keys::HTTP_CONNECTIONS, raw.connections_max),
        connections_per_uid_max: check.count(keys::HTTP_PER_UID, raw.connections_per_uid_max),
        header_timeout: check.time(keys::HTTP_HEADER_TIME, raw.header_timeout),
        body_timeout: check.time(keys::HTTP_BODY_TIME, raw.body_timeout),
        write_timeout: check.time(keys::HTTP_WRITE_TIME, raw.write_timeout),
    }
}

fn log(check: &mut Check<'_>, raw: &raw::Log) -> Log {
    let format = match check.word(keys::LOG_FORMAT, raw.format.as_ref()) {
        "json" => LogFormat::Json,
        _ => LogFormat::Text,
    };
    let level = LogLevel::parse(check.word(keys::LOG_LEVEL, raw.level.as_ref())).unwrap_or(LogLevel::Info);
    Log { format, level }
}

pub(super) fn source_limits(check: &mut Check<'_>, raw: raw::SourceLimits) -> SourceLimits {
    SourceLimits {
        blob_bytes_max: check.count(keys::SOURCE_BLOB, raw.blob_bytes_max),
        commits_walked_max: check.count(keys::SOURCE_WALK, raw.commits_walked_max),
    }
}

pub(super) fn deadlines(check: &mut Check<'_>, raw: raw::Deadlines) -> Deadlines {
    Deadlines {
        send: check.time(keys::VAULT_SEND, raw.send),
    }
}

/// The packaged layout with `[paths]` over it, or the one below `--dir`, which `[paths]` cannot change.
fn layout(check: &mut Check<'_>, raw: raw::Paths, surroundings: &Surroundings) -> Layout {
    let set = [
        (keys::PATH_STATE, raw.state),
        (keys::PATH_SPOOL, raw.spool),
        (keys::PATH_FENCE, raw.fence),
        (keys::PATH_RUN, raw.run),
        (keys::PATH_APPROVERS, raw.approvers),
        (keys::PATH_FROZEN, raw.frozen),
    ];
    let layout = match check.installation {
        Installation::Dir(dir) => {
            for (_, value) in set
                .iter()
                .filter_map(|(key, value)| value.as_ref().map(|value| (key, value)))
            {
                check.wrong(
                    &value.span(),
                    "cannot be set with --dir: everything is below the directory",
                );
            }
            Layout::below(dir)
        }
        Installation::File(main) => {
            let handed_over = surroundings.credentials_directory.clone();
            let mut layout = Layout::packaged(main, handed_over);
            let places = [
                &mut layout.state,
                &mut layout.spool,
                &mut layout.fence_dir,
                &mut layout.run,
                &mut layout.approvers,
                &mut layout.frozen,
            ];
            for ((_, value), place) in set.into_iter().zip(places) {
                if let Some(path) = value.and_then(|value| check_places::absolute(check, &value)) {
                    *place = path;
                }
            }
            layout
        }
    };
    let longest = layout.longest_socket();
    let bytes = longest.as_os_str().len();
    if bytes > SOCKET_PATH_BYTES_MAX {
        let message = format!(
            "{} is {bytes} bytes long and a socket's path is at most {SOCKET_PATH_BYTES_MAX}: use a shorter directory",
            longest.display()
        );
        let file = check.files.main();
        check.problems.push(Problem {
            file,
            line: None,
            key: String::new(),
            message,
        });
    }
    layout
}
