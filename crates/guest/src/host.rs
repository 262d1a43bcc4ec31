//! What the guest asks its host for, over the control socket: kernels forked from the template's nursery.

use std::collections::HashMap;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hood_wire::{ForkRequest, GuestEvent, HostMessage};
use tokio::sync::oneshot;

use crate::journal::Journal;
use crate::limits::FORK_ANSWER;
use crate::reaper::Exit;

/// Requests in flight and the forks that live on.
#[derive(Default)]
pub(crate) struct Host {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last: u64,
    /// The ceiling of memory, where it is another than at the start.
    memory_bytes: Option<u64>,
    waiting: HashMap<u64, oneshot::Sender<Result<(), String>>>,
    living: HashMap<u64, oneshot::Sender<Exit>>,
}

impl Host {
    /// Asks for a fork. `fill` gets the request's number; the descriptors are the kernel's socket, stdout and stderr.
    /// On success the receiver learns how the fork ends.
    pub(crate) async fn fork(
        &self,
        journal: &Journal,
        fill: impl FnOnce(u64) -> ForkRequest,
        ends: [BorrowedFd<'_>; 3],
    ) -> Result<oneshot::Receiver<Exit>, String> {
        let (answer, answered) = oneshot::channel();
        let (ended, ends_with) = oneshot::channel();
        let request = {
            let mut state = self.lock();
            state.last += 1;
            let request = state.last;
            state.waiting.insert(request, answer);
            state.living.insert(request, ended);
            request
        };
        let sent = journal.send_with(&GuestEvent::Fork(fill(request)), &ends);
        let result = match sent {
            Ok(()) => match tokio::time::timeout(FORK_ANSWER, answered).await {
                Ok(Ok(result)) => result,
                Ok(Err(_)) => Err("the host has forgotten the request".to_owned()),
                Err(_) => Err(format!("the host has not answered within {FORK_ANSWER:?}")),
            },
            Err(error) => Err(error.to_string()),
        };
        if result.is_err() {
            let mut state = self.lock();
            state.waiting.remove(&request);
            state.living.remove(&request);
        }
        result.map(|()| ends_with)
    }

    /// The sandbox's ceiling of memory, if it was changed since the start.
    pub(crate) fn memory_bytes(&self) -> Option<u64> {
        self.lock().memory_bytes
    }

    /// One line from the host; what is no message is skipped, since a newer host may say more.
    pub(crate) fn hear(&self, line: &[u8]) -> Result<(), io::Error> {
        let message: HostMessage = serde_json::from_slice(line).map_err(io::Error::other)?;
        let mut state = self.lock();
        match message {
            HostMessage::Forked { request } => {
                if let Some(answer) = state.waiting.remove(&request) {
                    drop(answer.send(Ok(())));
                }
            }
            HostMessage::Limits { memory_bytes } => state.memory_bytes = Some(memory_bytes),
            HostMessage::Refused { request, reason } => {
                state.living.remove(&request);
                if let Some(answer) = state.waiting.remove(&request) {
                    drop(answer.send(Err(reason)));
                }
            }
            HostMessage::Exited { request, status } => {
                if let Some(ended) = state.living.remove(&request) {
                    let exit =
                        if status < 0 { Exit::Signal(status.saturating_neg()) } else { Exit::Code(status) };
                    // A kernel that nobody keeps any more has nobody to tell.
                    ended.send(exit).ok();
                }
            }
        }
        Ok(())
    }

    /// As if that request had been sent: whoever holds the receivers waits.
    #[cfg(fuzzing)]
    pub(crate) fn expect(
        &self,
        request: u64,
    ) -> (oneshot::Receiver<Result<(), String>>, oneshot::Receiver<Exit>) {
        let (answer, answered) = oneshot::channel();
        let (ended, ends_with) = oneshot::channel();
        let mut state = self.lock();
        state.waiting.insert(request, answer);
        state.living.insert(request, ended);
        (answered, ends_with)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fork_learns_how_it_ends() {
        let host = Host::default();
        let (ended, mut ends_with) = oneshot::channel();
        host.lock().living.insert(7, ended);
        host.hear(br#"{"message":"exited","request":7,"status":-9}"#).expect("a message");
        assert_eq!(ends_with.try_recv(), Ok(Exit::Signal(9)));
        assert!(host.hear(b"{\"message\":\"newer\"}").is_err());
    }

    #[test]
    fn the_least_number_is_no_signal_and_no_panic() {
        let host = Host::default();
        let (ended, mut ends_with) = oneshot::channel();
        host.lock().living.insert(1, ended);
        host.hear(br#"{"message":"exited","request":1,"status":-2147483648}"#).expect("a message");
        assert_eq!(ends_with.try_recv(), Ok(Exit::Signal(i32::MAX)));
    }
}
