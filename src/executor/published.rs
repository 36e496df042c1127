//! Takes paths off this role's published list that no job holds any more. In: the list, the ledger. Out: a list without leftovers.
//!
//! A settlement takes its own path off. What a dead worker, a cancel or a person's verb freed is found here, when there is nothing
//! else to do. Judged under the path's lock: whoever publishes has it.
//! Not here: publishing (save.rs, delete.rs).

use super::Gear;
use crate::job::VaultPath;
use crate::sqlite::StorageFault;

/// Looks through the list once.
///
/// # Errors
/// A storage fault; the list stays as it is.
pub fn tidy(gear: &Gear) -> Result<(), StorageFault> {
    let listed = match gear.fence.listed() {
        Ok(listed) => listed,
        Err(fault) => {
            tracing::error!(%fault, "our own list of unresolved paths cannot be read");
            return Ok(());
        }
    };
    for path in listed {
        if gear.ledger.fence_holder(&path)?.is_some() {
            continue;
        }
        let Ok(path) = VaultPath::parse(&gear.terms.rules.vault_root, &path) else {
            continue;
        };
        take_off(gear, &path)?;
    }
    Ok(())
}

/// Takes one path off the list, if no job holds it any more. While somebody works on it, it stays.
///
/// # Errors
/// A storage fault; the list stays as it is.
pub fn take_off(gear: &Gear, path: &VaultPath) -> Result<(), StorageFault> {
    let Ok(Some(guard)) = gear.fence.try_lock(path) else {
        return Ok(());
    };
    if gear.ledger.fence_holder(path.as_str())?.is_none()
        && let Err(fault) = gear.fence.remove(std::slice::from_ref(path))
    {
        tracing::warn!(%fault, "a free path stays published for now");
    }
    drop(guard);
    Ok(())
}
