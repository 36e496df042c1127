//! Lets blocking calls wait their turn on a few threads, so that the thread that answers health never waits for them.
//!
//! Not here: what they do.

use super::answer::ApiError;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// A bounded number of blocking calls at a time.
#[derive(Debug, Clone)]
pub struct Lane {
    permits: Arc<Semaphore>,
}

impl Lane {
    /// At most `width` calls at once; the rest wait, each as long as its request's deadline lets it.
    pub fn new(width: usize) -> Lane {
        Lane {
            permits: Arc::new(Semaphore::new(width.max(1))),
        }
    }
    /// Runs `work` on a thread for blocking calls. A call that outlives its request keeps its place until it is done.
    ///
    /// # Errors
    /// 500 `internal` if it panicked or the server is going away.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let permit = self
            .permits
            .clone()
            .acquire_owned()
            .await
            .map_err(|_| ApiError::internal())?;
        let running = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(permit);
            done
        });
        running.await.map_err(|_| ApiError::internal())
    }
}
