//! Processes of a server where there is no control group to know them by.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::helper::WARDEN_COMMAND;

/// Ends the helpers of an earlier server of `instance`, and with each builder all sandboxes of its template. Helpers are
/// told by their command line, which names the instance. Returns how many there were.
pub(crate) fn end_leftovers(instance: &str, patience: Duration) -> io::Result<usize> {
    let mut ended = 0;
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| Pid::from_raw(name.parse().ok()?)) else { continue };
        // The handle first: then what is read next is of the same process, or the signal reaches nobody.
        let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
        let command = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
        if is_helper(&command, instance) {
            match end(&process, patience) {
                // Somebody else's, who only looks like it.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
                other => {
                    other?;
                    ended += 1;
                }
            }
        }
    }
    Ok(ended)
}

/// SIGKILL, then waits until the process is gone; with the first process of a pid namespace everything in it.
pub(crate) fn end(process: &OwnedFd, patience: Duration) -> io::Result<()> {
    match pidfd_send_signal(process, Signal::KILL) {
        Ok(()) => {}
        Err(rustix::io::Errno::SRCH) => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    let patience = patience.try_into().map_err(io::Error::other)?;
    let mut wait = [PollFd::from_borrowed_fd(process.as_fd(), PollFlags::IN)];
    match rustix::io::retry_on_intr(|| poll(&mut wait, Some(&patience)))? {
        0 => Err(io::Error::new(io::ErrorKind::TimedOut, "a killed process does not end")),
        _ => Ok(()),
    }
}

fn is_helper(command: &[u8], instance: &str) -> bool {
    let mut words = command.split(|byte| *byte == 0).skip(1);
    words.next() == Some(WARDEN_COMMAND.as_bytes()) && words.next() == Some(instance.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_helpers_of_the_same_instance_are_meant() {
        assert!(is_helper(b"/proc/self/exe\0internal-warden\0abcd0123\0", "abcd0123"));
        assert!(!is_helper(b"/proc/self/exe\0internal-warden\0abcd0124\0", "abcd0123"));
        assert!(!is_helper(b"vi\0internal-warden\0", "abcd0123"));
    }

    #[test]
    fn an_ended_process_is_waited_for() {
        let mut child = std::process::Command::new("sleep").arg("100").spawn().expect("started");
        let pid = Pid::from_child(&child);
        let process = pidfd_open(pid, PidfdFlags::empty()).expect("a handle");
        end(&process, Duration::from_secs(10)).expect("it ends");
        child.wait().expect("reaped");
        end(&process, Duration::from_secs(10)).expect("it is gone");
    }
}
