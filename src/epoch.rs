//! stub
use crate::job::{JobId, Sha256}; use std::path::Path;
#[derive(Debug, Clone, Copy, PartialEq, Eq)] pub struct EpochRecord { pub epoch: u64, pub audit_seq: u64, pub head: Sha256 }
#[derive(Debug)] pub struct EpochFile;
#[derive(Debug, thiserror::Error)] #[error("epoch")] pub struct EpochFault;
impl EpochFile { pub fn in_dir(_: &Path) -> EpochFile { EpochFile } pub fn read(&self) -> Result<Option<EpochRecord>, EpochFault> { Ok(None) } pub fn advance(&self, _: EpochRecord) -> Result<(), EpochFault> { Ok(()) } }
#[derive(Debug)] pub struct DatabaseFacts { pub epoch: u64, pub audit_seq: u64, pub hash_at_epoch_seq: Option<Sha256> }
#[derive(Debug)] pub struct RestoreFacts { pub file: Option<EpochRecord>, pub database: DatabaseFacts, pub dead_leases: u64 }
#[derive(Debug)] pub enum Holder { Alive, Dead }
#[derive(Debug)] pub enum Known { Acknowledged, Nothing, OtherLease, LastSettled, LastOpen(Holder) }
#[derive(Debug)] pub struct SpentFact { pub job_id: JobId, pub known: Known }
#[derive(Debug)] pub enum Verdict { Fresh, Clean, Crash { spent: Vec<JobId> }, Restored { reason: String } }
pub fn judge_restore(_: &RestoreFacts, _: impl Iterator<Item = Result<SpentFact, String>>) -> Result<Verdict, String> { Ok(Verdict::Fresh) }
