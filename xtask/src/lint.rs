//! The rules of the repository, each a check that can fail.

mod arrows; // which crate may know which
mod deny; // licences and sources
mod named; // tests that a page names
mod sizes; // files that grew too long
mod unsafety; // where unsafe may be
mod words; // what no file may say

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::counts::Counts;
use crate::process::{cargo, follow};

/// A first clippy compiles everything.
const LIMIT: Duration = Duration::from_secs(25 * 60);

/// What a check came to.
pub(crate) enum Outcome {
    Holds,
    /// What is wrong, one line each.
    Broken(Vec<String>),
    /// Could not be looked at, and why.
    Skipped(String),
}

impl From<Vec<String>> for Outcome {
    fn from(wrong: Vec<String>) -> Self {
        if wrong.is_empty() { Self::Holds } else { Self::Broken(wrong) }
    }
}

type Check = (&'static str, fn() -> Result<Outcome>);

const CHECKS: [Check; 8] = [
    ("formatting", formatting),
    ("arrows between crates", arrows::check),
    ("file sizes", sizes::check),
    ("unsafe only in sys", unsafety::check),
    ("no host names and machine paths", words::check),
    ("licences and sources", deny::check),
    ("tests that SECURITY.md names", named::check),
    ("clippy", clippy),
];

pub(crate) fn run() -> Result<ExitCode> {
    let counts = counts()?;
    println!("{counts}");
    Ok(if counts.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Every check, with its counts.
pub(crate) fn counts() -> Result<Counts> {
    let mut counts = Counts::default();
    for (name, check) in CHECKS {
        let began = Instant::now();
        let outcome = check()?;
        let took = began.elapsed().as_secs_f64();
        match outcome {
            Outcome::Holds => {
                println!("ok       {name} ({took:.1} s)");
                counts.passed += 1;
            }
            Outcome::Skipped(why) => {
                println!("skipped  {name}: {why}");
                counts.skipped += 1;
            }
            Outcome::Broken(wrong) => {
                println!("broken   {name} ({took:.1} s)");
                for line in wrong {
                    println!("         {line}");
                }
                counts.failed += 1;
            }
        }
    }
    Ok(counts)
}

fn formatting() -> Result<Outcome> {
    let (status, said) = follow(cargo(LIMIT).args(["fmt", "--all", "--check", "--", "--files-with-diff"]))?;
    let wrong = said.lines().map(|file| format!("{file}: run `cargo fmt`")).collect::<Vec<_>>();
    Ok(if status.success() { Outcome::Holds } else { Outcome::Broken(wrong) })
}

fn clippy() -> Result<Outcome> {
    let mut command = cargo(LIMIT);
    command.args(["clippy", "--quiet", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"]);
    let (status, _) = follow(&mut command)?;
    let wrong = || vec!["run `cargo clippy --workspace --all-targets`".to_owned()];
    Ok(if status.success() { Outcome::Holds } else { Outcome::Broken(wrong()) })
}
