//! How a kernel ended, in words that tell it from an exception in the code.

use super::wire::CellError;
use crate::reaper::Exit;

/// How a kernel ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Its process did; `None` when nobody learned how.
    Process(Option<Exit>),
    /// It closed its socket and lives on, unreachable.
    Socket,
}

/// Whether the sandbox's memory had to do with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memory {
    Enough,
    /// The kernel of the machine killed something for memory meanwhile; the sandbox's limit in bytes.
    RanOut {
        limit: u64,
    },
}

/// What happens to the context, said after every reason.
const AFTERWARDS: &str = "its variables are lost, and the next cell starts a fresh one";

/// What the cell that ran tells its client.
pub(crate) fn explain(language: &str, end: End, memory: Memory) -> CellError {
    let (name, value) = match (end, memory) {
        (End::Process(Some(Exit::Signal(9))), Memory::RanOut { limit }) => (
            "KernelOutOfMemory",
            format!(
                "the sandbox ran out of memory (limit {} MiB) and the {language} kernel was killed; {AFTERWARDS}",
                limit >> 20
            ),
        ),
        (End::Process(Some(Exit::Code(status))), _) => {
            ("KernelExited", format!("the {language} kernel exited with status {status}; {AFTERWARDS}"))
        }
        (End::Process(Some(Exit::Signal(signal))), _) => {
            ("KernelCrashed", format!("the {language} kernel was ended by {}; {AFTERWARDS}", name(signal)))
        }
        (End::Process(None), _) => {
            ("KernelCrashed", format!("the {language} kernel ended, nobody knows how; {AFTERWARDS}"))
        }
        (End::Socket, _) => {
            ("KernelCrashed", format!("the {language} kernel closed its control socket; {AFTERWARDS}"))
        }
    };
    CellError::new(name, value)
}

fn name(signal: i32) -> String {
    let known = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        other => return format!("signal {other}"),
    };
    known.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(end: End, memory: Memory, expected: &str, part: &str) {
        let CellError { name, value, .. } = explain("python", end, memory);
        assert_eq!(name, expected);
        assert!(value.contains(part), "{value}");
    }

    #[test]
    fn every_end_has_its_name_and_reason() {
        let out = Memory::RanOut { limit: 512 << 20 };
        check(End::Process(Some(Exit::Signal(9))), out, "KernelOutOfMemory", "limit 512 MiB");
        check(End::Process(Some(Exit::Signal(9))), Memory::Enough, "KernelCrashed", "SIGKILL");
        check(End::Process(Some(Exit::Signal(11))), out, "KernelCrashed", "SIGSEGV");
        check(End::Process(Some(Exit::Code(3))), Memory::Enough, "KernelExited", "status 3");
        check(End::Socket, Memory::Enough, "KernelCrashed", "control socket");
    }
}
