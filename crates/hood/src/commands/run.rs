//! `hood run`: code in, output and new files out.
//!
//! ```text
//! read what is given → sandbox → upload → look → run → look again → fetch what is new → end the sandbox
//! ```

mod given; // the program and its files, from the host
mod harvest; // what is new in the workspace
mod names; // what a sandbox calls a file is not what the host calls it
mod out; // the only place that writes on the host
mod report;

use std::time::Instant;

use anyhow::{Context as _, Result};
use hood_client::{ClientError, Command, Event, Hood, NewSandbox, Sandbox, Stdio};
use tokio::signal::unix::{SignalKind, signal};

use super::sandbox::is_late;
use super::{Context, relay};
use crate::cli::RunArguments;
use crate::exit::{Exit, show};
use crate::limits::{RUN_AROUND, RUN_FAREWELL};
use crate::terminal::escape;
use given::Given;
use harvest::Harvest;
use report::{Captured, Reason, Report};

pub(crate) async fn run(context: &Context, arguments: RunArguments) -> Result<Exit> {
    let given = Given::read(&arguments)?;
    let mut interrupted = signal(SignalKind::interrupt()).context("cannot watch for interrupts")?;
    let reached = context.reach(&arguments.without).await?;
    let sandbox = match reached.client.create(&wanted(&arguments)).await {
        Ok(sandbox) => sandbox,
        Err(error) => {
            reached.close().await?;
            return Err(error.into());
        }
    };
    let one_shot = OneShot { context, arguments: &arguments, given: &given, sandbox: &sandbox };
    let outcome = tokio::select! {
        outcome = one_shot.run() => outcome,
        _ = interrupted.recv() => Ok(Exit::Interrupted),
    };
    // One that has ended by itself is as good.
    if let Ok(Err(error)) = tokio::time::timeout(RUN_FAREWELL, sandbox.kill()).await {
        context.printer.warning(&format!("sandbox `{}` was left to its deadline: {error}", sandbox.id()));
    }
    if let Err(error) = reached.close().await {
        show(&error, context.printer);
    }
    outcome
}

fn wanted(arguments: &RunArguments) -> NewSandbox {
    NewSandbox {
        template: arguments.template.clone(),
        timeout: (arguments.timeout + RUN_AROUND).as_secs(),
        metadata: [("made-by".to_owned(), "hood run".to_owned())].into(),
        internet: false,
        hood: Hood {
            memory_mib: Some(arguments.memory.mib),
            cpus: Some(arguments.cpus),
            disk_mib: None,
            read_only_root: true,
        },
        ..NewSandbox::default()
    }
}

/// One program in its sandbox.
struct OneShot<'a> {
    context: &'a Context,
    arguments: &'a RunArguments,
    given: &'a Given,
    sandbox: &'a Sandbox,
}

impl OneShot<'_> {
    async fn run(&self) -> Result<Exit> {
        let workspace = self.given.upload(self.sandbox).await?;
        let harvest = Harvest::begin(self.sandbox, &workspace).await?;
        let mut captured = Captured::default();
        let begun = Instant::now();
        let reason = self.program(&workspace, &mut captured).await?;
        let duration = begun.elapsed();
        let files = match reason {
            // There is nothing left to fetch from.
            Reason::OutOfMemory { sandbox_ended: true } => Vec::new(),
            _ => harvest.fetch(self.context.printer, &self.arguments.out).await?,
        };
        if self.context.json {
            self.context.printer.json(&Report::new(reason, captured, &files, duration))?;
        } else {
            for file in &files {
                self.context.printer.note(&format!("saved {}", escape(&file.path)));
            }
        }
        self.explain(reason);
        Ok(reason.exit())
    }

    async fn program(&self, workspace: &str, captured: &mut Captured) -> Result<Reason> {
        let command = self.command(workspace);
        let mut process = self.sandbox.start(&command).await?;
        let feeding = self.arguments.interactive.then(|| relay::feed(process.input())).transpose()?;
        let printer = self.context.printer;
        let json = self.context.json;
        let end = relay::follow(&mut process, &mut |event| match event {
            Event::Stdout(bytes) if json => {
                captured.stdout.push(&bytes);
                Ok(())
            }
            Event::Stderr(bytes) if json => {
                captured.stderr.push(&bytes);
                Ok(())
            }
            other => relay::pass_on(printer, &other),
        })
        .await;
        drop(feeding);
        match end {
            Ok(end) => Ok(Reason::of(&end)),
            Err(error) if is_late(&error) => Ok(Reason::TimedOut),
            Err(error) if is_out_of_memory(&error) => Ok(Reason::OutOfMemory { sandbox_ended: true }),
            Err(error) => Err(error),
        }
    }

    fn command(&self, workspace: &str) -> Command {
        let mut args = vec![format!("{workspace}/{}", self.given.program.name)];
        args.extend(self.arguments.arguments.iter().cloned());
        Command {
            program: self.given.interpreter().to_owned(),
            args,
            // Output that waits in a buffer looks like a program that hangs.
            envs: [("PYTHONUNBUFFERED".to_owned(), "1".to_owned())].into(),
            cwd: Some(workspace.to_owned()),
            user: None,
            stdio: if self.arguments.interactive { Stdio::Piped } else { Stdio::Output },
            limit: Some(self.arguments.timeout),
        }
    }

    fn explain(&self, reason: Reason) {
        let printer = self.context.printer;
        match reason {
            Reason::Exited { .. } | Reason::Signal { .. } => {}
            Reason::TimedOut => {
                let limit = self.arguments.timeout.as_secs();
                printer.error(&format!(
                    "the program ran longer than {limit} s and was killed with all it had started"
                ));
                printer.hint("give it more with `--timeout`, as in `--timeout 5m`");
            }
            Reason::OutOfMemory { .. } => {
                let limit = self.arguments.memory.mib;
                printer.error(&format!("the program ran out of memory (limit {limit} MiB) and was killed"));
                printer.hint("give it more with `--memory`, as in `--memory 2G`");
            }
        }
    }
}

/// Whether the whole sandbox ended for want of memory, as its server tells it.
fn is_out_of_memory(error: &anyhow::Error) -> bool {
    let oom = hood_engine::Why::Oom.to_string();
    matches!(error.downcast_ref(), Some(ClientError::Gone { why: Some(why), .. }) if *why == oom)
}
