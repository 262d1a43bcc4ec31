//! A fork that steps through the walls: the nursery's warm interpreter calls [`hood_join`], and its copy comes back as
//! a process of the sandbox, with the sandbox's ids, filter and groups, and without a single capability.
//!
//! Everything here is raw system calls: no libc, no heap, no panic. The order of the steps is what makes it
//! safe (reference `walls.md` 2.1): the copy is unreadable for root inside until it has nothing left to take (F2), and
//! its capabilities are dropped by an explicit call, because a process that never execs keeps them (F1).
//!
//! Loaded by `kernels/python/hood_kernel/nursery.py`, which mirrors [`Join`] field by field.
#![no_std]

mod arenas; // where Python keeps its objects
mod calls;
mod steps;

use steps::Failed;

/// Most v1 hierarchies with limits.
pub const MAX_TASKS: usize = 8;

/// Exit status of a copy that failed at step `n` is `FAILED + n`.
pub const FAILED: i32 = 100;

/// What the nursery asks for. Descriptors are open in the nursery; pointers stay valid until the call returns.
#[repr(C)]
pub struct Join {
    /// The sandbox's PID 1.
    pub pidfd: i32,
    /// The nursery's own pid namespace, to come back to.
    pub home: i32,
    /// cgroup2 group that the copy starts in.
    pub group: i32,
    /// How many of `tasks` are meant.
    pub task_count: u32,
    /// v1 `tasks` files, to write `0` into.
    pub tasks: [i32; MAX_TASKS],
    /// Become 0, 1 and 2.
    pub stdio: [i32; 3],
    /// Becomes 3.
    pub socket: i32,
    /// Who the copy becomes.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// Its supplementary groups.
    pub groups: *const u32,
    /// How many.
    pub group_count: u32,
    /// Instructions of the filter.
    pub filter_length: u32,
    /// The filter: `struct sock_filter` each.
    pub filter: *const u8,
    /// Bit per capability that stays in the bounding set.
    pub keep_capabilities: u64,
    /// Where it starts; NUL-terminated.
    pub directory: *const u8,
}

/// Forks this process into the sandbox. In the nursery: the copy's pid, or a negative errno. In the copy: 0, and then
/// it is inside for good. A copy that cannot get inside ends with status [`FAILED`] and the step.
///
/// # Safety
/// `join` points to a [`Join`] as described there; the process has one thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hood_join(join: *const Join) -> i64 {
    // SAFETY: the caller's promise.
    let join = unsafe { &*join };
    let entered = calls::setns(join.pidfd, calls::CLONE_NEWPID);
    if entered < 0 {
        return entered;
    }
    let pid = calls::fork_into(join.group);
    if pid == 0 {
        return match steps::enter(join) {
            Ok(()) => 0,
            Err(Failed(step)) => calls::exit(FAILED + step),
        };
    }
    let back = calls::setns(join.home, calls::CLONE_NEWPID);
    if back < 0 {
        // Every later fork would land in that sandbox: better no nursery than such a one.
        calls::exit(FAILED);
    }
    pid
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    calls::exit(FAILED)
}
