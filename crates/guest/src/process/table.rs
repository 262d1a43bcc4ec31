//! Which processes there are, which have just ended, and which trees have outlived theirs.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::Pid;
use tokio::io::unix::AsyncFd;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::input::Input;
use super::outlet::Outlet;
use super::pump;
use super::wire::{End, ProcessConfig, ProcessInfo, Selector};
use crate::connect::{Code, ConnectError};
use crate::limits::{ENDS_KEPT, MAX_CONFIGS, MAX_ENDED, MAX_HELD, MAX_PROCESSES};
use crate::sys::tree::Tree;

/// Trees looked at in one sweep.
const SWEEP: usize = 16;

/// The processes that clients started.
pub(crate) struct Processes {
    table: Mutex<Table>,
    held: Arc<Semaphore>,
}

impl Default for Processes {
    fn default() -> Self {
        Self { table: Mutex::default(), held: Arc::new(Semaphore::new(MAX_HELD)) }
    }
}

#[derive(Default)]
struct Table {
    next: u64,
    /// By a number that is never used again, since the kernel gives pids a second time.
    live: BTreeMap<u64, Arc<Process>>,
    config_bytes: usize,
    ended: VecDeque<Ended>,
    /// Trees whose first process has ended and others have not. Each holds a living process, so that the sandbox's
    /// limit on those bounds the list.
    lingering: VecDeque<(Pid, Arc<Tree>)>,
}

struct Ended {
    pid: u32,
    tag: Option<String>,
    end: End,
    at: Instant,
}

/// A live process.
pub(super) struct Process {
    pub(super) pid: Pid,
    pub(super) tag: Option<String>,
    pub(super) config: ProcessConfig,
    pub(super) tree: Arc<Tree>,
    pub(super) outlet: Arc<Outlet>,
    pub(super) input: Input,
    pub(super) terminal: Option<Arc<AsyncFd<OwnedFd>>>,
    /// It has ended, though its last output may not be delivered yet.
    pub(super) gone: CancellationToken,
}

/// What `Connect` can find.
pub(super) enum Found {
    Live(Arc<Process>),
    Ended(u32, End),
}

impl Process {
    pub(super) fn number(&self) -> u32 {
        self.pid.as_raw_nonzero().get() as u32
    }
}

impl Processes {
    /// Whether one more may be started.
    pub(super) fn check_room(&self, config: &ProcessConfig) -> Result<(), ConnectError> {
        let table = self.lock();
        let exhausted = |message| Err(ConnectError::new(Code::ResourceExhausted, message));
        if table.live.len() >= MAX_PROCESSES {
            return exhausted(format!(
                "{MAX_PROCESSES} processes started by clients are running, which is the most; end some first"
            ));
        }
        if table.config_bytes + config.bytes() > MAX_CONFIGS {
            return exhausted(format!(
                "arguments and environments of the running processes would exceed {MAX_CONFIGS} bytes \
                 together, which is the most; end some first"
            ));
        }
        Ok(())
    }

    /// Remembers it, under the number returned.
    pub(super) fn insert(&self, process: Arc<Process>) -> u64 {
        let mut table = self.lock();
        let number = table.next;
        table.next += 1;
        table.config_bytes += process.config.bytes();
        table.live.insert(number, process);
        number
    }

    /// It has ended and its output is delivered.
    pub(super) fn finish(&self, number: u64, end: End) {
        let mut table = self.lock();
        let Some(process) = table.live.remove(&number) else { return };
        table.config_bytes -= process.config.bytes();
        table.forget_old();
        if table.ended.len() >= MAX_ENDED {
            table.ended.pop_front();
        }
        let (pid, tag) = (process.number(), process.tag.clone());
        table.ended.push_back(Ended { pid, tag, end, at: Instant::now() });
        table.sweep();
        if !process.tree.try_remove(process.pid) {
            table.lingering.push_back((process.pid, process.tree.clone()));
        }
    }

    /// The live process that is meant.
    pub(super) fn live(&self, selector: Option<&Selector>) -> Result<Arc<Process>, ConnectError> {
        let selector = given(selector)?;
        self.lock().find(selector).ok_or_else(|| not_found(selector))
    }

    /// The process that is meant, if only its end is left.
    pub(super) fn find(&self, selector: Option<&Selector>) -> Result<Found, ConnectError> {
        let selector = given(selector)?;
        let mut table = self.lock();
        table.forget_old();
        if let Some(process) = table.find(selector) {
            return Ok(Found::Live(process));
        }
        // It has ended, but a slow reader keeps its last output from being over.
        if let Some(process) = table.live.values().rev().find(|process| matches(selector, process)) {
            return Ok(Found::Live(process.clone()));
        }
        let ended = table.ended.iter().rev().find(|ended| match (selector.pid, &selector.tag) {
            (Some(pid), _) => ended.pid == pid,
            (None, tag) => ended.tag == *tag,
        });
        ended.map(|ended| Found::Ended(ended.pid, ended.end.clone())).ok_or_else(|| not_found(selector))
    }

    /// The tree that a process left behind when it ended, if something in it lives.
    pub(super) fn lingering(&self, selector: &Selector) -> Option<Arc<Tree>> {
        let pid = Pid::from_raw(selector.pid?.cast_signed())?;
        let table = self.lock();
        let (_, tree) = table.lingering.iter().rev().find(|(leader, _)| *leader == pid)?;
        tree.is_populated(pid).then(|| tree.clone())
    }

    /// Live processes, oldest first.
    pub(super) fn list(&self) -> Vec<ProcessInfo> {
        let mut table = self.lock();
        table.sweep();
        let info = |process: &Arc<Process>| ProcessInfo {
            config: process.config.clone(),
            pid: process.number(),
            tag: process.tag.clone(),
        };
        table.live.values().filter(|process| !process.gone.is_cancelled()).map(info).collect()
    }

    /// Reads on, into nothing, what children of an ended process hold. Beyond the limit the descriptor is closed, and
    /// such a child ends at its next write.
    pub(super) fn discard(&self, fd: AsyncFd<OwnedFd>) {
        if let Ok(place) = self.held.clone().try_acquire_owned() {
            tokio::task::spawn(async move {
                Box::pin(pump::discard(fd)).await;
                drop(place);
            });
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn find(&self, selector: &Selector) -> Option<Arc<Process>> {
        let fits = |process: &&Arc<Process>| !process.gone.is_cancelled() && matches(selector, process);
        self.live.values().rev().find(fits).cloned()
    }

    fn forget_old(&mut self) {
        while self.ended.front().is_some_and(|ended| ended.at.elapsed() >= ENDS_KEPT) {
            self.ended.pop_front();
        }
    }

    /// Removes trees that have become empty: a few, so that no call pays for all.
    fn sweep(&mut self) {
        for _ in 0..self.lingering.len().min(SWEEP) {
            if let Some((pid, tree)) = self.lingering.pop_front()
                && !tree.try_remove(pid)
            {
                self.lingering.push_back((pid, tree));
            }
        }
    }
}

fn matches(selector: &Selector, process: &Process) -> bool {
    match (selector.pid, &selector.tag) {
        (Some(pid), _) => process.number() == pid,
        (None, tag) => process.tag == *tag,
    }
}

fn given(selector: Option<&Selector>) -> Result<&Selector, ConnectError> {
    selector.filter(|s| s.pid.is_some() || s.tag.is_some()).ok_or_else(|| {
        ConnectError::new(Code::InvalidArgument, "no process is named: give its `pid` or its `tag`")
    })
}

fn not_found(selector: &Selector) -> ConnectError {
    let message = match (selector.pid, &selector.tag) {
        (Some(pid), _) => format!("process with pid {pid} not found"),
        (None, tag) => format!("process with tag {} not found", tag.as_deref().unwrap_or_default()),
    };
    ConnectError::new(Code::NotFound, message)
}
