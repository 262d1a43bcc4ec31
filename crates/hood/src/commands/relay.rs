//! A running program's output, input and interruption, between a sandbox and whoever started it.

use anyhow::{Context as _, Result};
use hood_client::{End, Event, Input, Process, Signal};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tokio_util::task::AbortOnDropHandle;

use crate::terminal::{Printer, standard_input};

/// Passes standard input on, in a task that ends with its handle.
pub(crate) fn feed(input: Input) -> Result<AbortOnDropHandle<()>> {
    let mut chunks = standard_input()?;
    let task: JoinHandle<()> = tokio::task::spawn(async move {
        while let Some(chunk) = chunks.recv().await {
            // A program that reads no more, or has ended, is no error: its end is what counts.
            if input.send(&chunk).await.is_err() {
                return;
            }
        }
        drop(input.close().await);
    });
    Ok(AbortOnDropHandle::new(task))
}

/// Writes a piece of output where the program wrote it.
pub(crate) fn pass_on(printer: Printer, event: &Event) -> Result<()> {
    match event {
        Event::Stdout(bytes) => printer.bytes(bytes),
        Event::Stderr(bytes) => {
            printer.error_bytes(bytes);
            Ok(())
        }
        Event::Terminal(_) | Event::End(_) => Ok(()),
    }
}

/// Hands every piece of output to `take` until the program has ended. It ends with the program, however long standard
/// input stays open. The first interrupt from the keyboard ends the program kindly, the next one with force.
pub(crate) async fn follow(process: &mut Process, take: &mut dyn FnMut(Event) -> Result<()>) -> Result<End> {
    let input = process.input();
    let mut interrupted = signal(SignalKind::interrupt()).context("cannot watch for interrupts")?;
    let mut force = Signal::Terminate;
    loop {
        let event = tokio::select! {
            event = process.next() => event?,
            _ = interrupted.recv() => {
                input.signal(force).await?;
                force = Signal::Kill;
                continue;
            }
        };
        match event {
            Event::End(end) => return Ok(end),
            output => {
                if let Err(error) = take(output) {
                    // Nobody reads it any more, as with a broken pipe: the program ends as it would in a shell.
                    drop(input.signal(Signal::Terminate).await);
                    return Err(error);
                }
            }
        }
    }
}
