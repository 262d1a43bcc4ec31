//! System calls of x86-64, each one instruction.

use core::arch::asm;

pub(crate) const CLONE_NEWPID: u64 = 0x2000_0000;
/// User, mount, net, ipc, uts and cgroup namespaces.
pub(crate) const CLONE_NEW_REST: u64 =
    0x1000_0000 | 0x0002_0000 | 0x4000_0000 | 0x0800_0000 | 0x0400_0000 | 0x0200_0000;

const WRITE: u64 = 1;
const OPEN: u64 = 2;
const CLOSE: u64 = 3;
const MMAP: u64 = 9;
const MUNMAP: u64 = 11;
const RT_SIGPROCMASK: u64 = 14;
const DUP2: u64 = 33;
const CHDIR: u64 = 80;
const UMASK: u64 = 95;
const SETSID: u64 = 112;
const SETGROUPS: u64 = 116;
const SETRESUID: u64 = 117;
const SETRESGID: u64 = 119;
const CAPGET: u64 = 125;
const SETPRIORITY: u64 = 141;
const CAPSET: u64 = 126;
const PRCTL: u64 = 157;
const GETTID: u64 = 186;
const EXIT_GROUP: u64 = 231;
const KEYCTL: u64 = 250;
const PRLIMIT64: u64 = 302;
const SETNS: u64 = 308;
const SECCOMP: u64 = 317;
const CLONE3: u64 = 435;
const CLOSE_RANGE: u64 = 436;

/// Any call; the result is the kernel's, errors negative.
///
/// The sixth argument, which only `mmap` reads, is 0.
fn call(number: u64, arguments: [u64; 5]) -> i64 {
    let [a, b, c, d, e] = arguments;
    let result: i64;
    // SAFETY: `syscall` clobbers rcx and r11 only, as declared. What a call does to memory is bounded by the wrappers
    // below, which pass numbers, or addresses of live objects of the size the kernel expects.
    unsafe {
        asm!("syscall", inlateout("rax") number => result, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
            in("r8") e, in("r9") 0, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}

/// Readable and writable memory, at `hint` if there is room: its address, or a negative errno.
pub(crate) fn map(hint: u64, size: u64) -> i64 {
    const READ_WRITE: u64 = 3;
    const PRIVATE_ANONYMOUS: u64 = 0x22;
    call(MMAP, [hint, size, READ_WRITE, PRIVATE_ANONYMOUS, u64::MAX])
}

/// Address space that cannot be used and costs nothing.
pub(crate) fn reserve(size: u64) -> i64 {
    const NONE: u64 = 0;
    const PRIVATE_ANONYMOUS_NORESERVE: u64 = 0x4022;
    call(MMAP, [0, size, NONE, PRIVATE_ANONYMOUS_NORESERVE, u64::MAX])
}

/// # Safety
/// The pages there belong to the caller alone.
pub(crate) unsafe fn unmap(at: u64, size: u64) -> i64 {
    call(MUNMAP, [at, size, 0, 0, 0])
}

pub(crate) fn setns(fd: i32, flags: u64) -> i64 {
    call(SETNS, [fd as u64, flags, 0, 0, 0])
}

/// `struct clone_args`.
#[repr(C)]
struct CloneArgs {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    cgroup: u64,
}

/// `clone3` as `fork`, straight into a cgroup. -ENOSYS when glibc's notion of its own thread id cannot be found.
pub(crate) fn fork_into(group: i32) -> i64 {
    const SIGCHLD: u64 = 17;
    const CHILD_CLEARTID: u64 = 0x0020_0000;
    const CHILD_SETTID: u64 = 0x0100_0000;
    const INTO_CGROUP: u64 = 0x2_0000_0000;
    const ENOSYS: i64 = 38;
    let Some(thread_id) = glibc_thread_id() else { return -ENOSYS };
    let args = CloneArgs {
        // As glibc's own fork: the copy's thread id is written where its locks and `raise` look for it.
        flags: INTO_CGROUP | CHILD_SETTID | CHILD_CLEARTID,
        pidfd: 0,
        child_tid: thread_id,
        parent_tid: 0,
        exit_signal: SIGCHLD,
        stack: 0,
        stack_size: 0,
        tls: 0,
        set_tid: 0,
        set_tid_size: 0,
        cgroup: group as u64,
    };
    call(CLONE3, [&raw const args as u64, size_of::<CloneArgs>() as u64, 0, 0, 0])
}

/// Address of `struct pthread::tid`. Its offset has been the same in every glibc for x86-64 since 2.10; that it holds
/// the right number is checked, so that another libc is refused instead of damaged.
fn glibc_thread_id() -> Option<u64> {
    const OFFSET: u64 = 0x2d0;
    let base: u64;
    // SAFETY: reads the thread pointer, which the x86-64 ABI stores at its own address.
    unsafe { asm!("mov {}, fs:0", out(reg) base, options(nostack, readonly, preserves_flags)) };
    let address = base + OFFSET;
    // SAFETY: glibc's descriptor of the thread is larger than the offset; every libc's is followed by mapped memory of
    // the same allocation in practice, and a wrong value is caught below.
    let stored = unsafe { *(address as *const i32) };
    (i64::from(stored) == call(GETTID, [0; 5])).then_some(address)
}

pub(crate) fn exit(status: i32) -> ! {
    loop {
        call(EXIT_GROUP, [status as u64, 0, 0, 0, 0]);
    }
}

pub(crate) fn prctl(option: u64, a: u64, b: u64) -> i64 {
    call(PRCTL, [option, a, b, 0, 0])
}

pub(crate) fn setsid() -> i64 {
    call(SETSID, [0; 5])
}

pub(crate) fn unblock_signals() -> i64 {
    const SIG_SETMASK: u64 = 2;
    let empty = 0u64;
    call(RT_SIGPROCMASK, [SIG_SETMASK, &raw const empty as u64, 0, 8, 0])
}

pub(crate) fn write(fd: i32, bytes: &[u8]) -> i64 {
    call(WRITE, [fd as u64, bytes.as_ptr() as u64, bytes.len() as u64, 0, 0])
}

/// Writes a constant into a file; failures are the caller's to ignore.
pub(crate) fn write_file(path: &core::ffi::CStr, bytes: &[u8]) -> i64 {
    const O_WRONLY: u64 = 1;
    let fd = call(OPEN, [path.as_ptr() as u64, O_WRONLY, 0, 0, 0]);
    if fd < 0 {
        return fd;
    }
    let written = write(fd as i32, bytes);
    call(CLOSE, [fd as u64, 0, 0, 0, 0]);
    written
}

pub(crate) fn dup2(from: i32, to: i32) -> i64 {
    call(DUP2, [from as u64, to as u64, 0, 0, 0])
}

pub(crate) fn close_from(first: u32) -> i64 {
    call(CLOSE_RANGE, [u64::from(first), u64::from(u32::MAX), 0, 0, 0])
}

pub(crate) fn join_new_keyring() -> i64 {
    const JOIN_SESSION_KEYRING: u64 = 1;
    call(KEYCTL, [JOIN_SESSION_KEYRING, 0, 0, 0, 0])
}

pub(crate) fn set_groups(count: u32, groups: *const u32) -> i64 {
    call(SETGROUPS, [u64::from(count), groups as u64, 0, 0, 0])
}

pub(crate) fn set_gid(gid: u32) -> i64 {
    call(SETRESGID, [u64::from(gid), u64::from(gid), u64::from(gid), 0, 0])
}

pub(crate) fn set_uid(uid: u32) -> i64 {
    call(SETRESUID, [u64::from(uid), u64::from(uid), u64::from(uid), 0, 0])
}

/// `struct sock_fprog`.
#[repr(C)]
struct Program {
    length: u16,
    filter: *const u8,
}

pub(crate) fn install_filter(length: u32, filter: *const u8) -> i64 {
    const SET_MODE_FILTER: u64 = 1;
    let program = Program { length: length as u16, filter };
    call(SECCOMP, [SET_MODE_FILTER, 0, &raw const program as u64, 0, 0])
}

const CAPABILITY_VERSION_3: u32 = 0x2008_0522;

/// Gives up every capability, and looks whether that is so.
pub(crate) fn drop_capabilities() -> bool {
    let header = [CAPABILITY_VERSION_3, 0];
    let none = [0u32; 6];
    if call(CAPSET, [header.as_ptr() as u64, none.as_ptr() as u64, 0, 0, 0]) < 0 {
        return false;
    }
    let mut left = [u32::MAX; 6];
    call(CAPGET, [header.as_ptr() as u64, left.as_mut_ptr() as u64, 0, 0, 0]) == 0 && left == none
}

/// Sets both limits of a resource, but never above the present hard one.
pub(crate) fn clamp_limit(resource: u64, value: u64) -> i64 {
    let mut now = [0u64; 2];
    let read = call(PRLIMIT64, [0, resource, 0, now.as_mut_ptr() as u64, 0]);
    if read < 0 {
        return read;
    }
    let value = if value < now[1] { value } else { now[1] };
    let new = [value, value];
    call(PRLIMIT64, [0, resource, new.as_ptr() as u64, 0, 0])
}

/// Back to the priority of a payload: the nursery's own is higher.
pub(crate) fn reset_priority() -> i64 {
    const PRIO_PROCESS: u64 = 0;
    call(SETPRIORITY, [PRIO_PROCESS, 0, 0, 0, 0])
}

pub(crate) fn umask(mask: u64) -> i64 {
    call(UMASK, [mask, 0, 0, 0, 0])
}

pub(crate) fn chdir(path: *const u8) -> i64 {
    call(CHDIR, [path as u64, 0, 0, 0, 0])
}
