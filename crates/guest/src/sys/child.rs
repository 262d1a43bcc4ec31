//! What runs between `clone3` and `execve`: raw system calls only.
//!
//! The guest may have blocking-pool threads, so the child of a fork must not allocate, lock, log or drop a heap value:
//! another thread may have held the allocator's lock at that moment. Everything it needs is in [`Prepared`], made
//! beforehand; a failure is reported as eight bytes down a close-on-exec pipe.

use std::ffi::{CStr, c_char};
use std::os::fd::RawFd;
use std::ptr;

/// Pointers and numbers that stay valid until the child has exec'd: the parent owns what they point at.
pub(super) struct Prepared {
    pub(super) candidates: Vec<*const c_char>,
    pub(super) argv: Vec<*const c_char>,
    pub(super) envp: Vec<*const c_char>,
    pub(super) cwd: *const c_char,
    pub(super) stdio: [RawFd; 3],
    pub(super) extra: Option<RawFd>,
    pub(super) terminal: bool,
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) groups: Vec<u32>,
    pub(super) privileged: bool,
    pub(super) keep_capabilities: u64,
    pub(super) filter: libc::sock_fprog,
    pub(super) report: RawFd,
}

/// Where the child failed; the numbers travel over the pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Step {
    Session = 1,
    Terminal = 2,
    Descriptors = 3,
    Identity = 4,
    Capabilities = 5,
    Filter = 6,
    WorkingDirectory = 7,
    Exec = 8,
}

impl Step {
    pub(super) fn from_number(n: u32) -> Self {
        match n {
            1 => Self::Session,
            2 => Self::Terminal,
            3 => Self::Descriptors,
            4 => Self::Identity,
            5 => Self::Capabilities,
            6 => Self::Filter,
            7 => Self::WorkingDirectory,
            _ => Self::Exec,
        }
    }
}

const OOM_SCORE: &[u8] = b"500";
const LAST_CAPABILITY: u64 = 63;
/// First descriptor after stdio and, where there is one, the extra descriptor 3.
const AFTER_STDIO: RawFd = 3;

/// Becomes the program. Never returns.
pub(super) fn run(p: &Prepared) -> ! {
    let step = enter(p);
    let errno = errno();
    let mut message = [0u8; 8];
    message[..4].copy_from_slice(&(step as u32).to_ne_bytes());
    message[4..].copy_from_slice(&errno.to_ne_bytes());
    // SAFETY: writes eight bytes of a live stack array to a descriptor that is open until exec.
    unsafe { libc::write(p.report, message.as_ptr().cast(), message.len()) };
    // SAFETY: leaves without running exit handlers, which belong to the parent.
    unsafe { libc::_exit(127) }
}

/// Returns only on failure, with the step; `errno` holds the reason.
fn enter(p: &Prepared) -> Step {
    default_signals();
    // SAFETY: no pointers.
    if unsafe { libc::setsid() } < 0 {
        return Step::Session;
    }
    // SAFETY: no pointers; the slave side of the terminal is open in this process.
    if p.terminal && unsafe { libc::ioctl(p.stdio[0], libc::TIOCSCTTY, 0) } < 0 {
        return Step::Terminal;
    }
    if !move_descriptors(p) {
        return Step::Descriptors;
    }
    if p.privileged {
        score_for_oom();
        // The guest runs ahead of its payload; going back down is always allowed.
        // SAFETY: no pointers.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 0) };
        if let Some(step) = become_account(p) {
            return step;
        }
    }
    // SAFETY: no pointers.
    unsafe { libc::umask(0o022) };
    // SAFETY: `cwd` is a NUL-terminated string owned by the parent's copy of memory.
    if unsafe { libc::chdir(p.cwd) } < 0 {
        return Step::WorkingDirectory;
    }
    exec(p);
    Step::Exec
}

/// Handlers and the mask are inherited over exec (ignored stays ignored), and the Rust runtime ignores SIGPIPE.
fn default_signals() {
    for signal in 1..=64 {
        // SAFETY: SIG_DFL is a valid disposition; numbers that cannot be changed only return an error.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    let empty = 0u64;
    // SAFETY: the kernel reads eight bytes, the size it is told, from a live stack variable.
    unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const empty,
            ptr::null::<u64>(),
            8usize,
        )
    };
}

/// Puts stdio (and the extra descriptor) in place and closes everything else, now and not at exec: the working
/// directory is resolved in between, and `/proc/self/fd/N` must not name one of the guest's (as in CVE-2024-21626).
fn move_descriptors(p: &Prepared) -> bool {
    for (target, &source) in (0..).zip(&p.stdio) {
        // SAFETY: no pointers; all sources are above 4, so no target overwrites a source still needed.
        if unsafe { libc::dup2(source, target) } < 0 {
            return false;
        }
    }
    let mut first = AFTER_STDIO;
    if let Some(extra) = p.extra {
        // SAFETY: no pointers. Descriptor 3 is the guest's control socket, of which this is only the child's copy.
        if unsafe { libc::dup2(extra, AFTER_STDIO) } < 0 {
            return false;
        }
        first += 1;
    }
    // The report's pipe stays, and closes at exec.
    close_range(first, p.report - 1) && close_range(p.report + 1, RawFd::MAX)
}

/// Closes `first` to `last`; nothing when that is no range.
fn close_range(first: RawFd, last: RawFd) -> bool {
    // SAFETY: no pointers. Closes numbers of this process's own table, whose owners live in the parent's memory.
    first > last || unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } == 0
}

/// Programs go before the guest when memory runs out. Best effort: some hosts fix the score.
fn score_for_oom() {
    // The guest's memory, of which this process has a copy until exec, belongs to the user namespace above, and so do the
    // files below `/proc` of whoever has it; of a dumpable process they belong to its user. What keeps root inside from
    // reading that copy for this moment are the guest's capabilities, which go only later.
    // SAFETY: no pointers.
    let was = unsafe { libc::prctl(libc::PR_GET_DUMPABLE, 0, 0, 0, 0) };
    // SAFETY: no pointers.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0) };
    // SAFETY: a constant NUL-terminated path.
    let fd = unsafe { libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC) };
    if fd >= 0 {
        // SAFETY: writes a constant to the descriptor just opened; it closes at exec.
        unsafe { libc::write(fd, OOM_SCORE.as_ptr().cast(), OOM_SCORE.len()) };
    }
    if was != 1 {
        // SAFETY: no pointers.
        unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) };
    }
}

/// Groups, bounding set, filter, ids: in this order. The filter goes in while CAP_SYS_ADMIN is still held, so that it
/// needs no `no_new_privs`, which would break `sudo` (reference `walls.md` F13); exec then takes the capabilities away.
fn become_account(p: &Prepared) -> Option<Step> {
    // SAFETY: the list lives in the parent's copy of memory, with the length given.
    if unsafe { libc::syscall(libc::SYS_setgroups, p.groups.len(), p.groups.as_ptr()) } < 0 {
        return Some(Step::Identity);
    }
    // SAFETY: no pointers. The raw call changes this thread only; the child has no other.
    if unsafe { libc::syscall(libc::SYS_setresgid, p.gid, p.gid, p.gid) } < 0 {
        return Some(Step::Identity);
    }
    for capability in 0..=LAST_CAPABILITY {
        if p.keep_capabilities & (1 << capability) == 0 {
            // SAFETY: no pointers. Numbers beyond the kernel's last one return EINVAL, which is fine.
            let dropped = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
            if dropped < 0 && errno() != libc::EINVAL {
                return Some(Step::Capabilities);
            }
        }
    }
    if p.filter.len > 0 {
        const SECCOMP_SET_MODE_FILTER: libc::c_ulong = 1;
        // SAFETY: the program's array lives in the parent's copy of memory; the kernel copies it.
        if unsafe { libc::syscall(libc::SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &raw const p.filter) } < 0 {
            return Some(Step::Filter);
        }
    }
    // SAFETY: no pointers.
    if unsafe { libc::syscall(libc::SYS_setresuid, p.uid, p.uid, p.uid) } < 0 {
        return Some(Step::Identity);
    }
    if lower_capabilities(p.keep_capabilities) { None } else { Some(Step::Capabilities) }
}

/// Takes away at once what exec would take away: the working directory is resolved before it, and with the guest's own
/// capabilities root's could lie behind a link below `/proc/1/fd`.
fn lower_capabilities(keep: u64) -> bool {
    // Until exec this is a copy of the guest's memory. What kept root inside from reading it are the capabilities that go
    // now, so it must be unreadable by itself; exec makes the program readable again.
    // SAFETY: no pointers.
    if unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) } < 0 {
        return false;
    }
    // `_LINUX_CAPABILITY_VERSION_3`, and this process.
    let header = [0x2008_0522u32, 0];
    // Twice effective, permitted, inheritable: the low and the high 32 bits.
    let mut sets = [[0u32; 3]; 2];
    // SAFETY: the kernel reads eight bytes of the header and writes 24 of the sets, both live stack arrays of that size.
    if unsafe { libc::syscall(libc::SYS_capget, header.as_ptr(), sets.as_mut_ptr()) } < 0 {
        return false;
    }
    for (set, kept) in sets.iter_mut().zip([keep as u32, (keep >> 32) as u32]) {
        let permitted = set[1] & kept;
        *set = [permitted, permitted, 0];
    }
    // SAFETY: as above, and the kernel only reads.
    unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), sets.as_ptr()) == 0 }
}

/// Tries each candidate path as `execvp` would, and leaves the most telling errno.
fn exec(p: &Prepared) {
    let mut telling = libc::ENOENT;
    for &path in &p.candidates {
        if path.is_null() {
            break;
        }
        // SAFETY: path, argv and envp are NUL-terminated strings and NULL-terminated arrays owned by the parent's copy.
        unsafe { libc::execve(path, p.argv.as_ptr(), p.envp.as_ptr()) };
        let errno = errno();
        if errno != libc::ENOENT && errno != libc::ENOTDIR {
            telling = errno;
        }
    }
    set_errno(telling);
}

/// This thread's `errno`; unlike `io::Error::last_os_error` plainly nothing but a read.
fn errno() -> i32 {
    // SAFETY: no preconditions; returns the address of this thread's own variable.
    let location = unsafe { libc::__errno_location() };
    // SAFETY: the variable lives as long as the thread, and only this thread uses it.
    unsafe { *location }
}

fn set_errno(value: i32) {
    // SAFETY: no preconditions; returns the address of this thread's own variable.
    let location = unsafe { libc::__errno_location() };
    // SAFETY: the variable lives as long as the thread, and only this thread uses it.
    unsafe { *location = value };
}

/// A pointer to a C string that the caller keeps alive.
pub(super) fn pointer(s: &CStr) -> *const c_char {
    s.as_ptr()
}
