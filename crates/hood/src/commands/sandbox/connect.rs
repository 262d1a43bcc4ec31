//! `hood sandbox connect`: a shell in a sandbox, on this terminal.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result};
use hood_client::{Command, End, Event, Process, Sandbox, Size, Stdio};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::MissedTickBehavior;

use crate::cli::ConnectArguments;
use crate::commands::{Context, relay};
use crate::exit::{Exit, Hinted};
use crate::terminal::{RawMode, window_size};

/// While somebody is connected the sandbox has at least this long to live.
const AT_LEAST: Duration = Duration::from_secs(60);
/// Between two prolongations: two may fail.
const PROLONG: Duration = Duration::from_secs(20);
/// When the terminal does not know its size.
const USUAL: Size = Size { cols: 80, rows: 24 };

pub(crate) async fn run(context: &Context, arguments: ConnectArguments) -> Result<Exit> {
    let sandbox = context.client()?.attach(&arguments.id).await?;
    let raw = RawMode::enter()?.ok_or_else(|| {
        let hint = format!("without a terminal: `hood sandbox exec -i {} -- bash`", arguments.id);
        Hinted::new("`connect` needs a terminal for input and output", hint)
    })?;
    let mut process = sandbox.start(&shell(arguments.user)).await?;
    let feeding = relay::feed(process.input())?;
    let end = converse(context, &sandbox, &mut process).await;
    drop(feeding);
    // Before anything else is printed.
    drop(raw);
    Ok(Exit::Program(end?.code()))
}

fn shell(user: Option<String>) -> Command {
    let terminal = std::env::var("TERM").unwrap_or_else(|_| "xterm-256color".to_owned());
    let envs = [("TERM", terminal.as_str()), ("LANG", "C.UTF-8"), ("LC_ALL", "C.UTF-8")];
    Command {
        program: "/bin/bash".to_owned(),
        args: vec!["-i".to_owned(), "-l".to_owned()],
        envs: BTreeMap::from(envs.map(|(name, value)| (name.to_owned(), value.to_owned()))),
        user,
        stdio: Stdio::Terminal(window_size().unwrap_or(USUAL)),
        ..Command::default()
    }
}

async fn converse(context: &Context, sandbox: &Sandbox, process: &mut Process) -> Result<End> {
    let input = process.input();
    let mut resized = signal(SignalKind::window_change()).context("cannot watch the terminal's size")?;
    let mut prolong = tokio::time::interval(PROLONG);
    prolong.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            event = process.next() => match event? {
                Event::Terminal(bytes) | Event::Stdout(bytes) | Event::Stderr(bytes) => {
                    context.printer.bytes(&bytes)?;
                }
                Event::End(end) => return Ok(end),
            },
            _ = resized.recv() => if let Some(size) = window_size() {
                // A shell that has just ended needs no size.
                drop(input.resize(size).await);
            },
            _ = prolong.tick() => {
                // A server that cannot do it once is asked again; one that is gone cuts the shell's stream.
                drop(sandbox.client().extend(sandbox.id(), AT_LEAST).await);
            }
        }
    }
}
