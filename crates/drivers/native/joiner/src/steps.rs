//! What the copy does, in the order that keeps it safe.

use crate::Join;
use crate::calls;

/// The step that failed.
pub(crate) struct Failed(pub(crate) i32);

const PR_SET_PDEATHSIG: u64 = 1;
const PR_SET_DUMPABLE: u64 = 4;
const PR_CAPBSET_DROP: u64 = 24;
const PR_CAP_AMBIENT: u64 = 47;
const PR_CAP_AMBIENT_CLEAR_ALL: u64 = 4;
const RLIMIT_CORE: u64 = 4;
const RLIMIT_NOFILE: u64 = 7;
const RLIMIT_MEMLOCK: u64 = 8;
const EINVAL: i64 = -22;

/// The same ceilings as the guest's: what a sandbox's other processes inherit from it.
const MAX_FILES: u64 = 65536;
const MAX_LOCKED_BYTES: u64 = 8 << 20;

fn step(number: i32, result: i64) -> Result<(), Failed> {
    if result < 0 { Err(Failed(number)) } else { Ok(()) }
}

/// From the nursery's namespaces into the sandbox's. After an error the copy must end at once.
pub(crate) fn enter(join: &Join) -> Result<(), Failed> {
    // Root inside could read the memory of a process that has just come in, and take its descriptors.
    step(1, calls::prctl(PR_SET_DUMPABLE, 0, 0))?;
    step(2, calls::prctl(PR_SET_PDEATHSIG, 0, 0))?;
    step(3, calls::unblock_signals())?;
    step(4, calls::setsid())?;
    for &tasks in join.tasks.iter().take(join.task_count as usize) {
        step(5, calls::write(tasks, b"0"))?;
    }
    step(6, calls::setns(join.pidfd, calls::CLONE_NEW_REST))?;
    descriptors(join)?;
    // A kernel without keyrings has none to leak.
    calls::join_new_keyring();
    // Hosts may fix the score; then the group's memory limit still holds.
    calls::write_file(c"/proc/self/oom_score_adj", b"500");
    step(8, calls::reset_priority())?;
    step(8, calls::clamp_limit(RLIMIT_NOFILE, MAX_FILES))?;
    step(8, calls::clamp_limit(RLIMIT_MEMLOCK, MAX_LOCKED_BYTES))?;
    step(8, calls::clamp_limit(RLIMIT_CORE, 1))?;
    identity(join)?;
    calls::umask(0o022);
    if calls::chdir(join.directory) < 0 {
        step(15, calls::chdir(c"/".as_ptr().cast()))?;
    }
    // From here on it is the sandbox's.
    step(16, calls::prctl(PR_SET_DUMPABLE, 1, 0))
}

/// All sources are above 4: 3 is the nursery's own socket, which the copy must lose, and 4 is this library.
fn descriptors(join: &Join) -> Result<(), Failed> {
    for (target, &source) in (0..).zip(&join.stdio) {
        step(7, calls::dup2(source, target))?;
    }
    step(7, calls::dup2(join.socket, 3))?;
    step(7, calls::close_from(4))
}

/// Root of the sandbox first, so that the fall to its user is one from root; then the filter, while it can still be
/// installed without `no_new_privs`; then the user; then every capability, by name.
fn identity(join: &Join) -> Result<(), Failed> {
    step(9, calls::set_groups(0, core::ptr::null()))?;
    step(9, calls::set_gid(0))?;
    step(9, calls::set_uid(0))?;
    for capability in 0..64 {
        if join.keep_capabilities & (1 << capability) == 0 {
            let dropped = calls::prctl(PR_CAPBSET_DROP, capability, 0);
            // Beyond the kernel's last capability.
            if dropped != EINVAL {
                step(10, dropped)?;
            }
        }
    }
    step(11, calls::install_filter(join.filter_length, join.filter))?;
    step(12, calls::set_groups(join.group_count, join.groups))?;
    step(12, calls::set_gid(join.gid))?;
    step(12, calls::set_uid(join.uid))?;
    if !calls::drop_capabilities() {
        return Err(Failed(13));
    }
    step(14, calls::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0))
}
