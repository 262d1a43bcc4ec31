//! The templates, built once and kept between runs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

use crate::process::{bounded, run};

/// A build on a slow line takes a quarter of an hour.
const BUILD: Duration = Duration::from_secs(45 * 60);

/// Where they are kept, so that a second run is quick: `HOOD_TEST_DATA`, or a folder that survives a reboot.
pub(crate) fn kept() -> PathBuf {
    std::env::var_os("HOOD_TEST_DATA").map_or_else(|| PathBuf::from("/var/tmp/hood-test-data"), PathBuf::from)
}

/// Builds what is missing; layers that are there already are not made again.
pub(crate) fn build(hood: &Path) -> Result<()> {
    println!("in {} (HOOD_TEST_DATA chooses another place)", kept().display());
    run(bounded(BUILD, hood).args(["template", "build", "all", "--data-dir"]).arg(kept()))
}
