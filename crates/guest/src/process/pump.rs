//! Reading one descriptor of a process until nothing of it is left to deliver.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use super::outlet::{Delivered, Outlet};
use super::utf8;
use super::wire::Output;
use crate::limits::{LATE_OUTPUT, PIPE_PIECE, TERMINAL_PIECE, UNREAD_PAUSE};

/// Read at once, on the stack: what is idle holds no buffer.
const READ: usize = 16 * 1024;

/// Small pieces follow each other no faster than this: what a program writes byte by byte goes out gathered. The first
/// piece after a silence goes out at once.
const GATHER: Duration = Duration::from_millis(5);

/// Looks at what has come meanwhile: who prints fast has filled a piece by then, and who prints byte by byte does not
/// wake us for each.
const LOOKS: u32 = 8;

/// Reads one descriptor.
pub(super) struct Pump<'a> {
    fd: AsyncFd<OwnedFd>,
    wrap: fn(Bytes) -> Output,
    piece: usize,
    outlet: &'a Outlet,
    /// The main process has ended.
    gone: &'a CancellationToken,
    /// Read but not delivered: at most a piece.
    pending: Vec<u8>,
    delivered_at: Option<Instant>,
}

/// What one round of reading met.
enum Filled {
    /// A full piece, or all there was for now.
    Bytes(usize),
    /// No writer is left.
    End,
}

impl<'a> Pump<'a> {
    pub(super) fn new(
        fd: AsyncFd<OwnedFd>,
        wrap: fn(Bytes) -> Output,
        outlet: &'a Outlet,
        gone: &'a CancellationToken,
    ) -> Self {
        let piece = if matches!(wrap(Bytes::new()), Output::Pty(_)) { TERMINAL_PIECE } else { PIPE_PIECE };
        Self { fd, wrap, piece, outlet, gone, pending: Vec::new(), delivered_at: None }
    }

    /// Delivers what the process prints until it and its output have ended. Gives the descriptor back when somebody
    /// else still holds the other end.
    pub(super) async fn run(mut self) -> Option<AsyncFd<OwnedFd>> {
        if self.while_it_lives().await && self.after_its_end().await {
            return Some(self.fd);
        }
        None
    }

    /// True when the main process ended first, false at the end of the output.
    async fn while_it_lives(&mut self) -> bool {
        loop {
            tokio::select! {
                // The end first: a child that floods the pipe must not hide it.
                biased;
                () = self.gone.cancelled() => return true,
                ready = self.fd.readable() => if ready.is_err() { return false },
            }
            let mut filled = self.fill();
            let mut looks = 0;
            while let Some(at) = self.gather_until().filter(|_| matches!(filled, Filled::Bytes(_))) {
                looks += 1;
                tokio::select! {
                    () = self.gone.cancelled() => return true,
                    () = sleep_until(at) => {}
                    ready = self.fd.readable(), if looks <= LOOKS => if ready.is_err() { return false },
                }
                filled = self.fill();
            }
            if let Filled::End = filled {
                self.deliver_all().await;
                return false;
            }
            self.deliver_whole().await;
        }
    }

    /// What the main process itself wrote is in the pipe now, and counted; more than that is only waited for shortly.
    /// True when others still hold the other end.
    async fn after_its_end(&mut self) -> bool {
        let mut owed = rustix::io::ioctl_fionread(&self.fd).unwrap_or(0);
        let mut grace = None;
        loop {
            match self.fill() {
                Filled::End => {
                    self.deliver_all().await;
                    return false;
                }
                Filled::Bytes(0) => owed = 0,
                Filled::Bytes(n) => owed = owed.saturating_sub(n as u64),
            }
            self.deliver_whole().await;
            if owed > 0 {
                continue;
            }
            let until = *grace.get_or_insert_with(|| Instant::now() + LATE_OUTPUT);
            let more = timeout_at(until, self.fd.readable()).await.is_ok_and(|ready| ready.is_ok());
            if !more || Instant::now() >= until {
                self.deliver_all().await;
                return true;
            }
        }
    }

    /// Reads until a piece is full or nothing more is there.
    fn fill(&mut self) -> Filled {
        let mut buffer = [0u8; READ];
        let mut read = 0;
        while self.pending.len() < self.piece {
            let room = buffer.len().min(self.piece - self.pending.len());
            match try_read(&self.fd, &mut buffer[..room]) {
                Ok(Some(0)) | Err(_) => return Filled::End,
                Ok(Some(n)) => {
                    self.pending.extend_from_slice(&buffer[..n]);
                    read += n;
                }
                Ok(None) => break,
            }
        }
        Filled::Bytes(read)
    }

    fn gather_until(&self) -> Option<Instant> {
        let until = self.delivered_at? + GATHER;
        (self.pending.len() < self.piece && Instant::now() < until).then_some(until)
    }

    /// Delivers up to the last whole character.
    async fn deliver_whole(&mut self) {
        let tail = self.pending.split_off(utf8::whole(&self.pending));
        let whole = std::mem::replace(&mut self.pending, tail);
        self.deliver(whole).await;
    }

    async fn deliver_all(&mut self) {
        let rest = std::mem::take(&mut self.pending);
        self.deliver(rest).await;
    }

    async fn deliver(&mut self, mut bytes: Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        bytes.shrink_to_fit();
        if self.outlet.deliver(&(self.wrap)(Bytes::from(bytes))).await == Delivered::Unread {
            sleep(UNREAD_PAUSE).await;
        }
        self.delivered_at = Some(Instant::now());
    }
}

/// Reads and throws away until the other end is closed, so that a child which outlived its command can go on printing:
/// closing our end would end it with SIGPIPE.
pub(super) async fn discard(fd: AsyncFd<OwnedFd>) {
    while let Ok(mut ready) = fd.readable().await {
        let mut buffer = [0u8; READ];
        let mut read = 0;
        loop {
            match ready.try_io(|fd| read_once(fd.get_ref(), &mut buffer)) {
                Ok(Ok(0) | Err(_)) => return,
                Ok(Ok(n)) => read += n,
                Err(_would_block) => break,
            }
            if read >= PIPE_PIECE {
                break;
            }
        }
        drop(ready);
        sleep(UNREAD_PAUSE).await;
    }
}

/// `None` when nothing is there for now.
fn try_read(fd: &AsyncFd<OwnedFd>, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    let is_empty = |error: &io::Error| error.kind() == io::ErrorKind::WouldBlock;
    // First past the event loop: it may not have heard yet of what is there. Then through it, so that it waits anew.
    match read_once(fd.get_ref(), buffer) {
        Err(error) if is_empty(&error) => {}
        other => return other.map(Some),
    }
    match fd.try_io(Interest::READABLE, |fd| read_once(fd, buffer)) {
        Err(error) if is_empty(&error) => Ok(None),
        other => other.map(Some),
    }
}

fn read_once(fd: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
    match rustix::io::retry_on_intr(|| rustix::io::read(fd, &mut *buffer)) {
        // How a terminal says that its other side is closed.
        Err(rustix::io::Errno::IO) => Ok(0),
        other => other.map_err(Into::into),
    }
}
