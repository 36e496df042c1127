//! A socket whose writes must get on. In: a tokio stream. Out: the same, failing with `TimedOut` once a peer has read nothing
//! for a while although there is something for it.
//!
//! Not here: read times (hyper's head timeout, the request stages).

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// A stream that gives up on peers that do not read.
#[derive(Debug)]
pub(super) struct Unstalled<S> {
    inner: S,
    stall: Duration,
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S> Unstalled<S> {
    pub(super) fn new(inner: S, stall: Duration) -> Unstalled<S> {
        Unstalled {
            inner,
            stall,
            waiting: None,
        }
    }
    /// Passes a finished write on; a pending one only until the time is up.
    fn bounded<T>(&mut self, cx: &mut Context<'_>, poll: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if poll.is_ready() {
            self.waiting = None;
            return poll;
        }
        let stall = self.stall;
        let waiting = self
            .waiting
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + stall)));
        ready!(waiting.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the peer does not read",
        )))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Unstalled<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Unstalled<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.inner).poll_write(cx, buf);
        self.bounded(cx, poll)
    }
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.inner).poll_write_vectored(cx, bufs);
        self.bounded(cx, poll)
    }
    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.inner).poll_flush(cx);
        self.bounded(cx, poll)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::IoSlice;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    const STALL: Duration = Duration::from_millis(50);

    fn run<T>(work: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let bounded = runtime.block_on(async { tokio::time::timeout(Duration::from_secs(10), work).await });
        bounded.unwrap()
    }

    #[test]
    fn every_way_to_write_gives_up_on_a_peer_that_reads_nothing() {
        run(async {
            let (near, _far) = duplex(8);
            let mut one = Unstalled::new(near, STALL);
            let error = one.write_all(&[0; 100]).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
            let (near, _far) = duplex(8);
            let mut many = Unstalled::new(near, STALL);
            many.write_all(&[0; 8]).await.unwrap();
            let error = many.write_vectored(&[IoSlice::new(&[0; 8])]).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        });
    }

    #[test]
    fn a_peer_that_reads_now_and_then_is_waited_for() {
        run(async {
            let (near, mut far) = duplex(8);
            let mut stream = Unstalled::new(near, Duration::from_millis(500));
            let reading = async {
                let mut all = [0; 4];
                for _ in 0..10 {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    far.read_exact(&mut all).await.unwrap();
                }
            };
            let (written, ()) = tokio::join!(stream.write_all(&[0; 40]), reading);
            written.unwrap();
        });
    }
}
