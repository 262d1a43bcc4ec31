//! What the processes of one sandbox use, where no control group counts it: added up from `/proc`.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use hood_driver_api::Bytes;

use crate::cgroup::Meter;

/// The unit of CPU times in `/proc`, fixed for its readers on every machine that the driver is built for.
const TICKS_PER_SECOND: u64 = 100;

/// Of the pid namespace of `guest`. Memory that several processes share is counted for each, page cache for none; CPU
/// time of processes that nobody waited for is lost.
pub(crate) fn count(guest: &OwnedFd) -> io::Result<Meter> {
    let namespace = namespace_of(pid_of(guest)?)?;
    let mut meter = Meter::default();
    let mut cpu = 0;
    for entry in fs::read_dir("/proc")? {
        let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // Processes come and go meanwhile, and most are other people's.
        if namespace_of(pid).ok() != Some(namespace) {
            continue;
        }
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let Some((spent, threads)) = times_and_threads(&stat) else { continue };
        cpu += spent;
        meter.pids = meter.pids.saturating_add(threads);
        meter.memory.0 +=
            kibibytes(&status, "RssAnon:").saturating_add(kibibytes(&status, "RssShmem:")) * 1024;
    }
    meter.cpu = Duration::from_millis(cpu.saturating_mul(1000) / TICKS_PER_SECOND);
    meter.cache = Bytes(0);
    Ok(meter)
}

fn pid_of(guest: &OwnedFd) -> io::Result<u32> {
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", guest.as_raw_fd()))?;
    let pid = info.lines().find_map(|line| line.strip_prefix("Pid:")?.trim().parse().ok());
    pid.ok_or_else(|| io::ErrorKind::NotFound.into())
}

fn namespace_of(pid: u32) -> io::Result<(u64, u64)> {
    let found = fs::metadata(format!("/proc/{pid}/ns/pid"))?;
    Ok((found.dev(), found.ino()))
}

/// Ticks of CPU time, ended children included, and threads. The name before them may hold anything.
fn times_and_threads(stat: &str) -> Option<(u64, u32)> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let times = fields.get(11..15)?.iter().filter_map(|field| field.parse::<u64>().ok()).sum();
    Some((times, fields.get(17)?.parse().ok()?))
}

fn kibibytes(status: &str, name: &str) -> u64 {
    let found = status.lines().find_map(|line| line.strip_prefix(name));
    found.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_counted_after_the_name() {
        let stat = "12 (a) b) S 1 12 12 0 -1 4194560 100 200 0 0 7 3 20 10 20 0 5 0 1234 1000 10";
        assert_eq!(times_and_threads(stat), Some((40, 5)));
        assert_eq!(times_and_threads("12 (a"), None);
    }

    #[test]
    fn our_own_namespace_has_us_in_it() {
        let me = rustix::process::getpid();
        let me = rustix::process::pidfd_open(me, rustix::process::PidfdFlags::empty()).expect("a handle");
        let meter = count(&me).expect("counted");
        assert!(meter.pids >= 1 && meter.memory.0 > 0);
    }
}
