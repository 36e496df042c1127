//! Tests of the directory driver. `child` is what the crash tests run in a process of its own.

mod child;
mod crash;
mod drift;
mod links;
mod permissions;
mod room;
mod settle;

use super::*;
use crate::job::{JobId, sha256};
use crate::target::Before;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::TempDir;

const ROOT: &str = "/app/vault/";
const ID: &str = "vault-1";

pub(super) fn at(relative: &str) -> VaultPath {
    VaultPath::parse(ROOT, &format!("{ROOT}{relative}")).unwrap()
}

/// A fresh vault in `vault/` of a temporary directory.
fn place() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    // Whoever a test becomes must be able to enter.
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let root = dir.path().join("vault");
    DirectoryVault::create(&root, ID).unwrap();
    (dir, root)
}

fn driver(root: &Path) -> DirectoryVault {
    DirectoryVault::open(Settings::new(root, Some(ID.to_owned())))
}

fn order<'a>(path: &'a VaultPath, bytes: &'a [u8], before: Before) -> WriteOrder<'a> {
    WriteOrder {
        job_id: JobId::random(),
        path,
        bytes,
        new: sha256(bytes),
        before,
    }
}

fn over<'a>(path: &'a VaultPath, bytes: &'a [u8], before: &[u8]) -> WriteOrder<'a> {
    order(path, bytes, Before::Bytes(sha256(before)))
}

fn removal<'a>(path: &'a VaultPath, bytes: &[u8]) -> DeleteOrder<'a> {
    DeleteOrder {
        job_id: JobId::random(),
        path,
        expected: sha256(bytes),
    }
}

fn seen(bytes: &[u8]) -> Seen {
    Seen::Bytes {
        sha256: sha256(bytes),
        len: bytes.len().try_into().unwrap(),
    }
}

fn drifted(found: Seen) -> Answer {
    Answer::Drift {
        found,
        kept_aside: false,
    }
}

/// Saves as an editor does: a file of its own, renamed over the path.
fn person_saves(root: &Path, relative: &str, bytes: &[u8]) {
    let own = root.join(format!(".editor-{}", JobId::random()));
    std::fs::write(&own, bytes).unwrap();
    std::fs::rename(own, root.join(relative)).unwrap();
}

/// Every name below the vault but the marker.
fn all_names(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let name = entry
                .path()
                .strip_prefix(root)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            if entry.file_type().unwrap().is_dir() {
                waiting.push(entry.path());
            }
            if name != names::MARKER {
                found.push(name);
            }
        }
    }
    found.sort();
    found
}

/// Does something between the write of the temporary files and their naming, or fails there.
struct Meanwhile<F: Fn() -> io::Result<()> + Send + Sync> {
    at_files: F,
    directories: io::Result<()>,
}

impl<F: Fn() -> io::Result<()> + Send + Sync> std::fmt::Debug for Meanwhile<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Meanwhile")
    }
}

impl<F: Fn() -> io::Result<()> + Send + Sync> Durability for Meanwhile<F> {
    fn sync_file(&self, _file: BorrowedFd<'_>) -> io::Result<()> {
        (self.at_files)()
    }
    fn sync_directory(&self, _directory: BorrowedFd<'_>) -> io::Result<()> {
        match &self.directories {
            Ok(()) => Ok(()),
            Err(error) => Err(io::Error::from(error.kind())),
        }
    }
}

fn meanwhile(root: &Path, act: impl Fn() -> io::Result<()> + Send + Sync + 'static) -> DirectoryVault {
    driver(root).with_durability(Arc::new(Meanwhile {
        at_files: act,
        directories: Ok(()),
    }))
}
