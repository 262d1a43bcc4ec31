//! `cargo xtask fuzz`: the targets of `fuzz/`, each for a while; or over its seeds alone.

use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::process::{bounded, cargo, is_there, run as run_shown};
use crate::repo;

/// Where cargo-fuzz puts what it builds.
const TRIPLE: &str = "x86_64-unknown-linux-gnu";

/// The tool, in a version that takes our options.
const TOOL: &str = "cargo-fuzz@^0.13";

/// A first build, instrumented, on two cores.
const BUILD: Duration = Duration::from_secs(40 * 60);

/// How long each target runs when nothing is said.
const DEFAULT_SECONDS: u64 = 60;

/// What a run may take beyond its time: loading the corpus, and one last slow input.
const OVERTIME: Duration = Duration::from_secs(120);

/// Memory of a target, and the longest that one input may take.
const MEMORY_MIB: u32 = 1024;
const INPUT_SECONDS: u32 = 10;

/// What `fuzz` can be told.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    seconds: u64,
    targets: Vec<String>,
    /// Only what is committed, without looking for more.
    regress: bool,
}

/// What came of one target.
struct Outcome {
    runs: u64,
    per_second: u64,
    new: u64,
    /// Its last words, when it crashed.
    crash: Option<String>,
}

pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode> {
    let options = Options::parse(arguments)?;
    let known = targets()?;
    if let Some(unknown) = options.targets.iter().find(|name| !known.contains(name)) {
        bail!("no such target: {unknown}; there are: {}", known.join(", "));
    }
    let chosen = if options.targets.is_empty() { &known } else { &options.targets };
    build(&options.targets)?;
    let (mut table, mut crashed) = (vec![row("target", "runs", "runs/s", "new", "crashes")], 0);
    for target in chosen {
        eprintln!("fuzzing {target}");
        let outcome = try_out(target, &options)?;
        let [runs, per_second, new] = [outcome.runs, outcome.per_second, outcome.new].map(|n| n.to_string());
        table.push(row(target, &runs, &per_second, &new, if outcome.crash.is_some() { "1" } else { "0" }));
        if let Some(said) = outcome.crash {
            crashed += 1;
            println!("{said}\n{target} crashed; the input is in fuzz/artifacts/{target}/");
            println!("once mended, keep it: fuzz/corpus/{target}/NAME, and `cargo xtask fuzz --regress`\n");
        }
    }
    println!("{}", table.join("\n"));
    Ok(if crashed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Options {
    fn parse(arguments: &[&str]) -> Result<Self> {
        let mut options = Self { seconds: DEFAULT_SECONDS, targets: Vec::new(), regress: false };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match *word {
                "--time" => {
                    let seconds = words.next().context("--time needs a number of seconds")?;
                    options.seconds =
                        seconds.parse().with_context(|| format!("`{seconds}` is no number of seconds"))?;
                    ensure!(options.seconds > 0, "--time needs at least one second");
                }
                "--target" => {
                    options.targets.push((*words.next().context("--target needs a name")?).to_owned());
                }
                "--regress" => options.regress = true,
                _ => bail!("no such option: {word}"),
            }
        }
        Ok(options)
    }
}

fn folder() -> PathBuf {
    repo::root().join("fuzz")
}

/// One file a target.
fn targets() -> Result<Vec<String>> {
    let sources = folder().join("fuzz_targets");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&sources).with_context(|| format!("cannot list {}", sources.display()))? {
        let path = entry?.path();
        names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

/// Builds one target, or all. A stable compiler is told to be a nightly one, which the sanitizer asks for.
fn build(chosen: &[String]) -> Result<()> {
    if !is_there("cargo-fuzz") {
        eprintln!("installing {TOOL}");
        run_shown(cargo(BUILD).args(["install", "--locked", "--quiet", TOOL]))?;
    }
    let one = match chosen {
        [one] => Some(one),
        _ => None,
    };
    let mut command = cargo(BUILD);
    command.args(["fuzz", "build", "--fuzz-dir", "fuzz"]).args(one);
    command.env("RUSTC_BOOTSTRAP", "1").env("CARGO_TARGET_DIR", folder().join("target"));
    run_shown(&mut command)
}

fn try_out(target: &str, options: &Options) -> Result<Outcome> {
    let seeds = folder().join("corpus").join(target);
    // What is found goes where git does not look; only what is committed on purpose stays.
    let found = folder().join("target/corpus").join(target);
    let artifacts = folder().join("artifacts").join(target);
    for made in [&found, &artifacts] {
        std::fs::create_dir_all(made).with_context(|| format!("cannot make {}", made.display()))?;
    }
    let program = folder().join("target").join(TRIPLE).join("release").join(target);
    let mut command = bounded(Duration::from_secs(options.seconds) + OVERTIME, program);
    command.args(["-print_final_stats=1", &format!("-rss_limit_mb={MEMORY_MIB}")]);
    command.arg(format!("-timeout={INPUT_SECONDS}"));
    command.arg(format!("-artifact_prefix={}/", artifacts.display()));
    if options.regress {
        command.arg("-runs=0");
    } else {
        command.arg(format!("-max_total_time={}", options.seconds)).arg(found);
    }
    outcome(command.arg(seeds))
}

/// Both its outputs are kept back: thousands of lines, of interest only when it crashes.
fn outcome(command: &mut Command) -> Result<Outcome> {
    let output = command.output().context("cannot run a fuzz target")?;
    let said = String::from_utf8_lossy(&output.stderr);
    let crash = (!output.status.success()).then(|| format!("{}\n{}", last_words(&said), output.status));
    let statistic = |name| statistic(&said, name).unwrap_or_default();
    Ok(Outcome {
        runs: statistic("number_of_executed_units"),
        per_second: statistic("average_exec_per_sec"),
        new: statistic("new_units_added"),
        crash,
    })
}

/// One of libFuzzer's closing lines, `stat::name: value`.
fn statistic(said: &str, name: &str) -> Option<u64> {
    let line = said.lines().rev().find_map(|line| line.strip_prefix("stat::")?.strip_prefix(name))?;
    line.strip_prefix(':')?.trim().parse().ok()
}

/// From the panic or the sanitizer's report on, without libFuzzer's progress.
fn last_words(said: &str) -> String {
    const KEPT: usize = 60;
    let lines: Vec<_> = said.lines().filter(|line| !line.starts_with('#')).collect();
    let from = lines.iter().position(|line| line.contains("panicked at") || line.contains("ERROR:"));
    let lines = lines.get(from.unwrap_or_default()..).unwrap_or_default();
    lines.iter().take(KEPT).copied().collect::<Vec<_>>().join("\n")
}

fn row(target: &str, runs: &str, per_second: &str, new: &str, crashes: &str) -> String {
    format!("{target:<22}{runs:>12}{per_second:>10}{new:>8}{crashes:>9}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let options = Options::parse(&["--time", "5", "--target", "paths", "--regress"]).unwrap();
        assert_eq!(options, Options { seconds: 5, targets: vec!["paths".to_owned()], regress: true });
        for bad in [&["--time"][..], &["--time", "0"], &["--time", "soon"], &["paths"]] {
            assert!(Options::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_closing_lines_are_understood() {
        let said = "#9\tNEW cov: 1\nthread 'a' panicked at b:1\nwhy\nstat::new_units_added:          7\n";
        assert_eq!(statistic(said, "new_units_added"), Some(7));
        assert_eq!(statistic(said, "average_exec_per_sec"), None);
        assert!(last_words(said).starts_with("thread 'a' panicked"));
    }
}
