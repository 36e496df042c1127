//! A vault in front of the real one that answers as a test says and counts what it was asked to do.

use lockgate::job::VaultPath;
use lockgate::target::{
    Answer, Content, DeleteOrder, FaultText, Intent, Preflight, Seen, Settled, Sweep, Trace, Vault,
    VaultDown, WriteOrder,
};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// What happens to one effect.
#[derive(Debug, Clone)]
pub enum Fate {
    /// It is done, and this is the answer.
    Done(Answer),
    /// It is not done, and this is the answer.
    NotDone(Answer),
}

type Hook = Box<dyn FnMut() + Send>;

/// The real vault behind a script.
pub struct Scripted {
    inner: Arc<dyn Vault>,
    fates: Mutex<Vec<Fate>>,
    /// Nothing answers.
    pub down: AtomicBool,
    /// Nothing can be looked at after the next effect.
    pub down_after: AtomicBool,
    /// Effects asked for.
    pub sent: AtomicUsize,
    /// Runs right before an effect.
    pub before: Mutex<Option<Hook>>,
    /// Runs once, at the last look of a job's gates: what it changes happens between the gates and the send.
    pub at_gate: Mutex<Option<Hook>>,
}

impl std::fmt::Debug for Scripted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scripted")
    }
}

impl Scripted {
    pub fn new(inner: Arc<dyn Vault>, fates: &[Fate]) -> Arc<Scripted> {
        Arc::new(Scripted {
            inner,
            fates: Mutex::new(fates.to_vec()),
            down: AtomicBool::new(false),
            down_after: AtomicBool::new(false),
            sent: AtomicUsize::new(0),
            before: Mutex::new(None),
            at_gate: Mutex::new(None),
        })
    }

    pub fn sent(&self) -> usize {
        self.sent.load(Ordering::SeqCst)
    }

    fn gate(&self) {
        if let Some(mut hook) = self.at_gate.lock().unwrap().take() {
            hook();
        }
    }

    fn up(&self) -> Result<(), VaultDown> {
        if self.down.load(Ordering::SeqCst) {
            let why = FaultText::new("connecting", Some(111));
            return Err(VaultDown::Unreachable {
                path: PathBuf::from("/scripted"),
                why,
            });
        }
        Ok(())
    }

    fn one(&self, done: impl FnOnce() -> Answer) -> Answer {
        self.sent.fetch_add(1, Ordering::SeqCst);
        if let Some(hook) = self.before.lock().unwrap().as_mut() {
            hook();
        }
        let fate = {
            let mut fates = self.fates.lock().unwrap();
            if fates.is_empty() {
                None
            } else {
                Some(fates.remove(0))
            }
        };
        let answer = match fate {
            None => done(),
            Some(Fate::Done(answer)) => {
                assert_eq!(done(), Answer::Done);
                answer
            }
            Some(Fate::NotDone(answer)) => answer,
        };
        if self.down_after.load(Ordering::SeqCst) {
            self.down.store(true, Ordering::SeqCst);
        }
        answer
    }
}

impl Vault for Scripted {
    fn check(&self) -> Result<(), VaultDown> {
        self.up()?;
        self.inner.check()
    }
    fn look(&self, path: &VaultPath) -> Result<Seen, VaultDown> {
        self.up()?;
        self.inner.look(path)
    }
    fn read(&self, path: &VaultPath, bytes_max: u64) -> Result<Content, VaultDown> {
        self.up()?;
        let content = self.inner.read(path, bytes_max);
        self.gate();
        content
    }
    fn persist(&self, paths: &[&VaultPath]) -> Result<(), VaultDown> {
        self.up()?;
        self.inner.persist(paths)
    }
    fn preflight(&self, path: &VaultPath, intent: Intent) -> Result<Preflight, VaultDown> {
        self.up()?;
        let answer = self.inner.preflight(path, intent);
        self.gate();
        answer
    }
    fn write(&self, orders: &[WriteOrder<'_>]) -> Vec<Answer> {
        orders
            .iter()
            .map(|order| self.one(|| self.inner.write(std::slice::from_ref(order)).remove(0)))
            .collect()
    }
    fn delete(&self, orders: &[DeleteOrder<'_>]) -> Vec<Answer> {
        orders
            .iter()
            .map(|order| self.one(|| self.inner.delete(std::slice::from_ref(order)).remove(0)))
            .collect()
    }
    fn settle_leftovers(&self, traces: &[Trace<'_>]) -> Result<Vec<Vec<Settled>>, VaultDown> {
        self.up()?;
        self.inner.settle_leftovers(traces)
    }
    fn sweep(&self) -> Result<Sweep, VaultDown> {
        self.inner.sweep()
    }
    fn deadline_ms(&self) -> i64 {
        self.inner.deadline_ms()
    }
    fn kind(&self) -> &'static str {
        "scripted"
    }
}
