//! Where everything is. In: how the installation was named, and `[paths]`. Out: every path the program uses.
//!
//! Not here: owners and modes (daemon/hygiene), making anything.

use crate::job::Role;
use std::path::{Path, PathBuf};

/// How a person or a unit names an installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Installation {
    /// `--dir DIR`: everything below one directory.
    Dir(PathBuf),
    /// `--config FILE`: the packaged layout, with this main file.
    File(PathBuf),
}

/// The main file of the packaged layout.
pub const MAIN_FILE: &str = "/etc/lockgate/lockgate.toml";

impl Default for Installation {
    fn default() -> Installation {
        Installation::File(PathBuf::from(MAIN_FILE))
    }
}

impl Installation {
    /// The main configuration file.
    pub fn main_file(&self) -> PathBuf {
        match self {
            Installation::Dir(dir) => dir.join("lockgate.toml"),
            Installation::File(file) => file.clone(),
        }
    }
}

/// Every path the program uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The main configuration file.
    pub main_file: PathBuf,
    /// The approvers' public keys; only the delete role reads them.
    pub approvers: PathBuf,
    /// While this file exists, every role is frozen.
    pub frozen: PathBuf,
    /// `lock` and `unresolved.ROLE`.
    pub fence_dir: PathBuf,
    /// Parent of the roles' state directories.
    pub state: PathBuf,
    /// Parent of the roles' spool directories.
    pub spool: PathBuf,
    /// Parent of all sockets.
    pub run: PathBuf,
    /// Where credentials are.
    pub credentials: Credentials,
}

/// Where a role's credentials are handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credentials {
    /// The service manager's directory for this process; none if it gave none.
    HandedOver(Option<PathBuf>),
    /// `DIR/credentials/ROLE`.
    Below(PathBuf),
}

impl Layout {
    /// The layout of `--dir DIR`.
    pub fn below(dir: &Path) -> Layout {
        Layout {
            main_file: dir.join("lockgate.toml"),
            approvers: dir.join("approvers"),
            frozen: dir.join("state/frozen"),
            fence_dir: dir.join("fence"),
            state: dir.join("state"),
            spool: dir.join("spool"),
            run: dir.join("run"),
            credentials: Credentials::Below(dir.join("credentials")),
        }
    }

    /// The packaged layout; `handed_over` is the service manager's credentials directory.
    pub fn packaged(main_file: &Path, handed_over: Option<PathBuf>) -> Layout {
        Layout {
            main_file: main_file.to_owned(),
            approvers: PathBuf::from("/etc/lockgate/approvers"),
            frozen: PathBuf::from("/var/lib/lockgate/frozen"),
            fence_dir: PathBuf::from("/var/lib/lockgate-fence"),
            state: PathBuf::from("/var/lib/lockgate"),
            spool: PathBuf::from("/var/spool/lockgate"),
            run: PathBuf::from("/run/lockgate"),
            credentials: Credentials::HandedOver(handed_over),
        }
    }

    /// The role's own directory, 0700.
    pub fn state_dir(&self, role: Role) -> PathBuf {
        self.state.join(role.as_str())
    }
    /// The role's ledger.
    pub fn inbox_db(&self, role: Role) -> PathBuf {
        self.state_dir(role).join("inbox.db")
    }
    /// The gateway's own database.
    pub fn limits_db(&self) -> PathBuf {
        self.state_dir(Role::Gateway).join("limits.db")
    }
    /// The role's spool: the parent of drop/ and gate/.
    pub fn spool_dir(&self, role: Role) -> PathBuf {
        self.spool.join(role.as_str())
    }
    /// Where requesters drop files.
    pub fn drop_dir(&self, role: Role) -> PathBuf {
        self.spool_dir(role).join("drop")
    }
    /// Where the gateway drops files; only here is a stated UID believed.
    pub fn gate_dir(&self, role: Role) -> PathBuf {
        self.spool_dir(role).join("gate")
    }
    /// The file whose bytes are locked across roles.
    pub fn fence_lock(&self) -> PathBuf {
        self.fence_dir.join("lock")
    }
    /// The paths this role may have changed without knowing.
    pub fn unresolved(&self, role: Role) -> PathBuf {
        self.fence_dir.join(format!("unresolved.{role}"))
    }
    /// HTTP for requesters.
    pub fn gateway_socket(&self) -> PathBuf {
        self.run.join("gateway.sock")
    }
    /// HTTP for operators.
    pub fn admin_socket(&self, role: Role) -> PathBuf {
        self.run.join(role.as_str()).join("admin.sock")
    }
    /// Receipts, drafts and health for the gateway.
    pub fn status_socket(&self, role: Role) -> PathBuf {
        self.run.join(role.as_str()).join("status.sock")
    }
    /// The credentials handed to this role; none if the service manager handed over none.
    pub fn credentials_dir(&self, role: Role) -> Option<PathBuf> {
        match &self.credentials {
            Credentials::HandedOver(directory) => directory.clone(),
            Credentials::Below(parent) => Some(parent.join(role.as_str())),
        }
    }

    /// The longest socket path; the kernel takes at most [`SOCKET_PATH_BYTES_MAX`] bytes.
    pub fn longest_socket(&self) -> PathBuf {
        self.status_socket(Role::Gateway)
    }
}

/// `sun_path` has 108 bytes, one of them the closing NUL.
pub const SOCKET_PATH_BYTES_MAX: usize = 107;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packaged_layout_is_the_table_of_the_design() {
        let layout = Layout::packaged(Path::new(MAIN_FILE), Some(PathBuf::from("/run/credentials/x")));
        let told = [
            (layout.main_file.clone(), "/etc/lockgate/lockgate.toml"),
            (layout.approvers.clone(), "/etc/lockgate/approvers"),
            (layout.inbox_db(Role::Delete), "/var/lib/lockgate/delete/inbox.db"),
            (layout.limits_db(), "/var/lib/lockgate/gateway/limits.db"),
            (layout.frozen.clone(), "/var/lib/lockgate/frozen"),
            (layout.fence_lock(), "/var/lib/lockgate-fence/lock"),
            (
                layout.unresolved(Role::Save),
                "/var/lib/lockgate-fence/unresolved.save",
            ),
            (layout.drop_dir(Role::Save), "/var/spool/lockgate/save/drop"),
            (layout.gate_dir(Role::Save), "/var/spool/lockgate/save/gate"),
            (layout.gateway_socket(), "/run/lockgate/gateway.sock"),
            (layout.admin_socket(Role::Save), "/run/lockgate/save/admin.sock"),
            (
                layout.status_socket(Role::Delete),
                "/run/lockgate/delete/status.sock",
            ),
        ];
        for (path, expected) in told {
            assert_eq!(path, PathBuf::from(expected));
        }
        assert_eq!(
            layout.credentials_dir(Role::Save),
            Some(PathBuf::from("/run/credentials/x"))
        );
    }

    #[test]
    fn the_development_layout_is_below_one_directory() {
        let layout = Layout::below(Path::new("/d"));
        let told = [
            (layout.main_file.clone(), "/d/lockgate.toml"),
            (layout.approvers.clone(), "/d/approvers"),
            (layout.state_dir(Role::Save), "/d/state/save"),
            (layout.frozen.clone(), "/d/state/frozen"),
            (layout.fence_dir.clone(), "/d/fence"),
            (layout.drop_dir(Role::Delete), "/d/spool/delete/drop"),
            (layout.gate_dir(Role::Delete), "/d/spool/delete/gate"),
            (layout.gateway_socket(), "/d/run/gateway.sock"),
            (layout.admin_socket(Role::Delete), "/d/run/delete/admin.sock"),
            (layout.status_socket(Role::Delete), "/d/run/delete/status.sock"),
        ];
        for (path, expected) in told {
            assert_eq!(path, PathBuf::from(expected));
        }
        assert_eq!(
            layout.credentials_dir(Role::Save),
            Some(PathBuf::from("/d/credentials/save"))
        );
    }
}
