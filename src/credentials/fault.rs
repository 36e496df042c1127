//! Why there is no credential. In: a file and what is wrong. Out: a sentence that names it and says what to do.
//!
//! Not here: what is in the file: no fault carries a byte of it.

use super::CredentialName;
use crate::job::Role;
use std::path::PathBuf;

/// A credential or its directory that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CredentialFault {
    /// The service manager gave no directory.
    #[error(
        "no credentials were handed over: {name} is missing; start the role {role} by its unit, with \
        LoadCredential={name}:/etc/lockgate/credentials/{role}/{name}"
    )]
    NothingHandedOver {
        /// Which one.
        name: CredentialName,
        /// Whose.
        role: Role,
    },
    /// The program asked for what the role must not have.
    #[error("{name} is no credential of the role {role}; do not hand it over")]
    NotOfRole {
        /// Which one.
        name: CredentialName,
        /// Whose it is not.
        role: Role,
    },
    /// No file.
    #[error("{path}: {name} is missing; put it where LoadCredential takes it from and restart the role", path = path.display())]
    Missing {
        /// Which one.
        name: CredentialName,
        /// Where it should be.
        path: PathBuf,
    },
    /// A file with nothing in it.
    #[error("{path}: {name} is empty; write the credential into its file and restart the role", path = path.display())]
    Empty {
        /// Which one.
        name: CredentialName,
        /// Where it is.
        path: PathBuf,
    },
    /// More than a credential can be.
    #[error("{path}: {name} is longer than {limit} bytes; is it another file?", path = path.display())]
    TooLarge {
        /// Which one.
        name: CredentialName,
        /// Where it is.
        path: PathBuf,
        /// The bound, bytes.
        limit: usize,
    },
    /// Less than a key must be.
    #[error("{path}: {name} has fewer than {limit} bytes; make one of 32 random bytes, for example with \
        `openssl rand -hex 32`", path = path.display())]
    TooShort {
        /// Which one.
        name: CredentialName,
        /// Where it is.
        path: PathBuf,
        /// The bound, bytes.
        limit: usize,
    },
    /// A token is one line of printable ASCII: anything else could not be sent as a header.
    #[error("{path}: {name} is not one line of printable ASCII without spaces; write only the token into the file",
        path = path.display())]
    NotToken {
        /// Which one.
        name: CredentialName,
        /// Where it is.
        path: PathBuf,
    },
    /// A link, a device, a directory.
    #[error("{path}: {name} is not a regular file; replace it by one", path = path.display())]
    NotRegular {
        /// Which one.
        name: CredentialName,
        /// Where it is.
        path: PathBuf,
    },
    /// It is there and this process may not read it.
    #[error("{path}: {name} cannot be read ({why}); it must be readable by the user of the role", path = path.display())]
    Unreadable {
        /// Which one.
        name: CredentialName,
        /// Where it is.
        path: PathBuf,
        /// What the kernel said.
        why: String,
    },
    /// The directory of credentials is not one, or closed.
    #[error("{path}: cannot be used as the directory of credentials ({why}); it must be a directory that the user of the \
        role can open", path = path.display())]
    Directory {
        /// Which directory.
        path: PathBuf,
        /// What the kernel said.
        why: String,
    },
    /// A development key could not be made.
    #[error("{path}: {name} cannot be made ({why})", path = path.display())]
    NotMade {
        /// Which one.
        name: CredentialName,
        /// Where it should be.
        path: PathBuf,
        /// What the kernel said.
        why: String,
    },
    /// This process can read what belongs to another role.
    #[error("{path} is another role's and the role {role} can read it: chown root:root and chmod 0700 its directory, and \
        give each role a user of its own", path = path.display())]
    Foreign {
        /// What could be read.
        path: PathBuf,
        /// This role.
        role: Role,
    },
    /// It cannot be told whether another role's credentials are safe from this process.
    #[error("{path}: cannot tell whether the role {role} can read it ({why}); it must be a directory of root with mode 0700, or absent",
        path = path.display())]
    Unjudged {
        /// What was looked at.
        path: PathBuf,
        /// This role.
        role: Role,
        /// What the kernel said.
        why: String,
    },
}
