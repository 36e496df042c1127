//! stub
use crate::job::{JobId, VaultPath}; use std::path::Path; use crate::keyring::Keyring;
#[derive(Debug)] pub struct RecoveryStore;
#[derive(Debug)] pub struct RecoveryBatch<'a>(&'a RecoveryStore);
#[derive(Debug, thiserror::Error)] #[error("recovery")] pub struct RecoveryFault;
#[derive(Debug)] pub struct Recovered { pub vault_path: String, pub bytes: Vec<u8> }
impl RecoveryBatch<'_> { pub fn seal(&mut self, _: JobId, _: &VaultPath, _: Vec<u8>) -> Result<(), RecoveryFault> { Ok(()) } pub fn commit(self) -> Result<(), RecoveryFault> { Ok(()) } }
impl RecoveryStore { pub fn open_dir(_: &Path, _: Keyring) -> Result<RecoveryStore, RecoveryFault> { Ok(RecoveryStore) } pub fn batch(&self) -> RecoveryBatch<'_> { RecoveryBatch(self) } pub fn open(&self, _: &JobId) -> Result<Recovered, RecoveryFault> { Err(RecoveryFault) } }
