//! `cargo xtask test`: everything, with one line at the end.

mod suites; // what each part runs

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::counts::Counts;
use crate::process::{cargo, run as run_shown};
use crate::server::Server;
use crate::timing::Timing;
use crate::{lint, repo, setup, templates};
use suites::{BESIDE_A_SERVER, Place, Suite};

/// A first build on two cores.
const BUILD: Duration = Duration::from_secs(25 * 60);

/// How `hood` is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// What the unit tests have compiled already.
    Dev,
    /// What users get.
    Release,
}

/// What `test` can be told.
#[derive(Debug, Default)]
pub(crate) struct Options {
    only: Vec<String>,
    hood: Option<PathBuf>,
    list: bool,
}

impl Options {
    /// Reads them.
    pub(crate) fn parse(arguments: &[&str]) -> Result<Self> {
        let mut options = Self::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match *word {
                "--only" => options.only.push((*words.next().context("--only needs a name")?).to_owned()),
                "--hood" => {
                    let path = words.next().context("--hood needs a path")?;
                    options.hood = Some(std::path::absolute(path)?);
                }
                "--list" => options.list = true,
                _ => bail!("no such option: {word}"),
            }
        }
        if let Some(unknown) = options.only.iter().find(|name| !names().any(|known| known == name.as_str())) {
            bail!("no such part: {unknown}; there are: {}", names().collect::<Vec<_>>().join(", "));
        }
        Ok(options)
    }

    /// The program to use: the given one, or what `build` makes.
    pub(crate) fn hood(&self, build: impl FnOnce() -> Result<PathBuf>) -> Result<PathBuf> {
        self.hood.clone().map_or_else(build, Ok)
    }

    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }
}

/// Compiles `hood`, and says where it lies.
pub(crate) fn build(profile: Profile) -> Result<PathBuf> {
    let mut command = cargo(BUILD);
    command.args(["build", "--locked", "--package", "hood"]);
    if profile == Profile::Release {
        command.arg("--release");
    }
    run_shown(&mut command)?;
    let folder = if profile == Profile::Release { "release" } else { "debug" };
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(repo::target, PathBuf::from);
    Ok(target.join(folder).join("hood"))
}

pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode> {
    let options = Options::parse(arguments)?;
    if options.list {
        names().for_each(|name| println!("{name}"));
        return Ok(ExitCode::SUCCESS);
    }
    let (mut timing, mut all) = (Timing::default(), Counts::default());
    let outcome = parts(&options, &mut timing, &mut all);
    timing.print();
    if let Err(error) = outcome {
        eprintln!("error: {error:#}");
        // What could not be run has not passed.
        all.failed += 1;
    }
    println!("{all}");
    Ok(if all.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn names() -> impl Iterator<Item = &'static str> {
    std::iter::once("lint").chain(suites::ALL.iter().map(|suite| suite.name))
}

/// Stops at what everything after it needs; a suite that fails stops nothing.
fn parts(options: &Options, timing: &mut Timing, all: &mut Counts) -> Result<()> {
    timing.step("setup", setup::run)?;
    if options.wants("lint") {
        *all += timing.part("lint", lint::counts, Counts::to_string)?;
    }
    let wanted = |place: Place| {
        suites::ALL.iter().filter(move |suite| suite.place == place && options.wants(suite.name))
    };
    for suite in wanted(Place::Alone) {
        *all += timed(timing, suite, &Surroundings::default())?;
    }
    if BESIDE_A_SERVER.iter().all(|place| wanted(*place).next().is_none()) {
        return Ok(());
    }
    let hood = timing.step("build hood", || options.hood(|| build(Profile::Dev)))?;
    timing.step("templates", || templates::build(&hood))?;
    if wanted(Place::Server).next().is_some() {
        let log = repo::target().join("test-logs/server.log");
        let server = timing.step("start the server", || Server::start(&hood, &log))?;
        let around = Surroundings { hood: Some(&hood), server: Some(&server) };
        for suite in wanted(Place::Server) {
            *all += timed(timing, suite, &around)?;
        }
        timing.step("stop the server", || {
            drop(server);
            Ok(())
        })?;
    }
    for suite in wanted(Place::OwnServers) {
        *all += timed(timing, suite, &Surroundings { hood: Some(&hood), server: None })?;
    }
    Ok(())
}

/// What a suite finds when it starts.
#[derive(Debug, Default)]
struct Surroundings<'a> {
    hood: Option<&'a Path>,
    server: Option<&'a Server>,
}

fn timed(timing: &mut Timing, suite: &Suite, around: &Surroundings<'_>) -> Result<Counts> {
    timing.part(suite.name, || suite.run(around), Counts::to_string)
}
