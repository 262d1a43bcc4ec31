//! Standard input without holding anything up.

use std::io::{self, Read};

use anyhow::{Context as _, Result};
use tokio::sync::mpsc;

/// Bytes read at once.
const CHUNK: usize = 32 << 10;
/// Chunks read ahead of whoever takes them; then reading waits.
const AHEAD: usize = 4;

/// What comes in, until its end. Read on a thread of its own, which dies with the process: a read from a terminal
/// cannot be given up.
pub(crate) fn standard_input() -> Result<mpsc::Receiver<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel(AHEAD);
    std::thread::Builder::new()
        .name("stdin".to_owned())
        .spawn(move || {
            let mut input = io::stdin().lock();
            let mut buffer = vec![0; CHUNK];
            loop {
                match input.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(read) => {
                        if sender.blocking_send(buffer.get(..read).unwrap_or_default().to_vec()).is_err() {
                            break;
                        }
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    // Like its end: there will be no more.
                    Err(_) => break,
                }
            }
        })
        .context("cannot start a thread that reads standard input")?;
    Ok(receiver)
}
