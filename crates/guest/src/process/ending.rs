//! How an end is told: Go's words, which E2B's clients know, and what the kernel did if memory ran out.

use rustix::process::Signal;

use super::wire::End;
use crate::oom::OomWatch;
use crate::reaper::Exit;

/// What a shell returns when the program it waited for got SIGKILL.
const SHELL_SAW_SIGKILL: i32 = 128 + 9;

/// Whose doing it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// The program's own, or a signal somebody sent.
    Ordinary,
    /// The kernel's, because memory ran out.
    OutOfMemory,
}

/// Whether the kernel killed it for memory, as far as can be told.
pub(super) fn cause(exit: Option<Exit>, oom: OomWatch) -> Cause {
    let killed = match exit {
        Some(Exit::Code(code)) => code == SHELL_SAW_SIGKILL,
        Some(Exit::Signal(signal)) => signal == Signal::KILL.as_raw(),
        None => false,
    };
    if killed && oom.has_killed() { Cause::OutOfMemory } else { Cause::Ordinary }
}

/// The end event of a process that ended so.
pub(super) fn end(exit: Option<Exit>, cause: Cause) -> End {
    let mut end = told(exit);
    if cause == Cause::OutOfMemory {
        end.error = Some(format!("{}: the sandbox ran out of memory and the kernel ended it", end.status));
    }
    end
}

fn told(exit: Option<Exit>) -> End {
    match exit {
        Some(Exit::Code(code)) => {
            let status = format!("exit status {code}");
            End { exit_code: code, exited: true, error: (code != 0).then(|| status.clone()), status }
        }
        Some(Exit::Signal(signal)) => {
            let status = match name(signal) {
                Some(name) => format!("signal: {name}"),
                None => format!("signal: signal {signal}"),
            };
            End { exit_code: -1, exited: false, error: Some(status.clone()), status }
        }
        None => {
            let status = "unknown".to_owned();
            End { exit_code: -1, exited: false, error: Some("its exit status was lost".to_owned()), status }
        }
    }
}

/// The names of `syscall.Signal` on Linux.
fn name(signal: i32) -> Option<&'static str> {
    const NAMES: [&str; 31] = [
        "hangup",
        "interrupt",
        "quit",
        "illegal instruction",
        "trace/breakpoint trap",
        "aborted",
        "bus error",
        "floating point exception",
        "killed",
        "user defined signal 1",
        "segmentation fault",
        "user defined signal 2",
        "broken pipe",
        "alarm clock",
        "terminated",
        "stack fault",
        "child exited",
        "continued",
        "stopped (signal)",
        "stopped",
        "stopped (tty input)",
        "stopped (tty output)",
        "urgent I/O condition",
        "CPU time limit exceeded",
        "file size limit exceeded",
        "virtual timer expired",
        "profiling timer expired",
        "window changed",
        "I/O possible",
        "power failure",
        "bad system call",
    ];
    NAMES.get(usize::try_from(signal).ok()?.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(exit: Exit, code: i32, status: &str, error: Option<&str>) {
        let end = told(Some(exit));
        assert_eq!((end.exit_code, end.status.as_str(), end.error.as_deref()), (code, status, error));
    }

    #[test]
    fn an_end_for_memory_says_so() {
        let end = end(Some(Exit::Code(137)), Cause::OutOfMemory);
        assert_eq!((end.exit_code, end.status.as_str()), (137, "exit status 137"));
        assert!(end.error.expect("says why").contains("ran out of memory"));
    }

    #[test]
    fn ends_are_told_as_go_would() {
        check(Exit::Code(0), 0, "exit status 0", None);
        check(Exit::Code(3), 3, "exit status 3", Some("exit status 3"));
        check(Exit::Signal(9), -1, "signal: killed", Some("signal: killed"));
        check(Exit::Signal(11), -1, "signal: segmentation fault", Some("signal: segmentation fault"));
        check(Exit::Signal(34), -1, "signal: signal 34", Some("signal: signal 34"));
    }
}
