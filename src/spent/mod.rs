//! stub
use crate::job::{ApprovalId, JobId, Nonce, Uuid4}; use crate::clock::WallMs; use std::path::Path;
#[derive(Debug)] pub struct SpentLog;
#[derive(Debug, Clone)] pub struct SpentEntry { pub approval_id: ApprovalId, pub nonce: Nonce, pub job_id: JobId, pub lease_token: Uuid4, pub wall_ms: WallMs }
#[derive(Debug)] pub enum SpendVerdict { Spent, AlreadySpent }
#[derive(Debug, PartialEq, Eq)] pub enum SpentFaultClass { NothingSpent, MaybeSpent }
#[derive(Debug, thiserror::Error)] #[error("spent")] pub struct SpentFault;
impl SpentFault { pub fn class(&self) -> SpentFaultClass { SpentFaultClass::MaybeSpent } }
impl SpentLog {
 pub fn create_or_open(_: &Path, _: bool) -> Result<SpentLog, SpentFault> { Ok(SpentLog) }
 pub fn spend(&self, _: &[SpentEntry]) -> Result<Vec<SpendVerdict>, SpentFault> { Err(SpentFault) }
 pub fn contains(&self, _: &ApprovalId) -> bool { true }
 pub fn refresh(&self) -> Result<(), SpentFault> { Ok(()) }
 pub fn entries(&self) -> Result<std::vec::IntoIter<Result<SpentEntry, SpentFault>>, SpentFault> { Err(SpentFault) }
 pub fn highest_wall_ms(&self) -> Option<WallMs> { None }
}
