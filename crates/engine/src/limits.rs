//! Every ceiling of the engine, declared once: the constants, and the table from which `LIMITS.md` is printed.

use std::time::Duration;

use hood_driver_api::{Bytes, MilliCpu};

hood_limits::limits! {
    MAX_SANDBOXES: usize = 256, "sandboxes living on one node", "create is refused", "`hood serve --max-sandboxes`";
    MAX_TIMEOUT: Duration = Duration::from_secs(24 * 3600), "time a sandbox may be given", "the call is refused", "in code: the engine's `Config`";
    MAX_MEMORY: Bytes = Bytes::gib(8), "memory of one sandbox", "create is refused", "in code: the engine's `Config`";
    MAX_CPU: MilliCpu = MilliCpu::cores(8), "CPU of one sandbox", "create is refused", "in code: the engine's `Config`";
    MAX_PIDS: u32 = 4096, "processes and threads of one sandbox", "create is refused", "in code: the engine's `Config`";
    MAX_DISK: Bytes = Bytes::gib(20), "writable layer of one sandbox", "create is refused", "in code: the engine's `Config`";
    MIN_MEMORY: Bytes = Bytes::mib(32), "least memory a sandbox works with", "create is refused";
    MIN_CPU: MilliCpu = MilliCpu(10), "least CPU a sandbox works with", "create is refused";
    MIN_PIDS: u32 = 16, "least processes and threads a sandbox works with", "create is refused";
    MIN_DISK: Bytes = Bytes::mib(16), "least writable layer a sandbox works with", "create is refused";
    METADATA: Bytes = Bytes::kib(64), "names and values of one sandbox's metadata together", "create is refused";
    ENVS: Bytes = Bytes::kib(128), "names and values of one sandbox's environment together", "create is refused";
    NOTES: Bytes = Bytes::kib(64), "a dialect's notes on one sandbox, as JSON", "create is refused";
    BUILD: Duration = Duration::from_secs(30), "time to build one sandbox", "the sandbox ends as not built";
    FREEZE: Duration = Duration::from_secs(10), "time for stopping a sandbox's processes, or letting them go on", "it stays as it was, and the call fails";
    CAPTURE: Duration = Duration::from_secs(60), "time for one step of the driver with a sandbox's files: to keep, to restore or to remove them", "the call fails, nothing is kept";
    SNAPSHOTS: usize = 1000, "snapshots on one node", "the call is refused";
    SNAPSHOT_NAME: usize = 128, bytes, "a snapshot's name, with its tag", "the call is refused";
    VOLUMES: usize = 1000, "volumes on one node", "the call is refused";
    VOLUME: Bytes = Bytes::gib(10), "size of a volume that asks for none", "writes into it fail: no space", "the create call";
    VOLUME_NAME: usize = 128, bytes, "a volume's name", "the call is refused";
    VOLUMES_EACH: usize = 16, "volumes of one sandbox", "create is refused";
    MOUNT_PATH: usize = 1024, bytes, "the path at which a volume lies", "create is refused";
    FORKS: usize = 100, "children of one fork", "the call is refused";
    AUTO_RESUME: Duration = Duration::from_secs(300), "life of a sandbox that traffic has woken", "its deadline", "set-timeout";
    DIAL: Duration = Duration::from_secs(10), "time to open a stream into a sandbox", "the stream is refused";
    USAGE: Duration = Duration::from_secs(2), "time to read one sandbox's usage", "that sample is left out";
    STORE: Duration = Duration::from_secs(10), "time for one write to the store", "the call fails; an end happens all the same";
    DESTROY: Duration = Duration::from_secs(60), "time for one attempt to remove a sandbox", "the attempt counts as failed";
    DESTROY_ATTEMPTS: u32 = 8, "attempts to remove a sandbox, with growing pauses", "it is left for the next start to sweep";
    DESTROY_PAUSE: Duration = Duration::from_secs(60), "longest pause between two attempts to remove a sandbox", "the pause grows no more";
    DESTROYS: usize = 8, "sandboxes being removed at once", "the others wait";
    REMAINS: usize = 256, "ended sandboxes waiting to be removed", "create is refused";
    STOP: Duration = Duration::from_secs(30), "time to remove all sandboxes when the server stops", "the rest is left for the next start to sweep";
    TOMBSTONE: Duration = Duration::from_secs(24 * 3600), "time an ended sandbox is remembered, with log and samples", "it is forgotten", "in code: the engine's `Config`";
    TOMBSTONES: usize = 10_000, "ended sandboxes remembered", "the oldest are forgotten";
    PRUNE_EVERY: Duration = Duration::from_secs(60), "time between two looks for tombstones to forget", "they stay until then";
    DRIVER_EVENTS: usize = 1024, "events of the driver waiting for the engine", "the driver waits";
    JOURNAL: usize = 8192, "log lines and samples waiting to be written", "further ones are dropped and counted";
    JOURNAL_BATCH: usize = 512, "log lines and samples written at once", "the rest goes into the next write";
    SAMPLE_EVERY: Duration = Duration::from_secs(5), "time between two samples of a sandbox", "no finer resolution is kept";
    SAMPLES_AT_ONCE: usize = 16, "sandboxes measured at once", "the others wait";
    LOG_LINES: u32 = 10_000, "log lines from one sandbox's guest", "a last line says so, further ones are dropped";
    LOG_MESSAGE: Bytes = Bytes::kib(8), "length of one log line's message", "the message is cut and marked `truncated`";
    LOG_PAGE: usize = 10_000, "log lines in one answer", "the answer holds that many";
    LIST_PAGE: usize = 10_000, "sandboxes in one answer", "the answer names its next page";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_shows_names_values_and_units() {
        let of = |name| inventory().into_iter().find(|limit| limit.name == name).expect("listed").value;
        assert_eq!(of("MAX_SANDBOXES"), "256");
        assert_eq!(of("MAX_TIMEOUT"), "24 h");
        assert_eq!(of("MAX_CPU"), "8 cores");
        assert_eq!(of("LOG_MESSAGE"), "8 KiB");
    }
}
