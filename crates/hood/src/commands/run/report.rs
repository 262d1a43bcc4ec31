//! How a program ended, for people's shells and for programs.

use std::time::Duration;

use hood_client::End;
use serde::Serialize;

use super::harvest::Fetched;
use crate::exit::Exit;
use crate::limits::RUN_OUTPUT;

/// Why a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    Exited { code: u8 },
    Signal { code: u8 },
    TimedOut,
    OutOfMemory { sandbox_ended: bool },
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
pub(super) struct Report<'a> {
    exit_code: u8,
    reason: &'static str,
    stdout: String,
    stderr: String,
    /// Some output is missing above.
    truncated: bool,
    files: &'a [Fetched],
    duration_ms: u64,
}

/// Both outputs of a program.
#[derive(Debug, Default)]
pub(super) struct Captured {
    pub(super) stdout: Kept,
    pub(super) stderr: Kept,
}

/// The first bytes of one output.
#[derive(Debug, Default)]
pub(super) struct Kept {
    bytes: Vec<u8>,
    is_cut: bool,
}

// === impl Reason ===

impl Reason {
    pub(super) fn of(end: &End) -> Self {
        match (end.is_out_of_memory(), end.signal()) {
            (true, _) => Self::OutOfMemory { sandbox_ended: false },
            (false, Some(_)) => Self::Signal { code: end.code() },
            (false, None) => Self::Exited { code: end.code() },
        }
    }

    pub(super) fn exit(self) -> Exit {
        match self {
            Self::Exited { code } | Self::Signal { code } => Exit::Program(code),
            Self::TimedOut => Exit::TimedOut,
            Self::OutOfMemory { .. } => Exit::OutOfMemory,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Exited { .. } => "exited",
            Self::Signal { .. } => "signal",
            Self::TimedOut => "timeout",
            Self::OutOfMemory { .. } => "out_of_memory",
        }
    }
}

// === impl Report ===

impl<'a> Report<'a> {
    pub(super) fn new(reason: Reason, captured: Captured, files: &'a [Fetched], duration: Duration) -> Self {
        Self {
            exit_code: reason.exit().code(),
            reason: reason.word(),
            truncated: captured.stdout.is_cut || captured.stderr.is_cut,
            stdout: captured.stdout.text(),
            stderr: captured.stderr.text(),
            files,
            duration_ms: duration.as_millis() as u64,
        }
    }
}

// === impl Kept ===

impl Kept {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let room = RUN_OUTPUT - self.bytes.len();
        self.is_cut |= bytes.len() > room;
        self.bytes.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }

    fn text(self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_says_what_a_program_wants_to_know() {
        let mut captured = Captured::default();
        captured.stdout.push("héllo\n".as_bytes());
        captured.stderr.push(b"\xff");
        let files = [Fetched { name: "a".into(), path: "hood-out/a".into(), bytes: 3 }];
        let report = Report::new(Reason::TimedOut, captured, &files, Duration::from_millis(1500));
        assert_eq!(
            serde_json::to_string(&report).unwrap(),
            "{\"exit_code\":124,\"reason\":\"timeout\",\"stdout\":\"héllo\\n\",\"stderr\":\"\u{fffd}\",\
             \"truncated\":false,\"files\":[{\"name\":\"a\",\"path\":\"hood-out/a\",\"bytes\":3}],\"duration_ms\":1500}"
        );
    }

    #[test]
    fn output_without_end_is_cut_and_said() {
        let mut kept = Kept::default();
        for _ in 0..18 {
            kept.push(&vec![b'x'; 1 << 20]);
        }
        assert!(kept.is_cut && kept.bytes.len() == RUN_OUTPUT);
    }
}
