//! Makes a batch durable with a bounded number of threads. In: descriptors. Out: one result each, in order.
//!
//! Never `syncfs`: it would wait for, and report the errors of, every other writer of the file system.
//!
//! Not here: what a failure means (write, delete).

use std::fmt::Debug;
use std::io;
use std::os::fd::BorrowedFd;

/// How bytes and names are made to survive a power cut. Replaceable, so that failures and slow disks can be tried.
pub trait Durability: Send + Sync + Debug {
    /// A file's bytes, size, owner and mode.
    ///
    /// # Errors
    /// The system's. After one nothing is known about what is on the disk; it is not tried again.
    fn sync_file(&self, file: BorrowedFd<'_>) -> io::Result<()>;
    /// The names in a directory.
    ///
    /// # Errors
    /// As for files.
    fn sync_directory(&self, directory: BorrowedFd<'_>) -> io::Result<()>;
}

/// `fsync`. Not `fdatasync`, which may leave owner and mode behind.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl Durability for Disk {
    fn sync_file(&self, file: BorrowedFd<'_>) -> io::Result<()> {
        Ok(rustix::fs::fsync(file)?)
    }
    fn sync_directory(&self, directory: BorrowedFd<'_>) -> io::Result<()> {
        Ok(rustix::fs::fsync(directory)?)
    }
}

/// Syncs each, on at most `threads` threads; on this one if there is only one, or none can be started.
pub(super) fn each<'f>(
    descriptors: &[BorrowedFd<'f>],
    threads: usize,
    sync: impl Fn(BorrowedFd<'f>) -> io::Result<()> + Sync,
) -> Vec<io::Result<()>> {
    let threads = threads.clamp(1, 64).min(descriptors.len());
    if threads < 2 {
        return descriptors.iter().map(|fd| sync(*fd)).collect();
    }
    let sync = &sync;
    let share = descriptors.len().div_ceil(threads);
    std::thread::scope(|scope| {
        let started: Vec<_> = descriptors
            .chunks(share)
            .map(|some| {
                let work = move || some.iter().map(|fd| sync(*fd)).collect::<Vec<_>>();
                (
                    some,
                    std::thread::Builder::new()
                        .name("vault-sync".to_owned())
                        .spawn_scoped(scope, work),
                )
            })
            .collect();
        let mut results = Vec::with_capacity(descriptors.len());
        for (some, handle) in started {
            match handle.map(std::thread::ScopedJoinHandle::join) {
                Ok(Ok(done)) => results.extend(done),
                Ok(Err(_)) => {
                    results.extend(some.iter().map(|_| Err(io::Error::other("a sync thread died"))))
                }
                Err(_) => results.extend(some.iter().map(|fd| sync(*fd))),
            }
        }
        results
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn results_come_in_order_and_every_descriptor_is_synced_once() {
        let dir = tempfile::tempdir().unwrap();
        let files: Vec<_> = (0..37)
            .map(|n| std::fs::File::create(dir.path().join(n.to_string())).unwrap())
            .collect();
        let fds: Vec<_> = files.iter().map(AsFd::as_fd).collect();
        let bad = std::os::fd::AsRawFd::as_raw_fd(&files[20]);
        let count = AtomicUsize::new(0);
        let results = each(&fds, 16, |fd| {
            count.fetch_add(1, Ordering::SeqCst);
            if std::os::fd::AsRawFd::as_raw_fd(&fd) == bad {
                Err(io::Error::other("no"))
            } else {
                Ok(())
            }
        });
        assert_eq!(count.load(Ordering::SeqCst), 37);
        assert_eq!(results.len(), 37);
        assert!(
            results
                .iter()
                .enumerate()
                .all(|(at, result)| result.is_err() == (at == 20))
        );
    }
}
