//! The terminal as a pipe for keys: for a shell that runs elsewhere.

use std::io::{self, IsTerminal};

use anyhow::{Context as _, Result};
use hood_client::Size;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// While this lives, keys come one by one, unseen and uninterpreted.
#[derive(Debug)]
pub(crate) struct RawMode {
    before: Termios,
}

impl RawMode {
    /// `None` when standard input or output is no terminal.
    pub(crate) fn enter() -> Result<Option<Self>> {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return Ok(None);
        }
        let before = tcgetattr(io::stdin()).context("cannot read the terminal's mode")?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Now, &raw).context("cannot set the terminal's mode")?;
        Ok(Some(Self { before }))
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        if let Err(error) = tcsetattr(io::stdin(), OptionalActions::Now, &self.before) {
            // Mostly a terminal that has gone away.
            tracing::info!(%error, "the terminal stays in raw mode");
        }
    }
}

/// How large the terminal is.
pub(crate) fn window_size() -> Option<Size> {
    let size = tcgetwinsize(io::stdout()).ok()?;
    Some(Size { cols: size.ws_col, rows: size.ws_row })
}
