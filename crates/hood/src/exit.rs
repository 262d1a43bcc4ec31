//! How `hood` ends: its exit codes, and how an error is shown.

use std::error::Error;
use std::fmt;
use std::process::ExitCode;

use anyhow::Result;
use hood_agent::{ConfigError, OutError};
use hood_client::ClientError;
use hood_driver_native::RootlessError;
use hood_images::BuildError;

use crate::terminal::{OutputClosed, Printer, escape};

/// Exit codes. Commands that run a program end with that program's own code instead. 2 is clap's: the arguments make
/// no sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: done.
    Done,
    /// 1: refused or failed; the message and a hint are on standard error.
    Refused,
    /// 70: the server's fault; the message has an id that its log has too.
    Fault,
    /// 124: `hood run` stopped the code at its time limit.
    TimedOut,
    /// 130: interrupted from the keyboard, after the sandbox was ended.
    Interrupted,
    /// 137: the code ran out of memory.
    OutOfMemory,
    /// The program's own.
    Program(u8),
}

/// An error of the command line itself, with what to do about it.
#[derive(Debug)]
pub(crate) struct Hinted {
    message: String,
    hint: String,
}

// === impl Exit ===

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Refused => 1,
            Self::Fault => 70,
            Self::TimedOut => 124,
            Self::Interrupted => 130,
            Self::OutOfMemory => 137,
            Self::Program(code) => code,
        }
    }
}

// === impl Hinted ===

impl Hinted {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }

    /// What to do about it.
    pub(crate) fn hint(&self) -> &str {
        &self.hint
    }
}

impl fmt::Display for Hinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Hinted {}

/// Shows what went wrong, if anything did.
pub(crate) fn report(outcome: Result<Exit>, printer: Printer) -> ExitCode {
    let exit = match outcome {
        Ok(exit) => exit,
        // Whoever reads us has seen enough.
        Err(error) if error.is::<OutputClosed>() => Exit::Done,
        Err(error) => {
            show(&error, printer);
            exit_of(&error)
        }
    };
    ExitCode::from(exit.code())
}

/// One line for the error with its causes, one for what to do.
pub(crate) fn show(error: &anyhow::Error, printer: Printer) {
    printer.error(&with_causes(error));
    if let Some(hint) = error.chain().find_map(hint_of) {
        printer.hint(&hint);
    }
}

fn with_causes(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1) {
        let said = cause.to_string();
        // Some libraries repeat what they wrap.
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
    }
    // A build's last lines are several; everything else that controls a terminal is shown as what it is.
    text.lines().map(escape).collect::<Vec<_>>().join("\n")
}

fn hint_of(cause: &(dyn Error + 'static)) -> Option<String> {
    if let Some(error) = cause.downcast_ref::<Hinted>() {
        return Some(error.hint().to_owned());
    }
    if let Some(error) = cause.downcast_ref::<ClientError>() {
        return error.hint();
    }
    if let Some(error) = cause.downcast_ref::<BuildError>() {
        return error.next_step();
    }
    if let Some(error) = cause.downcast_ref::<RootlessError>() {
        return error.next_step();
    }
    if let Some(error) = cause.downcast_ref::<ConfigError>() {
        return Some(error.hint());
    }
    cause.downcast_ref::<OutError>().map(OutError::hint)
}

fn exit_of(error: &anyhow::Error) -> Exit {
    let client = error.chain().find_map(|cause| cause.downcast_ref::<ClientError>());
    if client.is_some_and(ClientError::is_servers_fault) { Exit::Fault } else { Exit::Refused }
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    #[test]
    fn an_error_is_one_line_with_its_causes() {
        let error =
            Err::<(), _>(std::io::Error::other("no\u{1b}[2J")).context("cannot read `x`").unwrap_err();
        assert_eq!(with_causes(&error), "cannot read `x`: no\\u{1b}[2J");
    }

    #[test]
    fn hints_are_found_in_the_chain() {
        let error = anyhow::Error::new(Hinted::new("no", "do this")).context("outer");
        assert_eq!(error.chain().find_map(hint_of).as_deref(), Some("do this"));
    }

    #[test]
    fn the_servers_faults_have_their_own_code() {
        let fault = ClientError::Refused { doing: "x", status: 500, message: "err_abc".into() };
        assert_eq!(exit_of(&fault.into()), Exit::Fault);
        let refused = ClientError::Refused { doing: "x", status: 404, message: "no".into() };
        assert_eq!(exit_of(&refused.into()), Exit::Refused);
    }
}
