//! PID 1's duty: every orphan of the sandbox ends here, and whoever started a process learns how it ended.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, WaitOptions, WaitStatus};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It returned a status.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
}

/// Hands the status of each ended child to whoever waits for it, and forgets the others.
#[derive(Clone, Default)]
pub(crate) struct Reaper {
    waiting: Arc<Mutex<HashMap<Pid, oneshot::Sender<Exit>>>>,
}

impl Reaper {
    /// Learns of the end of `pid`. Must be called before the caller yields after the spawn: the guest's runtime has
    /// one worker, so the reaper cannot run in between.
    pub(crate) fn expect(&self, pid: Pid) -> oneshot::Receiver<Exit> {
        let (tx, rx) = oneshot::channel();
        self.lock().insert(pid, tx);
        rx
    }

    /// The stream of SIGCHLD; made before the first child, so that none is missed.
    pub(crate) fn subscribe() -> std::io::Result<Signal> {
        signal(SignalKind::child())
    }

    /// Reaps for ever.
    pub(crate) async fn run(self, mut children: Signal) {
        loop {
            self.reap();
            if children.recv().await.is_none() {
                return;
            }
        }
    }

    fn reap(&self) {
        if rustix::process::getpid() != Pid::INIT {
            return self.reap_expected();
        }
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            self.ended(pid, status);
        }
    }

    /// Outside a sandbox (tests) the process has other children, which other reapers wait for.
    fn reap_expected(&self) {
        let expected: Vec<Pid> = self.lock().keys().copied().collect();
        for pid in expected {
            if let Ok(Some((pid, status))) = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG) {
                self.ended(pid, status);
            }
        }
    }

    fn ended(&self, pid: Pid, status: WaitStatus) {
        if let (Some(waiter), Some(exit)) = (self.lock().remove(&pid), exit(status)) {
            // Nobody listening any more is as good as nobody ever having listened.
            waiter.send(exit).ok();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Pid, oneshot::Sender<Exit>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn exit(status: WaitStatus) -> Option<Exit> {
    status.exit_status().map(Exit::Code).or_else(|| status.terminating_signal().map(Exit::Signal))
}
