//! Keys of a development installation. In: its directory of credentials. Out: a fresh key where there was none.
//!
//! Not here: production keys: an operator makes them, root owns them, the service manager hands them over.

use super::{CredentialFault, CredentialName};
use crate::durable::{self, Made};
use crate::job::Role;
use std::path::Path;
use zeroize::{Zeroize as _, Zeroizing};

const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Makes `DIR/ROLE/NAME` (0600, in directories of 0700) with 32 random bytes as hex, if it is not there.
///
/// # Errors
/// [`CredentialFault::NotMade`], [`CredentialFault::NotOfRole`].
pub fn create_playground_key(dir: &Path, role: Role, name: CredentialName) -> Result<Made, CredentialFault> {
    if !name.is_of(role) {
        return Err(CredentialFault::NotOfRole { name, role });
    }
    let own = dir.join(role.as_str());
    let path = own.join(name.file_name());
    let not_made = |why: String| CredentialFault::NotMade {
        name,
        path: path.clone(),
        why,
    };
    durable::make_private_dir(dir).map_err(|error| not_made(error.to_string()))?;
    durable::make_private_dir(&own).map_err(|error| not_made(error.to_string()))?;
    let mut random = Zeroizing::new([0u8; 32]);
    getrandom::fill(random.as_mut_slice()).map_err(|error| not_made(error.to_string()))?;
    let mut text = Zeroizing::new(String::with_capacity(65));
    for byte in random.iter() {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from(HEX_DIGITS[usize::from(digit)]));
        }
    }
    random.zeroize();
    text.push('\n');
    durable::create_file_atomically(&path, text.as_bytes(), 0o600)
        .map_err(|error| not_made(error.to_string()))
}
