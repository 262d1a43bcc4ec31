//! How a process ended.

use serde::Deserialize;

/// What a shell returns for a program that a signal ended, before the signal's number.
const SIGNALLED: u8 = 128;
const SIGKILL: u8 = 9;

/// The signals that end programs, by the words of Go's `os.ProcessState`, which the protocol speaks.
const SIGNALS: [(&str, u8); 15] = [
    ("hangup", 1),
    ("interrupt", 2),
    ("quit", 3),
    ("illegal instruction", 4),
    ("trace/breakpoint trap", 5),
    ("aborted", 6),
    ("bus error", 7),
    ("floating point exception", 8),
    ("killed", SIGKILL),
    ("segmentation fault", 11),
    ("broken pipe", 13),
    ("alarm clock", 14),
    ("terminated", 15),
    ("CPU time limit exceeded", 24),
    ("bad system call", 31),
];

/// How a process ended, as the protocol tells it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct End {
    /// Its own code; -1 when a signal ended it.
    #[serde(default)]
    exit_code: i32,
    #[serde(default)]
    status: String,
    #[serde(default)]
    error: Option<String>,
}

// === impl End ===

impl End {
    /// The code that a shell would return: the program's own, or 128 and the signal's number.
    pub fn code(&self) -> u8 {
        match (u8::try_from(self.exit_code), self.signal()) {
            (Ok(code), _) => code,
            (Err(_), Some(signal)) => SIGNALLED + signal,
            (Err(_), None) => u8::MAX,
        }
    }

    /// The signal that ended it.
    pub fn signal(&self) -> Option<u8> {
        let name = self.status.strip_prefix("signal: ")?;
        SIGNALS.iter().find(|(known, _)| *known == name).map(|(_, number)| *number)
    }

    /// Whether the kernel killed it because memory ran out. Our guest's `error` repeats `status` for every end but
    /// this one; the protocol has no field of its own for it.
    pub fn is_out_of_memory(&self) -> bool {
        self.code() == SIGNALLED + SIGKILL && self.error.as_ref().is_some_and(|error| *error != self.status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, code: u8, out_of_memory: bool) {
        let end: End = serde_json::from_str(text).unwrap();
        assert_eq!((end.code(), end.is_out_of_memory()), (code, out_of_memory), "{text}");
    }

    #[test]
    fn ends_become_codes_of_a_shell() {
        check(r#"{"exitCode":0,"exited":true,"status":"exit status 0"}"#, 0, false);
        check(r#"{"exited":true,"status":"exit status 0"}"#, 0, false);
        check(r#"{"exitCode":3,"status":"exit status 3","error":"exit status 3"}"#, 3, false);
        check(r#"{"exitCode":-1,"status":"signal: killed","error":"signal: killed"}"#, 137, false);
        check(r#"{"exitCode":-1,"status":"signal: killed","error":"signal: killed: no memory"}"#, 137, true);
        check(
            r#"{"exitCode":137,"status":"exit status 137","error":"exit status 137: no memory"}"#,
            137,
            true,
        );
        check(r#"{"exitCode":-1,"status":"signal: terminated","error":"signal: terminated"}"#, 143, false);
        check(r#"{"exitCode":-1,"status":"unknown","error":"its exit status was lost"}"#, 255, false);
    }
}
