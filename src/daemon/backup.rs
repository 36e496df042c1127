//! Copies of one role's ledger, made while it works, and their verification. In: the ledger. Out: files in backups/ that are complete or
//! not there.
//!
//! Not here: putting one back (restore.rs: the role must be stopped).

use super::render;
use super::status_port::unavailable;
use crate::executor::Gear;
use crate::failpoint;
use crate::http::answer::{ApiError, json_int};
use crate::ledger::verify;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The directory of a role's backups.
pub fn dir_of(gear: &Gear) -> PathBuf {
    gear.config.layout.state_dir(gear.role).join("backups")
}

/// Makes one: copied, verified, synced, and only then given its name; the oldest beyond `retention.backups` go.
///
/// # Errors
/// Any step, named.
pub fn create(gear: &Gear, uid: u32, reason: &str) -> Result<Value, ApiError> {
    let dir = dir_of(gear);
    let io = |step: &'static str| {
        let dir = dir.clone();
        move |error: std::io::Error| {
            ApiError::unavailable(format!("backup: {step} in {}: {error}", dir.display()))
        }
    };
    std::fs::create_dir_all(&dir).map_err(io("make the directory"))?;
    let stamp: String = render::time(gear.clock.wall().0)
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    let name = format!("{}-{stamp}.db", gear.role);
    let (temp, path) = (dir.join(format!(".{name}.new")), dir.join(&name));
    if temp.exists() {
        std::fs::remove_file(&temp).map_err(io("remove an unfinished one"))?;
    }
    gear.ledger
        .backup_to(&temp)
        .map_err(|fault| unavailable(&fault))?;
    let report = verify::verify_file(&temp, None).map_err(|fault| unavailable(&fault))?;
    if report.found > 0 {
        return Err(ApiError::new(
            409,
            "not_verified",
            format!("the ledger does not verify: {}", report.findings.join("; ")),
        ));
    }
    let file = std::fs::File::open(&temp).map_err(io("open the copy"))?;
    file.sync_all().map_err(io("sync the copy"))?;
    drop(failpoint::reach("backup.copied"));
    std::fs::rename(&temp, &path).map_err(io("name the copy"))?;
    crate::durable::sync_dir(&dir).map_err(io("sync the directory"))?;
    prune(gear, &dir).map_err(io("remove old ones"))?;
    let note = format!("backup {name}: {reason}");
    drop(gear.ledger.write(move |tx| tx.record_operator(uid, &note)));
    Ok(
        json!({ "name": name, "rows": json_int(report.rows), "head": report.head.map(|hash| hash.to_string()) }),
    )
}

fn names(dir: &Path) -> std::io::Result<Vec<(String, u64)>> {
    let mut names = Vec::new();
    let entries = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(names),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') && name.ends_with(".db") {
            names.push((name, entry.metadata()?.len()));
        }
    }
    names.sort();
    Ok(names)
}

fn prune(gear: &Gear, dir: &Path) -> std::io::Result<()> {
    let keep = usize::from(gear.config.retention.backups).max(1);
    let found = names(dir)?;
    for (name, _) in found.iter().take(found.len().saturating_sub(keep)) {
        std::fs::remove_file(dir.join(name))?;
    }
    Ok(())
}

/// What there is.
///
/// # Errors
/// The directory cannot be read.
pub fn list(gear: &Gear) -> Result<Value, ApiError> {
    let dir = dir_of(gear);
    let found = names(&dir).map_err(|error| ApiError::unavailable(format!("{}: {error}", dir.display())))?;
    let list: Vec<Value> = found
        .into_iter()
        .map(|(name, bytes)| json!({ "name": name, "bytes": bytes, "path": dir.join(&name).display().to_string() }))
        .collect();
    Ok(json!({ "backups": list }))
}

/// Opens one and checks chain, counts and states.
///
/// # Errors
/// It is not there or cannot be read.
pub fn verify(gear: &Gear, name: &str) -> Result<Value, ApiError> {
    let dir = dir_of(gear);
    let known = names(&dir).map_err(|error| ApiError::unavailable(format!("{}: {error}", dir.display())))?;
    if !known.iter().any(|(one, _)| one == name) {
        return Err(ApiError::not_found(format!(
            "no backup {name}; `lockgate backup list {}` shows what there is",
            gear.role
        )));
    }
    let report = verify::verify_file(&dir.join(name), None).map_err(|fault| unavailable(&fault))?;
    Ok(
        json!({ "name": name, "ok": report.found == 0, "rows": json_int(report.rows), "findings": report.findings }),
    )
}
