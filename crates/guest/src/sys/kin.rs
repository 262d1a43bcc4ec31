//! A process's relatives, found in `/proc`: its descendants, its process group and its session, and the descendants of
//! those.
//!
//! Who has left all three (a daemon: new session, and an orphan) is no longer found. It ends with its sandbox.

use std::collections::HashSet;
use std::fs;
use std::io;

use rustix::process::{Pid, Signal};

use crate::limits::KIN_ROUNDS;

/// One living process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    pid: i32,
    parent: i32,
    group: i32,
    session: i32,
}

/// SIGKILL to `leader` and its kin, until none is found.
pub(super) fn kill(leader: Pid) -> io::Result<()> {
    // Each round finds what was forked during the one before.
    for _ in 0..KIN_ROUNDS {
        let found = kin(&living()?, number(leader));
        if found.is_empty() {
            return Ok(());
        }
        for pid in found.into_iter().filter_map(Pid::from_raw) {
            match rustix::process::kill_process(pid, Signal::KILL) {
                Ok(()) | Err(rustix::io::Errno::SRCH) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(())
}

/// Whether `leader` or any of its kin lives.
pub(super) fn has_any(leader: Pid) -> bool {
    living().is_ok_and(|all| !kin(&all, number(leader)).is_empty())
}

fn number(pid: Pid) -> i32 {
    pid.as_raw_nonzero().get()
}

fn kin(all: &[Process], leader: i32) -> Vec<i32> {
    let is_kin = |p: &&Process| p.pid == leader || p.group == leader || p.session == leader;
    let mut found: HashSet<i32> = all.iter().filter(is_kin).map(|p| p.pid).collect();
    // Parents may come after their children.
    loop {
        let more: Vec<i32> = all
            .iter()
            .filter(|p| found.contains(&p.parent) && !found.contains(&p.pid))
            .map(|p| p.pid)
            .collect();
        if more.is_empty() {
            break;
        }
        found.extend(more);
    }
    // The init of whatever this runs in, and whoever asks, are nobody's prey.
    let me = number(rustix::process::getpid());
    found.into_iter().filter(|&pid| pid > 1 && pid != me).collect()
}

fn living() -> io::Result<Vec<Process>> {
    let mut all = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        // One that has just ended is no error.
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        all.extend(parse(pid, &stat));
    }
    Ok(all)
}

/// `pid (name) state parent group session …`; the name may hold anything. Zombies are dead.
fn parse(pid: i32, stat: &str) -> Option<Process> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    let mut number = || fields.next()?.parse().ok();
    Some(Process { pid, parent: number()?, group: number()?, session: number()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kin_are_descendants_groups_and_sessions() {
        let process = |pid, parent, group, session| Process { pid, parent, group, session };
        let all = [
            process(1, 0, 1, 1),
            process(300, 200, 300, 300), // a grandchild in a session of its own
            process(200, 100, 100, 100), // a child
            process(400, 1, 100, 100),   // an orphan of the session
            process(401, 400, 401, 401), // its child
            process(500, 1, 500, 500),   // a daemon: lost
        ];
        let mut found = kin(&all, 100);
        found.sort_unstable();
        assert_eq!(found, [200, 300, 400, 401]);
    }

    #[test]
    fn names_may_look_like_fields() {
        assert_eq!(
            parse(7, "7 (a) S 9) R 1 2 3 4"),
            Some(Process { pid: 7, parent: 1, group: 2, session: 3 })
        );
        assert_eq!(parse(7, "7 (a) Z 1 2 3 4"), None);
    }
}
