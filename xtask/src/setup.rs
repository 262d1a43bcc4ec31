//! What a fresh Debian 12 machine lacks for `demo` and `test`. Says what it installs and why; skips what is there.

mod apt;
mod node;
mod python;

use std::os::unix::fs::MetadataExt;

use anyhow::{Context, Result, ensure};

pub(crate) use node::{path as node_path, sdk_js};
pub(crate) use python::Venv;

/// What the bench needs beside it.
pub(crate) fn rivals() -> Result<()> {
    apt::install_rivals()?;
    Venv::BENCH.make()
}

/// All of it.
pub(crate) fn run() -> Result<()> {
    let owner = std::fs::metadata("/proc/self").context("cannot tell whose process this is")?.uid();
    ensure!(owner == 0, "must be run as root: it installs packages, and sandboxes are built by root");
    apt::install()?;
    for venv in Venv::ALL {
        venv.make()?;
    }
    node::install()
}
