//! Writing, with or without colours.

use std::fmt;
use std::io::{self, IsTerminal, Write};

use anyhow::{Context as _, Result};
use serde::Serialize;

/// Where output goes, and whether it may be coloured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Printer {
    out: Target,
    err: Target,
}

#[derive(Debug, Clone, Copy)]
struct Target {
    is_terminal: bool,
    colours: bool,
}

/// Whoever read standard output has closed it: the end of the command, and no error.
#[derive(Debug)]
pub(crate) struct OutputClosed;

/// A colour; it never carries meaning alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    Bold,
    Dim,
    Green,
    Red,
    Yellow,
}

impl fmt::Display for OutputClosed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("standard output was closed")
    }
}

impl std::error::Error for OutputClosed {}

// === impl Printer ===

impl Printer {
    /// As the terminal and the variables `NO_COLOR` and `TERM` say.
    pub(crate) fn detect() -> Self {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let may = !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let target = |is_terminal| Target { is_terminal, colours: is_terminal && may };
        Self { out: target(io::stdout().is_terminal()), err: target(io::stderr().is_terminal()) }
    }

    /// Whether a person reads standard output.
    pub(crate) fn is_terminal(self) -> bool {
        self.out.is_terminal
    }

    /// Whether progress may be drawn.
    pub(crate) fn may_draw(self) -> bool {
        self.err.is_terminal && self.err.colours
    }

    pub(crate) fn colours_on_stderr(self) -> bool {
        self.err.colours
    }

    /// `text` painted for standard output.
    pub(crate) fn paint(self, paint: Paint, text: &str) -> String {
        painted(self.out.colours, paint, text)
    }

    /// `text` painted for standard error.
    pub(crate) fn paint_note(self, paint: Paint, text: &str) -> String {
        painted(self.err.colours, paint, text)
    }

    /// A line of data.
    pub(crate) fn line(self, text: &str) -> Result<()> {
        self.bytes(format!("{text}\n").as_bytes())
    }

    /// A value as a line of JSON; indented for a person.
    pub(crate) fn json(self, value: &impl Serialize) -> Result<()> {
        let text = if self.out.is_terminal {
            serde_json::to_string_pretty(value)
        } else {
            serde_json::to_string(value)
        };
        self.line(&text.context("cannot write JSON")?)
    }

    /// Data as it is, at once.
    #[expect(clippy::unused_self, reason = "who has no printer does not print")]
    pub(crate) fn bytes(self, bytes: &[u8]) -> Result<()> {
        let mut out = io::stdout().lock();
        match out.write_all(bytes).and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(OutputClosed.into()),
            result => result.context("cannot write to standard output"),
        }
    }

    /// A program's error output as it is, at once.
    #[expect(clippy::unused_self, reason = "who has no printer does not print")]
    pub(crate) fn error_bytes(self, bytes: &[u8]) {
        let mut err = io::stderr().lock();
        // With standard error gone there is nobody left to tell.
        drop(err.write_all(bytes).and_then(|()| err.flush()));
    }

    /// A line for a person.
    pub(crate) fn note(self, text: &str) {
        self.error_bytes(format!("{text}\n").as_bytes());
    }

    pub(crate) fn error(self, text: &str) {
        self.note(&format!("{} {text}", self.paint_note(Paint::Red, "error:")));
    }

    pub(crate) fn warning(self, text: &str) {
        self.note(&format!("{} {text}", self.paint_note(Paint::Yellow, "warning:")));
    }

    pub(crate) fn hint(self, text: &str) {
        self.note(&format!("{} {text}", self.paint_note(Paint::Green, "hint:")));
    }
}

fn painted(on: bool, paint: Paint, text: &str) -> String {
    let code = match paint {
        Paint::Bold => 1,
        Paint::Dim => 2,
        Paint::Green => 32,
        Paint::Red => 31,
        Paint::Yellow => 33,
    };
    if on { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
}
