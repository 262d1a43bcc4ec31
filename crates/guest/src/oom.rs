//! Did the kernel kill something because the sandbox ran out of memory?
//!
//! A process that the kernel killed for memory looks like any other that got SIGKILL. The sandbox's memory group counts
//! such kills, and the count has gone up before the victim can be reaped, so a count taken before a process started and
//! one taken after it ended tell the two apart. Two victims at once cannot be told from each other: both are then said
//! to have died of it, which is the likely truth.

use std::fs::File;
use std::io::Read;

/// Where the count stands: cgroup v1, then v2. The sandbox's cgroup namespace makes both its own group's.
const FILES: [&str; 2] = ["/sys/fs/cgroup/memory/memory.oom_control", "/sys/fs/cgroup/memory.events"];

/// The files are under 200 bytes.
const MAX_FILE: u64 = 4096;

/// The count at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OomWatch {
    /// `None` where the kernel shows no count: then nothing is ever said to have died of memory.
    before: Option<u64>,
}

impl OomWatch {
    /// Call it before the process starts.
    pub(crate) fn begin() -> Self {
        Self { before: count() }
    }

    /// Whether the kernel has killed for memory since.
    pub(crate) fn has_killed(self) -> bool {
        matches!((self.before, count()), (Some(before), Some(now)) if now > before)
    }
}

fn count() -> Option<u64> {
    FILES.iter().find_map(|path| {
        let mut text = String::new();
        File::open(path).ok()?.take(MAX_FILE).read_to_string(&mut text).ok()?;
        parse(&text)
    })
}

fn parse(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kernels_formats_are_read() {
        assert_eq!(parse("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"), Some(3));
        assert_eq!(parse("low 0\nhigh 0\nmax 9\noom 2\noom_kill 2\noom_group_kill 0\n"), Some(2));
        assert_eq!(parse("oom_kill_disable 0\nunder_oom 0\n"), None);
    }
}
