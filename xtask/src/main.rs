//! `cargo xtask`: the repository's tasks, and the only scripts it has.
#![forbid(unsafe_code)]

mod bench; // measurements against a running server
mod counts; // what the runners said
mod demo; // the whole thing, shown
mod fuzz; // noise for what reads hostile input
mod lint; // the rules of the repository
mod process; // children that end with us
mod repo; // where things are
mod server; // one `hood serve`
mod setup; // what a fresh machine lacks
mod templates; // built once, kept
mod test; // everything, one line at the end
mod timing; // how long each part took

use std::process::ExitCode;

use anyhow::{Result, bail};

const USAGE: &str = "\
usage: cargo xtask TASK

  demo                 set up, build, start a server, and let two users do their work; results in demo-out/
  test [OPTIONS]       set up, then lint, unit tests and every end-to-end suite
    --only NAME        only this part; may be given several times (see --list)
    --hood PATH        test this program instead of building one
    --list             name the parts
  lint                 formatting, clippy and the repository's own rules
  fuzz [OPTIONS]       feed the parsers of hostile input with noise; fails when one crashes
    --time SECONDS     how long each target runs (60)
    --target NAME      only this target; may be given several times
    --regress          only the committed corpora: a matter of seconds
  setup                install what demo and test need; skips what is there
  bench [OPTIONS]      everything beside its rivals, into bench/RESULTS.md; an hour
    --hood PATH        measure this program instead of building one; comes first
    --only PART        only rows whose title holds this; and what else bench/run.py takes
  bench first          the first measurement, as a table";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<ExitCode> {
    match arguments {
        ["demo"] => demo::run(),
        ["test", rest @ ..] => test::run(rest),
        ["lint"] => lint::run(),
        ["fuzz", rest @ ..] => fuzz::run(rest),
        ["setup"] => setup::run().map(|()| ExitCode::SUCCESS),
        ["bench", "first", rest @ ..] => bench::first(rest),
        ["bench", rest @ ..] => bench::all(rest),
        [] | ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        _ => bail!("no such task: {}\n{USAGE}", arguments.join(" ")),
    }
}
