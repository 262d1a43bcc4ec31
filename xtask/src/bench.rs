//! Measurements against a release build.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;

use crate::process::{bounded, run};
use crate::server::Server;
use crate::setup::Venv;
use crate::{repo, setup, templates, test};

/// Twenty sandboxes and six hundred requests take a minute or two.
const FIRST: Duration = Duration::from_secs(20 * 60);

/// Rivals that take seconds for one start, a hundred times.
const ALL: Duration = Duration::from_secs(3 * 3600);

/// More than the bench holds at once.
const SANDBOXES: &str = "1200";

/// The first measurement; `bench/first.py` says what each number includes.
pub(crate) fn first(arguments: &[&str]) -> Result<ExitCode> {
    let hood = program(&test::Options::parse(arguments)?)?;
    let server = Server::start(&hood, &log())?;
    let mut script = bounded(FIRST, "python3");
    script.arg(repo::root().join("bench/first.py")).envs(server.env());
    script.env("HOOD_PID", server.pid().to_string()).env("HOOD_DATA_DIR", &server.data_dir);
    run(&mut script)?;
    Ok(ExitCode::SUCCESS)
}

/// Everything, beside the rivals that can be had; `bench/run.py` says what each number includes. What it does not know,
/// that script is told.
pub(crate) fn all(arguments: &[&str]) -> Result<ExitCode> {
    let (ours, scripts) = match arguments {
        ["--hood", path, rest @ ..] => (vec!["--hood", *path], rest),
        rest => (Vec::new(), rest),
    };
    let hood = program(&test::Options::parse(&ours)?)?;
    setup::rivals()?;
    let server = Server::start_with(&hood, &log(), &["--max-sandboxes", SANDBOXES])?;
    let mut script = bounded(ALL, Venv::BENCH.program("python"));
    script.arg("-B").arg(repo::root().join("bench/run.py")).args(scripts).envs(server.env());
    script.env("HOOD_PID", server.pid().to_string());
    run(&mut script)?;
    Ok(ExitCode::SUCCESS)
}

fn program(options: &test::Options) -> Result<PathBuf> {
    let hood = options.hood(|| {
        setup::run()?;
        test::build(test::Profile::Release)
    })?;
    templates::build(&hood)?;
    Ok(hood)
}

fn log() -> PathBuf {
    repo::target().join("bench/server.log")
}
