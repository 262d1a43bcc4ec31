//! Every ceiling of the engine, declared once: the constants, and the table from which `LIMITS.md` is printed.

use std::sync::LazyLock;
use std::time::Duration;

use hood_driver_api::{Bytes, MilliCpu};

/// One ceiling, as a reader of `LIMITS.md` sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// Its name in the source.
    pub name: &'static str,
    /// Its value with unit.
    pub value: String,
    /// What it bounds.
    pub what: &'static str,
    /// What happens when it is met.
    pub when_met: &'static str,
}

/// All of the engine's ceilings, in the order of the source.
pub fn inventory() -> &'static [Limit] {
    static INVENTORY: LazyLock<Vec<Limit>> = LazyLock::new(table);
    &INVENTORY
}

macro_rules! limits {
    ($($name:ident: $kind:ty = $value:expr, $what:literal, $when_met:literal;)*) => {
        $(
            #[doc = concat!("Ceiling: ", $what, ". When met: ", $when_met, ".")]
            pub const $name: $kind = $value;
        )*

        fn table() -> Vec<Limit> {
            vec![$(Limit {
                name: stringify!($name),
                value: Show::show(&$name),
                what: $what,
                when_met: $when_met,
            }),*]
        }
    };
}

limits! {
    MAX_SANDBOXES: usize = 256, "sandboxes living on one node (default of `max_sandboxes`)", "create is refused";
    MAX_TIMEOUT: Duration = Duration::from_secs(24 * 3600), "time a sandbox may be given (default of `max_timeout`)", "the call is refused";
    MAX_MEMORY: Bytes = Bytes::gib(8), "memory of one sandbox (default of `max_resources`)", "create is refused";
    MAX_CPU: MilliCpu = MilliCpu::cores(8), "CPU of one sandbox (default of `max_resources`)", "create is refused";
    MAX_PIDS: u32 = 4096, "processes and threads of one sandbox (default of `max_resources`)", "create is refused";
    MAX_DISK: Bytes = Bytes::gib(20), "writable layer of one sandbox (default of `max_resources`)", "create is refused";
    MIN_MEMORY: Bytes = Bytes::mib(32), "least memory a sandbox works with", "create is refused";
    MIN_CPU: MilliCpu = MilliCpu(10), "least CPU a sandbox works with", "create is refused";
    MIN_PIDS: u32 = 16, "least processes and threads a sandbox works with", "create is refused";
    MIN_DISK: Bytes = Bytes::mib(16), "least writable layer a sandbox works with", "create is refused";
    METADATA: Bytes = Bytes::kib(64), "names and values of one sandbox's metadata together", "create is refused";
    ENVS: Bytes = Bytes::kib(128), "names and values of one sandbox's environment together", "create is refused";
    NOTES: Bytes = Bytes::kib(64), "a dialect's notes on one sandbox, as JSON", "create is refused";
    BUILD: Duration = Duration::from_secs(30), "time to build one sandbox", "the sandbox ends as not built";
    DIAL: Duration = Duration::from_secs(10), "time to open a stream into a sandbox", "the stream is refused";
    USAGE: Duration = Duration::from_secs(2), "time to read one sandbox's usage", "that sample is left out";
    STORE: Duration = Duration::from_secs(10), "time for one write to the store", "the call fails; an end happens all the same";
    DESTROY: Duration = Duration::from_secs(60), "time for one attempt to remove a sandbox", "the attempt counts as failed";
    DESTROY_ATTEMPTS: u32 = 8, "attempts to remove a sandbox, with growing pauses", "it is left for the next start to sweep";
    DESTROY_PAUSE: Duration = Duration::from_secs(60), "longest pause between two attempts to remove a sandbox", "the pause grows no more";
    DESTROYS: usize = 8, "sandboxes being removed at once", "the others wait";
    REMAINS: usize = 256, "ended sandboxes waiting to be removed", "create is refused";
    STOP: Duration = Duration::from_secs(30), "time to remove all sandboxes when the server stops", "the rest is left for the next start to sweep";
    TOMBSTONE: Duration = Duration::from_secs(24 * 3600), "time an ended sandbox is remembered, with log and samples (default of `keep_ended`)", "it is forgotten";
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

/// A value with its unit, for people.
trait Show {
    fn show(&self) -> String;
}

impl Show for usize {
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Show for u32 {
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Show for Bytes {
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Show for MilliCpu {
    fn show(&self) -> String {
        format!("{} cores", f64::from(self.0) / 1000.0)
    }
}

impl Show for Duration {
    fn show(&self) -> String {
        match self.as_secs() {
            secs if secs >= 3600 && secs % 3600 == 0 => format!("{} h", secs / 3600),
            secs => format!("{secs} s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_shows_names_values_and_units() {
        let of = |name| inventory().iter().find(|limit| limit.name == name).expect("listed").value.clone();
        assert_eq!(of("MAX_SANDBOXES"), "256");
        assert_eq!(of("MAX_TIMEOUT"), "24 h");
        assert_eq!(of("MAX_CPU"), "8 cores");
        assert_eq!(of("LOG_MESSAGE"), "8 KiB");
    }
}
