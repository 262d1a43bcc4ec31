//! A line that is typed and not seen.

use std::io::{self, Write};

use anyhow::{Context as _, Result};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use zeroize::Zeroizing;

/// Shows keys again when dropped.
struct Hidden {
    before: Termios,
}

impl Drop for Hidden {
    fn drop(&mut self) {
        if let Err(error) = tcsetattr(io::stdin(), OptionalActions::Now, &self.before) {
            // Mostly a terminal that has gone away.
            tracing::info!(%error, "the terminal stays without echo");
        }
    }
}

/// Asks on standard error, and reads one line from the terminal that is standard input.
pub(crate) fn read_hidden(question: &str) -> Result<Zeroizing<String>> {
    let before = tcgetattr(io::stdin()).context("cannot read the terminal's mode")?;
    let mut hidden = before.clone();
    hidden.local_modes -= LocalModes::ECHO;
    tcsetattr(io::stdin(), OptionalActions::Flush, &hidden).context("cannot set the terminal's mode")?;
    let shown_again = Hidden { before };
    let mut terminal = io::stderr();
    write!(terminal, "{question}")?;
    terminal.flush()?;
    let mut line = Zeroizing::new(String::new());
    io::stdin().read_line(&mut line).context("cannot read from the terminal")?;
    drop(shown_again);
    writeln!(terminal)?;
    if line.ends_with('\n') {
        line.pop();
    }
    Ok(line)
}
