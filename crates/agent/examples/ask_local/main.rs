//! `hood ask` without a sandbox: the model's code runs as a plain child process, with no walls at all.
//!
//! For working on the agent and its tests on a machine without a server, against a conversation written
//! beforehand. Never use it with a real model.
//!
//! `cargo run -p hood-agent --example ask_local -- --file sales.csv "How much?" --out report/`
//! `HOOD_PYTHON` names the interpreter (default `python3`).
#![forbid(unsafe_code)]

mod local;

use std::{path::PathBuf, process::ExitCode};

use clap::Parser;
use hood_agent::{Asked, Config, Event, MAX_ROUNDS, Out, Provider, Question, ROUNDS, Upload, ask};
use local::LocalBench;

/// The same arguments as `hood ask`.
#[derive(Parser)]
struct Arguments {
    question: String,
    #[arg(long = "file")]
    files: Vec<PathBuf>,
    #[arg(long)]
    out: PathBuf,
    #[arg(long, default_value_t = ROUNDS, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_ROUNDS)))]
    rounds: u32,
    #[arg(long)]
    model: Option<String>,
    #[arg(long)]
    provider: Option<Provider>,
    #[arg(long)]
    base_url: Option<String>,
    #[arg(long)]
    json: bool,
}

/// What is printed: an error, and what to do about it.
struct Refusal(String, String);

macro_rules! refuse {
    () => {
        |error| Refusal(error.to_string(), error.hint())
    };
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(code) => code,
        Err(Refusal(error, hint)) => {
            eprintln!("error: {error}\nhint: {hint}");
            ExitCode::from(1)
        }
    }
}

async fn run(arguments: Arguments) -> Result<ExitCode, Refusal> {
    let asked =
        Asked { provider: arguments.provider, base_url: arguments.base_url, model: arguments.model.clone() };
    let config = Config::choose(&asked, &|name| std::env::var(name).ok()).map_err(refuse!())?;
    let model = config.model().map_err(refuse!())?;
    let mut files = Vec::new();
    for path in &arguments.files {
        let unreadable =
            |error| Refusal(format!("cannot read `{}`: {error}", path.display()), "look there".into());
        let bytes = std::fs::read(path).map_err(unreadable)?.into();
        files.push(Upload { name: path.to_string_lossy().into_owned(), bytes });
    }
    let out = Out::create(&arguments.out).await.map_err(refuse!())?;
    let bench = LocalBench::start().map_err(|error| Refusal(error.to_string(), "set HOOD_PYTHON".into()))?;
    let question = Question { rounds: arguments.rounds, ..Question::new(arguments.question, files) };
    let report = ask(&question, &*model, &bench, &out, &mut show).await.map_err(refuse!())?;
    if arguments.json {
        let summary = serde_json::json!({
            "outcome": report.outcome, "answer": report.answer, "charts": report.charts,
            "files": report.files, "rounds": report.rounds, "usage": report.usage,
        });
        println!("{summary}");
    }
    if let (Some(error), Some(hint)) = (report.outcome.error(), report.outcome.hint()) {
        return Err(Refusal(error, hint));
    }
    Ok(ExitCode::SUCCESS)
}

fn show(event: Event) {
    match event {
        Event::Said { .. } | Event::Thinking { .. } | Event::Answer { .. } => {}
        Event::ToolStart { description, .. } => eprintln!("run   {description:?}"),
        other => eprintln!("      {other:?}"),
    }
}
