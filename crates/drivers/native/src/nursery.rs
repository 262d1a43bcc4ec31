//! A template's nursery as the server sees it: started when the template is first used, asked for forks, replaced when
//! it is old, and done without while there is none.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hood_driver_api::{DriverError, Nursery as Recipe, RootFs};
use hood_wire::{ForkRequest, HostMessage};
use rustix::fs::MemfdFlags;
use serde::{Deserialize, Serialize};

use crate::control::Writer;
use crate::driver::Host;
use crate::helper::step;
use crate::root::{self, Made};
use crate::sys::socket;
use crate::templates::Live;
use crate::warden::messages::Nurse;

/// Forks of one nursery share addresses, canaries and hash seeds: a leak in one serves all. So it is replaced.
pub(crate) const MAX_FORKS: u64 = 500;
pub(crate) const MAX_AGE: Duration = Duration::from_secs(3600);

/// Pause after one died or could not be started.
pub(crate) const PAUSE: Duration = Duration::from_secs(10);

/// Environment of the warm parent. One thread each: a fork would lose the others.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
    ("HOME", "/home/user"),
    ("LANG", "C.UTF-8"),
    ("OPENBLAS_NUM_THREADS", "1"),
    ("OMP_NUM_THREADS", "1"),
    ("MKL_NUM_THREADS", "1"),
    ("NUMEXPR_NUM_THREADS", "1"),
    // The threads that a fork starts anew look for work for 2^20 cycles before they sleep, and not for 2^26: on a host
    // full of sandboxes those are other people's.
    ("OPENBLAS_THREAD_TIMEOUT", "20"),
    // What an import caches would be written as root of the template; it must not even try.
    ("PYTHONDONTWRITEBYTECODE", "1"),
];

/// Descriptors of the parent, as its command line names them.
const ARGUMENTS: [&str; 7] =
    ["--nursery", "--fd", "3", "--joiner", "/proc/self/fd/4", "--settings", "/proc/self/fd/5"];

/// The place of a template's nursery.
#[derive(Default)]
pub(crate) struct Cradle {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    current: Option<Arc<Nursery>>,
    /// Being started: its successor takes over when it is warm.
    coming: Option<Arc<Nursery>>,
    not_before: Option<Instant>,
}

/// One warm parent. A retired one ends with its last fork, since only it learns how a fork ends.
struct Nursery {
    socket: OwnedFd,
    since: Instant,
    forks: AtomicU64,
    warm: AtomicBool,
    dead: AtomicBool,
    retired: AtomicBool,
    tickets: Mutex<HashMap<u64, Ticket>>,
}

/// A fork that somebody waits for.
struct Ticket {
    request: u64,
    writer: Writer,
}

#[derive(Serialize)]
struct Ask<'a> {
    id: u64,
    uid: u32,
    gid: u32,
    groups: &'a [u32],
    env: &'a std::collections::BTreeMap<String, String>,
    cwd: &'a str,
    tasks: usize,
}

#[derive(Serialize)]
struct Settings<'a> {
    imports: &'a [String],
    warm_up: &'a [String],
    filter: String,
    keep_capabilities: u64,
}

/// What the parent says; parsed as any text from inside, though no user's code runs there.
#[derive(Deserialize)]
struct Said {
    #[serde(default)]
    ready: bool,
    id: Option<u64>,
    pid: Option<i64>,
    error: Option<String>,
    ended: Option<i32>,
}

/// The descriptors of one fork: the sandbox's PID 1, its groups, and the kernel's own ends.
pub(crate) struct Place<'a> {
    pub(crate) pidfd: BorrowedFd<'a>,
    pub(crate) group: &'a OwnedFd,
    pub(crate) tasks: &'a [OwnedFd],
    /// Socket, stdout, stderr.
    pub(crate) ends: &'a [OwnedFd; 3],
}

impl Cradle {
    /// Sees to it that there is a nursery, or soon will be.
    pub(crate) fn tend(self: &Arc<Self>, host: &Arc<Host>, live: &Arc<Live>, root: &RootFs) {
        let Some(recipe) = &root.nursery else { return };
        let mut state = lock(&self.state);
        let needed = state.current.as_ref().is_none_or(|nursery| nursery.is_spent());
        let paused = state.not_before.is_some_and(|when| Instant::now() < when);
        if !needed || paused || state.coming.is_some() {
            return;
        }
        match start(host, live, root, recipe) {
            Ok((nursery, said)) => {
                state.coming = Some(nursery.clone());
                let cradle = self.clone();
                let listen = move || cradle.listen(&nursery, &said);
                let thread = std::thread::Builder::new().name("nursery".to_owned()).spawn(listen);
                if let Err(error) = thread {
                    tracing::warn!(%error, "cannot listen to a nursery");
                    state.coming = None;
                }
            }
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "cannot start a nursery; contexts start cold"
                );
                state.not_before = Some(Instant::now() + PAUSE);
            }
        }
    }

    /// Asks for a fork. The answer goes to the guest; on an error it is for the caller to refuse.
    pub(crate) fn fork(
        &self,
        request: &ForkRequest,
        place: &Place<'_>,
        writer: &Writer,
    ) -> Result<(), String> {
        let current = lock(&self.state).current.clone();
        let nursery = current.filter(|n| !n.dead.load(Ordering::Acquire)).ok_or("no nursery is warm yet")?;
        let null = rustix::fs::open("/dev/null", rustix::fs::OFlags::RDWR, rustix::fs::Mode::empty())
            .map_err(|error| error.to_string())?;
        let id = nursery.forks.fetch_add(1, Ordering::Relaxed);
        let ticket = Ticket { request: request.request, writer: writer.clone() };
        lock(&nursery.tickets).insert(id, ticket);
        let ask = Ask {
            id,
            uid: request.uid,
            gid: request.gid,
            groups: &request.groups,
            env: &request.env,
            cwd: &request.cwd,
            tasks: place.tasks.len(),
        };
        let [kernel, stdout, stderr] = place.ends;
        let mut fds = vec![place.pidfd, place.group.as_fd()];
        fds.extend(place.tasks.iter().map(AsFd::as_fd));
        fds.extend([null.as_fd(), stdout.as_fd(), stderr.as_fd(), kernel.as_fd()]);
        socket::send(&nursery.socket, &ask, &fds).map_err(|error| {
            lock(&nursery.tickets).remove(&id);
            error.to_string()
        })
    }

    /// Lets go of the nursery; it ends with its last fork.
    pub(crate) fn clear(&self) {
        let state = std::mem::take(&mut *lock(&self.state));
        for nursery in [state.current, state.coming].into_iter().flatten() {
            nursery.retire();
        }
    }

    fn listen(&self, nursery: &Arc<Nursery>, said: &OwnedFd) {
        while let Ok(Some((said, _))) = socket::receive::<Said>(said) {
            if said.ready {
                nursery.warm.store(true, Ordering::Release);
                tracing::info!(took = ?nursery.since.elapsed(), "a nursery is warm");
                let mut state = lock(&self.state);
                let warm = state.coming.take();
                if let Some(old) = std::mem::replace(&mut state.current, warm) {
                    old.retire();
                }
            }
            nursery.hear(&said);
        }
        nursery.dead.store(true, Ordering::Release);
        nursery.abandon();
        let mut state = lock(&self.state);
        let ours = |held: &Option<Arc<Nursery>>| held.as_ref().is_some_and(|n| Arc::ptr_eq(n, nursery));
        if ours(&state.coming) || ours(&state.current) {
            tracing::warn!(age = ?nursery.since.elapsed(), "a nursery has died; contexts start cold for a while");
            state.not_before = Some(Instant::now() + PAUSE);
        }
        if ours(&state.coming) {
            state.coming = None;
        }
        if ours(&state.current) {
            state.current = None;
        }
    }
}

impl Nursery {
    fn is_spent(&self) -> bool {
        self.dead.load(Ordering::Acquire)
            || self.forks.load(Ordering::Relaxed) >= MAX_FORKS
            || self.since.elapsed() >= MAX_AGE
    }

    fn retire(&self) {
        self.retired.store(true, Ordering::Release);
        self.close_if_idle();
    }

    /// A closed socket is how the parent is told to end.
    fn close_if_idle(&self) {
        if self.retired.load(Ordering::Acquire)
            && lock(&self.tickets).is_empty()
            && let Err(error) = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Write)
        {
            tracing::debug!(%error, "a nursery was gone already");
        }
    }

    fn hear(&self, said: &Said) {
        self.settle(said);
        self.close_if_idle();
    }

    fn settle(&self, said: &Said) {
        let Some(id) = said.id else { return };
        let mut tickets = lock(&self.tickets);
        if said.pid.is_some() {
            if let Some(ticket) = tickets.get(&id) {
                ticket.writer.send(&HostMessage::Forked { request: ticket.request });
            }
        } else if let Some(reason) = &said.error {
            if let Some(ticket) = tickets.remove(&id) {
                let reason = reason.clone();
                ticket.writer.send(&HostMessage::Refused { request: ticket.request, reason });
            }
        } else if let Some(status) = said.ended
            && let Some(ticket) = tickets.remove(&id)
        {
            let status = decode(status);
            ticket.writer.send(&HostMessage::Exited { request: ticket.request, status });
        }
    }

    /// The parent is gone: its forks live on, but nobody will learn how they end.
    fn abandon(&self) {
        for (_, ticket) in lock(&self.tickets).drain() {
            let reason = "the nursery has died".to_owned();
            ticket.writer.send(&HostMessage::Refused { request: ticket.request, reason });
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// From a wait status to an exit status, or a negative signal number.
fn decode(status: i32) -> i32 {
    let signal = status & 0x7f;
    if signal == 0 { status >> 8 & 0xff } else { -signal }
}

fn start(
    host: &Host,
    live: &Live,
    root: &RootFs,
    recipe: &Recipe,
) -> Result<(Arc<Nursery>, OwnedFd), DriverError> {
    let owners = host.templates.own_owners(live, &host.warden)?;
    let files = root::read_only(root, &owners).map_err(|e| step("nursery's root", e))?;
    let Made { dev, .. } = host.statics.make(&owners).map_err(|e| step("nursery's dev", e))?;
    let group = live.group.nursery().map_err(|e| step("nursery's cgroup", e))?;
    let settings = Settings {
        imports: &recipe.imports,
        warm_up: &recipe.warm_up,
        filter: hex(&host.payload_filters.bytes(root.nested_user_namespaces)),
        keep_capabilities: hood_wire::PAYLOAD_CAPABILITIES,
    };
    let settings = settings_file(&settings).map_err(|e| step("nursery's settings", e))?;
    let (ours, theirs) = socket::pair().map_err(|e| step("nursery's socket", e))?;
    let nurse = Nurse {
        argv: recipe.argv.iter().cloned().chain(ARGUMENTS.map(str::to_owned)).collect(),
        env: ENVIRONMENT.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
    };
    let fds = [&files, &dev, &group, &theirs, &host.joiner, &settings].map(AsFd::as_fd);
    live.builder.nurse(nurse, &fds)?;
    let said = ours.try_clone().map_err(|e| step("nursery's socket", e))?;
    let nursery = Nursery {
        socket: ours,
        since: Instant::now(),
        forks: AtomicU64::new(0),
        warm: AtomicBool::new(false),
        dead: AtomicBool::new(false),
        retired: AtomicBool::new(false),
        tickets: Mutex::default(),
    };
    Ok((Arc::new(nursery), said))
}

fn settings_file(settings: &Settings<'_>) -> io::Result<OwnedFd> {
    let file = rustix::fs::memfd_create("settings", MemfdFlags::CLOEXEC)?;
    let bytes = serde_json::to_vec(settings).map_err(io::Error::other)?;
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        let n = rustix::io::write(&file, rest)?;
        rest = rest.get(n..).unwrap_or_default();
    }
    Ok(file)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_statuses_become_codes_and_signals() {
        assert_eq!(decode(3 << 8), 3);
        assert_eq!(decode(9), -9);
        assert_eq!(decode(0x8b), -11);
    }
}
