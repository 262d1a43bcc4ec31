//! One process's output, given to everybody who reads it.
//!
//! Memory stays flat whatever a program prints, by three rules:
//!
//! 1. **The oldest reader sets the pace.** While its queue is full nothing more is read from the process, which then
//!    blocks in its own `write`: nothing is lost and nothing piles up. When it leaves, the next one takes its place.
//! 2. **Every other reader must keep up.** When its queue is full, it loses its place: its stream ends with
//!    `resource_exhausted` and the number of bytes it missed. The oldest is treated the same way once it has taken
//!    nothing for [`READER_PATIENCE`] while others wait (a client that died without closing its connection must not silence
//!    those who came after it), and as soon as the process is past its deadline.
//! 3. **Without a reader, output is dropped and counted**, so that nobody has to listen for a process to go on.
//!
//! There is no replay: a reader gets what is printed after it came.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::wire::{End, Output};
use crate::connect::{Code, ConnectError};
use crate::limits::{MAX_READERS, READER_PATIENCE, READER_QUEUE};

/// Where a process's output goes.
#[derive(Default)]
pub(super) struct Outlet {
    state: Mutex<State>,
    /// The process is past its deadline: nobody may hold it up any more.
    expired: CancellationToken,
}

#[derive(Default)]
struct State {
    readers: Vec<Sink>,
    end: Option<End>,
    /// Bytes that nobody was there to read.
    unread: u64,
}

/// The sending side of one reader.
struct Sink {
    /// `None` once the reader has lost its place.
    queue: Option<mpsc::Sender<Output>>,
    lost: Arc<AtomicU64>,
}

/// One who reads a process's output.
pub(super) struct Reader {
    queue: mpsc::Receiver<Output>,
    lost: Arc<AtomicU64>,
    outlet: Arc<Outlet>,
}

/// Whether a piece reached anybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivered {
    Read,
    Unread,
}

// === impl Outlet ===

impl Outlet {
    /// Reads from now on. After the end, the reader sees only that.
    pub(super) fn subscribe(self: &Arc<Self>) -> Result<Reader, ConnectError> {
        let (tx, rx) = mpsc::channel(READER_QUEUE);
        let lost = Arc::new(AtomicU64::new(0));
        let mut state = self.lock();
        state.forget_the_gone();
        if state.readers.len() >= MAX_READERS {
            let message = format!("{MAX_READERS} readers are connected to this process, which is the most");
            return Err(ConnectError::new(Code::ResourceExhausted, message));
        }
        if state.end.is_none() {
            state.readers.push(Sink { queue: Some(tx), lost: lost.clone() });
        }
        Ok(Reader { queue: rx, lost, outlet: self.clone() })
    }

    /// Hands out one piece; waits as long as rule 1 says.
    pub(super) async fn deliver(&self, piece: &Output) -> Delivered {
        let Some(oldest) = self.offer(piece) else { return Delivered::Unread };
        loop {
            tokio::select! {
                biased;
                place = oldest.reserve() => {
                    // An error says that the oldest has left while we waited: the others have the piece already.
                    if let Ok(place) = place {
                        place.send(piece.clone());
                    }
                    return Delivered::Read;
                }
                () = self.expired.cancelled() => break,
                () = tokio::time::sleep(READER_PATIENCE) => if self.lock().has_others() { break },
            }
        }
        self.lock().cut(&oldest, piece.len());
        Delivered::Read
    }

    /// From now on nobody holds the process up.
    pub(super) fn expire(&self) {
        self.expired.cancel();
    }

    /// Whether the process's end was its deadline.
    pub(super) fn is_expired(&self) -> bool {
        self.expired.is_cancelled()
    }

    /// Tells the end to every reader, after what it has not yet read; returns the bytes nobody read.
    pub(super) fn end(&self, end: End) -> u64 {
        let mut state = self.lock();
        state.end = Some(end);
        state.readers.clear();
        state.unread
    }

    /// Gives a piece to all but the oldest reader, and returns the oldest one's queue.
    fn offer(&self, piece: &Output) -> Option<mpsc::Sender<Output>> {
        let mut state = self.lock();
        state.forget_the_gone();
        let mut oldest = None;
        for sink in &mut state.readers {
            match &sink.queue {
                Some(queue) if oldest.is_none() => oldest = Some(queue.clone()),
                Some(queue) => {
                    if queue.try_send(piece.clone()).is_err() {
                        sink.cut(piece.len());
                    }
                }
                None => sink.cut(piece.len()),
            }
        }
        if oldest.is_none() {
            state.unread += piece.len() as u64;
        }
        oldest
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl State ===

impl State {
    fn forget_the_gone(&mut self) {
        self.readers.retain(|sink| match &sink.queue {
            Some(queue) => !queue.is_closed(),
            // Ours is the last handle: the reader has left, and nobody wants the count.
            None => Arc::strong_count(&sink.lost) > 1,
        });
    }

    fn has_others(&mut self) -> bool {
        self.forget_the_gone();
        self.readers.iter().filter(|sink| sink.queue.is_some()).nth(1).is_some()
    }

    fn cut(&mut self, queue: &mpsc::Sender<Output>, lost: usize) {
        for sink in &mut self.readers {
            if sink.queue.as_ref().is_some_and(|own| own.same_channel(queue)) {
                sink.cut(lost);
            }
        }
    }
}

// === impl Sink ===

impl Sink {
    /// Takes the reader's place away and counts what it misses from here on.
    fn cut(&mut self, lost: usize) {
        self.queue = None;
        self.lost.fetch_add(lost as u64, Ordering::Relaxed);
    }
}

// === impl Reader ===

impl Reader {
    /// The next piece; `None` when there will be no more. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Option<Output> {
        self.queue.recv().await
    }

    /// Why there is no more: the end of the process, or that this reader was too slow.
    pub(super) fn end(&self) -> Result<End, ConnectError> {
        let lost = self.lost.load(Ordering::Relaxed);
        if lost > 0 {
            let message = format!(
                "this client read too slowly: {lost} bytes of output, and more after them, were not delivered; \
                 the process goes on, connect again to see what it prints next"
            );
            return Err(ConnectError::new(Code::ResourceExhausted, message));
        }
        self.outlet.lock().end.clone().ok_or_else(|| {
            ConnectError::new(Code::Internal, "the process's output ended before the process did")
        })
    }

    pub(super) fn is_expired(&self) -> bool {
        self.outlet.is_expired()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn piece(n: usize) -> Output {
        Output::Stdout(Bytes::from(vec![b'x'; n]))
    }

    fn done() -> End {
        End { exit_code: 0, exited: true, status: "exit status 0".to_owned(), error: None }
    }

    async fn drain(reader: &mut Reader) -> usize {
        let mut bytes = 0;
        while let Some(output) = reader.next().await {
            bytes += output.len();
        }
        bytes
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_reader_sets_the_pace_and_the_others_must_keep_up() {
        let outlet = Arc::new(Outlet::default());
        let mut oldest = outlet.subscribe().expect("room");
        let mut slow = outlet.subscribe().expect("room");
        let writer = async {
            for _ in 0..100 {
                assert_eq!(outlet.deliver(&piece(10)).await, Delivered::Read);
            }
            outlet.end(done());
        };
        let (read, ()) = tokio::join!(drain(&mut oldest), writer);
        assert_eq!((read, oldest.end()), (1000, Ok(done())));
        assert_eq!(drain(&mut slow).await, READER_QUEUE * 10);
        let error = slow.end().expect_err("it lagged");
        assert_eq!(error.code, Code::ResourceExhausted);
        assert!(error.message.contains(&format!("{} bytes", 1000 - READER_QUEUE * 10)), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_dead_oldest_reader_does_not_silence_the_next() {
        let outlet = Arc::new(Outlet::default());
        let dead = outlet.subscribe().expect("room");
        let mut next = outlet.subscribe().expect("room");
        let writer = async {
            for _ in 0..=READER_QUEUE {
                outlet.deliver(&piece(1)).await;
                tokio::task::yield_now().await;
            }
            outlet.end(done());
        };
        let (read, ()) = tokio::join!(drain(&mut next), writer);
        assert_eq!((read, next.end()), (READER_QUEUE + 1, Ok(done())));
        assert_eq!(dead.end().expect_err("lost its place").code, Code::ResourceExhausted);
    }

    #[tokio::test(start_paused = true)]
    async fn a_lone_reader_is_waited_for_until_the_deadline_or_until_it_leaves() {
        let outlet = Arc::new(Outlet::default());
        let lone = outlet.subscribe().expect("room");
        for _ in 0..READER_QUEUE {
            outlet.deliver(&piece(1)).await;
        }
        let hour = std::time::Duration::from_secs(3600);
        let one = piece(1);
        assert!(tokio::time::timeout(hour, outlet.deliver(&one)).await.is_err());
        outlet.expire();
        assert_eq!(outlet.deliver(&one).await, Delivered::Read);
        drop(lone);
        assert_eq!(outlet.deliver(&piece(5)).await, Delivered::Unread);
        assert_eq!(outlet.end(done()), 5);
    }

    #[tokio::test]
    async fn who_comes_after_the_end_sees_the_end() {
        let outlet = Arc::new(Outlet::default());
        outlet.end(done());
        let mut late = outlet.subscribe().expect("room");
        assert!(late.next().await.is_none());
        assert_eq!(late.end(), Ok(done()));
    }

    #[test]
    fn readers_are_counted() {
        let outlet = Arc::new(Outlet::default());
        let readers: Vec<_> = (0..MAX_READERS).map(|_| outlet.subscribe().expect("room")).collect();
        assert_eq!(outlet.subscribe().err().map(|e| e.code), Some(Code::ResourceExhausted));
        drop(readers);
        assert!(outlet.subscribe().is_ok());
    }
}
