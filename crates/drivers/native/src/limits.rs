//! Every ceiling of the driver: the constants, or those of the module that explains them, and the table for
//! `LIMITS.md`.

use std::time::Duration;

use crate::{ceilings, driver, helper, ids, netdoor, network, nursery, sandbox, warden};

hood_limits::limits! {
    MAX_TEMPLATES: u32 = ids::MAX_TEMPLATES, "templates with living sandboxes at once", "an idle one makes room; where none is idle, create is refused";
    MAX_SLOTS: u32 = ids::MAX_SLOTS, "sandboxes of one template at once", "create is refused";
    RANGE: u32 = ids::RANGE, "user and group ids of one sandbox", "higher ids do not exist inside: EINVAL";
    SHARED_SLOTS: u32 = ids::SHARED_SLOTS, "sandboxes of one template at once, of a server without root", "create is refused";
    SHARED_RANGE: u32 = ids::SHARED_RANGE, "user and group ids of one sandbox, beside `nobody`, of a server without root", "higher ids do not exist inside: EINVAL";
    MAX_AT_ONCE: usize = driver::MAX_AT_ONCE, "sandboxes being built or removed at once", "the others wait";
    READY: Duration = driver::READY_LIMIT, "time until a new sandbox's guest answers", "create fails";
    END: Duration = driver::END_PATIENCE, "time until the processes of a killed sandbox are gone", "the attempt to remove it has failed";
    HELPER_ANSWER: Duration = helper::ANSWER_LIMIT, "time until a process that builds walls answers", "create fails, and a new one is started";
    DIALS_WAITING: usize = netdoor::MAX_WAITING, "connections into sandboxes that wait to be opened", "one more is refused";
    EVENT: usize = hood_wire::MAX_EVENT_BYTES, bytes, "one message from a guest to the server", "the guest counts as dead";

    /// Said in `data/network.nft`, as the next two are.
    CONNECTIONS: u32 = 2048, "connections out of a sandbox at once", "ECONNREFUSED";
    QUESTIONS: u32 = 2048, "questions about names at once, those of the last ten seconds included", "EPERM; of connections to a name server those above count";
    REFUSED: u32 = 10, "refused packets of a sandbox that are recorded in a second, after a burst of fifty", "the others are refused without a record";
    REFUSED_WAITING: usize = network::REPORTS_WAITING, "records of refused packets that wait for the gate", "more are lost";
    BACKLOG: u32 = network::BACKLOG, "connections of a sandbox that wait for the gate", "one more tries again after a second";

    NETWORKS_AHEAD: usize = warden::NETWORKS_AHEAD, "networks put up before a sandbox of the template asks for one", "a burst beyond them makes its own";
    ADDRESS: Duration = network::SETTLE_LIMIT, "time until a new sandbox's IPv6 address is of use", "create fails";

    FORKS: u64 = nursery::MAX_FORKS, "interpreters forked from one warm parent", "another parent is started";
    PARENT_AGE: Duration = nursery::MAX_AGE, "age of a warm parent", "another parent is started";
    PARENT_PAUSE: Duration = nursery::PAUSE, "pause after a warm parent died or could not be started", "contexts start without one, more slowly";

    MAX_FILES: u64 = 65536, "files one process inside may have open; where the host's own hard limit is lower, that counts", "EMFILE";
    PROCESSES_SHARE: u64 = sandbox::SECOND_FENCE, "processes of a sandbox counted by user namespace, as a multiple of its process ceiling", "fork fails with EAGAIN";
    PENDING_SIGNALS: u64 = 4096, "signals queued inside", "EAGAIN";
    QUEUE: u64 = 819_200, bytes, "POSIX message queues inside", "EMFILE";
    LOCKED: u64 = 8 << 20, bytes, "memory that one process inside may lock", "ENOMEM";
    /// Not 0: that would not stop a piped core handler of the host from running (reference `walls.md` F14).
    CORE: u64 = 1, bytes, "a core dump", "none is written";
    INOTIFY_INSTANCES: u32 = ceilings::INOTIFY_INSTANCES, "inotify instances inside", "EMFILE";
    INOTIFY_WATCHES: u32 = ceilings::INOTIFY_WATCHES, "inotify watches inside", "ENOSPC";
    /// Nobody inside needs one.
    NAMESPACES: u32 = 0, "namespaces made inside, of each kind", "EPERM or ENOSPC", "opened by name: template (`walls.nested_user_namespaces`)";
    NESTED_NAMESPACES: u32 = 64, "namespaces made inside, of each kind but cgroup and time, where the template opens them", "ENOSPC";
    INOTIFY_SHARE: u64 = ceilings::SHARE_OF_USER, "part of the inotify instances and watches of the user that all sandboxes together may take, as a divisor, of a server without root", "EMFILE or ENOSPC";
    FANOTIFY: u32 = 0, "fanotify groups and marks inside", "EPERM or EMFILE";
    SHM_SHARE: u64 = sandbox::SHM_SHARE, "part of a sandbox's memory that `/dev/shm` may take, as a divisor", "ENOSPC", "with the memory: create call (`hood.memoryMB`), template";
    RUN: u64 = 16 << 20, bytes, "files in `/run`", "ENOSPC";
    TMP_OF_READ_ONLY_ROOT: u64 = 64 << 20, bytes, "files in `/tmp` where the root is read-only", "ENOSPC";
}
