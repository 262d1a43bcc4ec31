//! Licences, sources and advisories of dependencies: `deny.toml`, checked where cargo-deny is installed.

use std::time::Duration;

use anyhow::Result;

use super::Outcome;
use crate::process::{cargo, follow, is_there};

const LIMIT: Duration = Duration::from_secs(300);

pub(super) fn check() -> Result<Outcome> {
    if !is_there("cargo-deny") {
        return Ok(Outcome::Skipped("cargo-deny is not installed".to_owned()));
    }
    // Advisories need a database from the network; what is checked here must not change by itself.
    let mut command = cargo(LIMIT);
    command.args(["deny", "--locked", "--log-level", "error", "check", "bans", "licenses", "sources"]);
    let (status, _) = follow(&mut command)?;
    let wrong = || vec!["`cargo deny check` says more".to_owned()];
    Ok(if status.success() { Outcome::Holds } else { Outcome::Broken(wrong()) })
}
