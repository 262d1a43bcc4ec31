//! `hood ask`: a question and files in, a report out.

mod bench; // the agent's port to a sandbox
mod display;

use std::path::Path;

use anyhow::{Context as _, Result};
use hood_agent::{Asked, Config, Event, Model, Out, Question, Report, UPLOAD_BYTES, Upload};
use hood_client::{Hood, NewSandbox};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use super::Context;
use crate::cli::AskArguments;
use crate::exit::{Exit, Hinted, show};
use crate::terminal::escape_lines;
use bench::Bench;
use display::Display;

/// Everything that can be wrong is found before a sandbox is made or a model is asked.
pub(crate) async fn run(context: &Context, arguments: AskArguments) -> Result<Exit> {
    let asked = Asked {
        provider: arguments.provider,
        base_url: arguments.base_url.clone(),
        model: arguments.model.clone(),
    };
    let model = Config::choose(&asked, &|name| std::env::var(name).ok())?.model()?;
    let files = arguments.files.iter().map(|path| read(path)).collect::<Result<Vec<_>>>()?;
    let question = Question { rounds: arguments.rounds, ..Question::new(arguments.question.clone(), files) };
    let out = Out::create(&arguments.out).await?;
    let mut interrupted = signal(SignalKind::interrupt()).context("cannot watch for interrupts")?;

    let reached = context.reach(&arguments.without).await?;
    let outcome = match reached.client.create(&wanted(&arguments)).await {
        Err(error) => Err(error.into()),
        Ok(sandbox) => {
            let bench = Bench::new(sandbox.clone(), arguments.timeout);
            tokio::select! {
                outcome = answer(context, &question, &*model, &bench, &out) => outcome,
                _ = interrupted.recv() => {
                    drop(sandbox.kill().await);
                    Ok(Exit::Interrupted)
                }
            }
        }
    };
    if let Err(error) = reached.close().await {
        show(&error, context.printer);
    }
    outcome
}

async fn answer(
    context: &Context,
    question: &Question,
    model: &dyn Model,
    bench: &Bench,
    out: &Out,
) -> Result<Exit> {
    let mut display = Display::new(context.printer);
    let report =
        hood_agent::ask(question, model, bench, out, &mut |event: Event| display.show(event)).await?;
    display.end(&report, out.dir());
    print(context, &report, out.dir())?;
    match (report.outcome.error(), report.outcome.hint()) {
        (Some(error), hint) => Err(Hinted::new(error, hint.unwrap_or_default()).into()),
        (None, Some(hint)) => {
            context.printer.hint(&hint);
            Ok(Exit::Done)
        }
        (None, None) => Ok(Exit::Done),
    }
}

fn print(context: &Context, report: &Report, out: &Path) -> Result<()> {
    if context.json {
        return context.printer.json(&json!({
            "outcome": report.outcome,
            "answer": report.answer,
            "out": out.display().to_string(),
            "charts": report.charts,
            "files": report.files,
            "skipped": report.skipped,
            "rounds": report.rounds,
            "usage": report.usage,
            "duration_ms": report.duration.as_millis() as u64,
        }));
    }
    match &report.answer {
        Some(answer) if context.printer.is_terminal() => {
            context.printer.line(&escape_lines(answer.trim_end()))
        }
        Some(answer) => context.printer.line(answer.trim_end()),
        None => Ok(()),
    }
}

fn wanted(arguments: &AskArguments) -> NewSandbox {
    NewSandbox {
        template: arguments.template.clone(),
        timeout: bench::LIFE.as_secs(),
        metadata: [("made-by".to_owned(), "hood ask".to_owned())].into(),
        internet: false,
        hood: Hood {
            memory_mib: arguments.memory.map(|memory| memory.mib),
            cpus: arguments.cpus,
            ..Hood::default()
        },
        ..NewSandbox::default()
    }
}

fn read(path: &Path) -> Result<Upload> {
    let shown = path.display();
    let found = std::fs::metadata(path).with_context(|| format!("cannot read `{shown}`"));
    let found =
        found.map_err(|error| Hinted::new(format!("{error:#}"), "look at the name given with `--file`"))?;
    if !found.is_file() {
        let message = format!("`{shown}` is not a regular file");
        return Err(Hinted::new(message, "give each file of a folder by itself").into());
    }
    if found.len() > UPLOAD_BYTES {
        let message = format!("`{shown}` is larger than {} MiB", UPLOAD_BYTES >> 20);
        return Err(Hinted::new(message, "give a part of it").into());
    }
    let bytes = std::fs::read(path).with_context(|| format!("cannot read `{shown}`"))?;
    Ok(Upload { name: path.to_string_lossy().into_owned(), bytes: bytes.into() })
}
