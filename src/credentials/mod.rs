//! What a role was handed over: tokens and keys, read once into memory that is wiped. In: a directory. Out: secrets, or for
//! each one why there is none and what to do.
//!
//! ```text
//! production:  LoadCredential ─▶ $CREDENTIALS_DIRECTORY ─┐
//! development: DIR/credentials/ROLE ─────────────────────┴▶ Credentials ─▶ keyring/, target/, source/
//! ```
//! A missing credential is not an end: the role starts, claims nothing that needs it, and its health says so.
//! Not here: where the directory is (config/layout), deriving keys (keyring), the process's own hardening (daemon/hygiene).

mod fault;
mod file;
mod foreign;
mod playground;
mod secret;

pub use fault::CredentialFault;
pub use foreign::refuse_foreign;
pub use playground::create_playground_key;
pub use secret::Secret;

use crate::job::Role;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The closed list of credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CredentialName {
    /// Seals and opens recovery copies; delete only.
    RecoveryKey,
    /// Lets the role change the vault.
    VaultToken,
    /// Lets the role read the source.
    SourceToken,
    /// Seals backups.
    BackupKey,
}

impl CredentialName {
    /// Every credential.
    pub const ALL: [CredentialName; 4] = [
        CredentialName::RecoveryKey,
        CredentialName::VaultToken,
        CredentialName::SourceToken,
        CredentialName::BackupKey,
    ];

    /// The name of its file.
    pub fn file_name(self) -> &'static str {
        match self {
            CredentialName::RecoveryKey => "recovery-key",
            CredentialName::VaultToken => "vault-token",
            CredentialName::SourceToken => "source-token",
            CredentialName::BackupKey => "backup-key",
        }
    }

    /// Whether a role may hold it (design 1).
    pub fn is_of(self, role: Role) -> bool {
        match self {
            CredentialName::RecoveryKey => role == Role::Delete,
            CredentialName::VaultToken | CredentialName::SourceToken | CredentialName::BackupKey => {
                role != Role::Gateway
            }
        }
    }

    /// A key we derive keys from, or a word somebody else gave us.
    fn is_key(self) -> bool {
        match self {
            CredentialName::RecoveryKey | CredentialName::BackupKey => true,
            CredentialName::VaultToken | CredentialName::SourceToken => false,
        }
    }
}

impl std::fmt::Display for CredentialName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.file_name())
    }
}

/// Where a role's credentials are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The service manager's directory for this process; `None` if it handed none over.
    HandedOver(Option<PathBuf>),
    /// `DIR/credentials/ROLE` of a development installation.
    Playground(PathBuf),
}

impl Place {
    fn dir(&self) -> Option<&Path> {
        match self {
            Place::HandedOver(dir) => dir.as_deref(),
            Place::Playground(dir) => Some(dir),
        }
    }
}

type Loaded = Result<Arc<Secret>, CredentialFault>;

/// One role's credentials, as last read.
#[derive(Debug)]
pub struct Credentials {
    role: Role,
    place: Place,
    loaded: [Loaded; CredentialName::ALL.len()],
}

impl Credentials {
    /// Reads every credential of the role. Each one that is missing or wrong is told by [`Credentials::get`].
    ///
    /// # Errors
    /// [`CredentialFault`] if the directory itself is there and is none, or cannot be opened.
    pub fn load(role: Role, place: Place) -> Result<Credentials, CredentialFault> {
        if let Some(dir) = place.dir() {
            file::check_dir(dir)?;
        }
        let loaded = read_all(role, &place);
        Ok(Credentials { role, place, loaded })
    }

    /// One credential.
    ///
    /// # Errors
    /// [`CredentialFault`] naming the file and what to do.
    pub fn get(&self, name: CredentialName) -> Result<Arc<Secret>, &CredentialFault> {
        let [recovery, vault, source, backup] = &self.loaded;
        let loaded = match name {
            CredentialName::RecoveryKey => recovery,
            CredentialName::VaultToken => vault,
            CredentialName::SourceToken => source,
            CredentialName::BackupKey => backup,
        };
        loaded.as_ref().map(Arc::clone)
    }

    /// Reads everything again; whether any credential is another one now, has come, or has gone.
    ///
    /// # Errors
    /// As [`Credentials::load`]; then what was read before stays.
    pub fn reload(&mut self) -> Result<bool, CredentialFault> {
        if let Some(dir) = self.place.dir() {
            file::check_dir(dir)?;
        }
        let loaded = read_all(self.role, &self.place);
        let changed = self
            .loaded
            .iter()
            .zip(&loaded)
            .any(|(old, new)| match (old, new) {
                (Ok(old), Ok(new)) => !old.is_same(new),
                (Err(_), Err(_)) => false,
                (Ok(_), Err(_)) | (Err(_), Ok(_)) => true,
            });
        self.loaded = loaded;
        Ok(changed)
    }
}

fn read_all(role: Role, place: &Place) -> [Loaded; CredentialName::ALL.len()] {
    CredentialName::ALL.map(|name| {
        if !name.is_of(role) {
            return Err(CredentialFault::NotOfRole { name, role });
        }
        match place.dir() {
            Some(dir) => file::read(dir, name).map(Arc::new),
            None => Err(CredentialFault::NothingHandedOver { name, role }),
        }
    })
}

#[cfg(test)]
mod tests;
