//! A vault that does nothing, for measuring everything around it. In: orders. Out: `Done`, at once.
//!
//! Not here: any effect. Production mode refuses this driver by its word, `noop`.

use super::{
    Answer, Content, DeleteOrder, Intent, Preflight, Seen, Settled, Sweep, Trace, Vault, VaultDown,
    WriteOrder,
};
use crate::job::VaultPath;

/// Holds nothing, accepts everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoopVault;

impl Vault for NoopVault {
    fn check(&self) -> Result<(), VaultDown> {
        Ok(())
    }
    fn look(&self, _path: &VaultPath) -> Result<Seen, VaultDown> {
        Ok(Seen::Absent)
    }
    fn read(&self, _path: &VaultPath, _bytes_max: u64) -> Result<Content, VaultDown> {
        Ok(Content::Absent)
    }
    fn persist(&self, _paths: &[&VaultPath]) -> Result<(), VaultDown> {
        Ok(())
    }
    fn preflight(&self, _path: &VaultPath, _intent: Intent) -> Result<Preflight, VaultDown> {
        Ok(Preflight::Clear)
    }
    fn write(&self, orders: &[WriteOrder<'_>]) -> Vec<Answer> {
        vec![Answer::Done; orders.len()]
    }
    fn delete(&self, orders: &[DeleteOrder<'_>]) -> Vec<Answer> {
        vec![Answer::Done; orders.len()]
    }
    fn settle_leftovers(&self, traces: &[Trace<'_>]) -> Result<Vec<Vec<Settled>>, VaultDown> {
        Ok(vec![Vec::new(); traces.len()])
    }
    fn sweep(&self) -> Result<Sweep, VaultDown> {
        Ok(Sweep::default())
    }
    fn deadline_ms(&self) -> i64 {
        1000
    }
    fn kind(&self) -> &'static str {
        "noop"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_no_op_vault_names_itself_so_that_production_can_refuse_it() {
        assert_eq!(NoopVault.kind(), "noop");
        assert!(NoopVault.write(&[]).is_empty());
    }
}
