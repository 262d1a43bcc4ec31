//! The suites: what runs each, where, for how long, and who counts.

use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use super::Surroundings;
use crate::counts::{Counts, Runner};
use crate::process::{bounded, cargo, follow, is_there};
use crate::setup::{Venv, node_path, sdk_js};
use crate::{repo, templates};

/// What a suite needs around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Nothing.
    Alone,
    /// The one server, in the environment as `hood env` prints it.
    Server,
    /// The program: it starts servers as it likes.
    OwnServers,
}

/// Places for which `hood` and the templates must be built.
pub(super) const BESIDE_A_SERVER: [Place; 2] = [Place::Server, Place::OwnServers];

/// One runner of tests.
#[derive(Debug, Clone, Copy)]
pub(super) struct Suite {
    pub(super) name: &'static str,
    pub(super) place: Place,
    limit: Duration,
    command: fn(Duration) -> (Command, Runner),
}

const fn minutes(n: u64) -> Duration {
    Duration::from_secs(n * 60)
}

/// All of them, in the order in which they run: cheap ones first.
pub(super) const ALL: [Suite; 10] = [
    Suite { name: "unit", place: Place::Alone, limit: minutes(20), command: unit },
    Suite { name: "mutate", place: Place::Alone, limit: minutes(10), command: mutate },
    Suite { name: "kernels", place: Place::Alone, limit: minutes(10), command: kernels },
    Suite { name: "sdk-python", place: Place::Server, limit: minutes(15), command: sdk_python },
    Suite { name: "sdk-js", place: Place::Server, limit: minutes(8), command: sdk_javascript },
    Suite { name: "agent", place: Place::Server, limit: minutes(12), command: agent },
    Suite { name: "limits", place: Place::Server, limit: minutes(10), command: limits },
    Suite { name: "hostile", place: Place::Server, limit: minutes(45), command: hostile },
    Suite { name: "gate", place: Place::OwnServers, limit: minutes(8), command: gate },
    Suite { name: "faults", place: Place::OwnServers, limit: minutes(12), command: faults },
];

impl Suite {
    /// Runs it to its end. A runner that breaks off counts as one more failure.
    pub(super) fn run(&self, around: &Surroundings<'_>) -> Result<Counts> {
        let (mut command, runner) = (self.command)(self.limit);
        if let Some(hood) = around.hood {
            command.env("HOOD_BIN", hood).env("HOOD_TEMPLATES", templates::kept());
        }
        if let Some(server) = around.server {
            command.envs(server.env()).env("HOOD_DATA_DIR", &server.data_dir);
        }
        let (status, said) = follow(&mut command)?;
        let mut counts = runner.counts(&said).unwrap_or_default();
        if runner.counts(&said).is_none() || (!status.success() && counts.failed == 0) {
            println!("the runner of `{}` broke: {status}", self.name);
            counts.failed += 1;
        }
        Ok(counts)
    }
}

fn unit(limit: Duration) -> (Command, Runner) {
    let mut command = cargo(limit);
    if is_there("cargo-nextest") {
        command.args([
            "nextest",
            "run",
            "--locked",
            "--workspace",
            "--no-fail-fast",
            "--status-level",
            "slow",
        ]);
        return (command, Runner::Nextest);
    }
    command.args(["test", "--quiet", "--locked", "--workspace", "--all-targets", "--no-fail-fast"]);
    (command, Runner::CargoTest)
}

/// What reads bytes from sandboxes on their way out: the seeds of its fuzz targets with noise in them, a minute each.
fn mutate(limit: Duration) -> (Command, Runner) {
    let mut command = cargo(limit);
    let packages = ["--locked", "-p", "hood-gate", "-p", "hood-policy"];
    if is_there("cargo-nextest") {
        command
            .args(["nextest", "run", "--no-fail-fast", "--status-level", "slow"])
            .args(packages)
            .arg("noise_in_them");
        command.env("HOOD_MUTATE_SECONDS", "60");
        return (command, Runner::Nextest);
    }
    command.args(["test", "--quiet", "--no-fail-fast"]).args(packages).arg("noise_in_them");
    command.env("HOOD_MUTATE_SECONDS", "60");
    (command, Runner::CargoTest)
}

fn kernels(limit: Duration) -> (Command, Runner) {
    let mut command = bounded(limit, Venv::KERNELS.program("python"));
    command.args(["-B", "-m", "unittest", "discover", "--start-directory", "kernels/tests"]);
    command.current_dir(repo::root());
    (command, Runner::Unittest)
}

fn sdk_python(limit: Duration) -> (Command, Runner) {
    let mut command = pytest(limit, "sdk-python");
    command.args(["-n", "2"]);
    (command, Runner::Pytest)
}

fn sdk_javascript(limit: Duration) -> (Command, Runner) {
    let mut command = bounded(limit, "npm");
    command.current_dir(sdk_js()).env("PATH", node_path()).args(["test", "--silent"]);
    (command, Runner::NodeTest)
}

fn agent(limit: Duration) -> (Command, Runner) {
    let mut command = bounded(limit, Venv::AGENT.program("python"));
    command.arg("-B").arg(repo::root().join("tests/agent/run_agent_tests.py"));
    (command, Runner::Plain)
}

fn limits(limit: Duration) -> (Command, Runner) {
    (pytest(limit, "limits"), Runner::Pytest)
}

/// Without the programs that load the whole machine for long: with them it takes half an hour by itself.
/// `HOOD_FULL=1` runs every one.
fn hostile(limit: Duration) -> (Command, Runner) {
    let mut command = pytest(limit, "hostile");
    if std::env::var_os("HOOD_FULL").is_none() {
        command.args(["-m", "not slow"]);
    }
    (command, Runner::Pytest)
}

fn gate(limit: Duration) -> (Command, Runner) {
    (pytest(limit, "gate"), Runner::Pytest)
}

fn faults(limit: Duration) -> (Command, Runner) {
    (pytest(limit, "faults"), Runner::Pytest)
}

fn pytest(limit: Duration, folder: &str) -> Command {
    let mut command = bounded(limit, Venv::SDK.program("python"));
    command.args(["-B", "-m", "pytest", "-q"]).current_dir(repo::root().join("tests").join(folder));
    command
}
