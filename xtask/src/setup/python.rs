//! Python packages, each set in a virtual environment of its own under `target/`.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::process::{bounded, run};
use crate::repo;

/// A slow index is waited for.
const LIMIT: Duration = Duration::from_secs(20 * 60);

/// Notes which requirements are installed.
const STAMP: &str = "hood-requirements";

/// One virtual environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Venv {
    folder: &'static str,
    requirements: &'static str,
    what: &'static str,
}

impl Venv {
    /// The official packages of E2B, and what runs tests.
    pub(crate) const SDK: Self = Self {
        folder: "venv-sdk",
        requirements: "tests/sdk-python/requirements.txt",
        what: "the official E2B packages and pytest",
    };

    /// What the kernels' own tests import.
    pub(crate) const KERNELS: Self = Self {
        folder: "venv-kernels",
        requirements: "kernels/tests/requirements.txt",
        what: "IPython and the libraries that the kernels know",
    };

    /// What the agent's tests hold the model server against.
    pub(crate) const AGENT: Self = Self {
        folder: "venv-agent",
        requirements: "tests/agent/requirements.txt",
        what: "the official packages of OpenAI and Anthropic",
    };

    /// Rivals of the bench.
    pub(crate) const BENCH: Self = Self {
        folder: "venv-bench",
        requirements: "bench/requirements.txt",
        what: "what the bench measures us against",
    };

    /// Every one that tests need.
    pub(crate) const ALL: [Self; 3] = [Self::SDK, Self::KERNELS, Self::AGENT];

    /// Where a program of it lies.
    pub(crate) fn program(self, name: &str) -> PathBuf {
        self.path().join("bin").join(name)
    }

    fn path(self) -> PathBuf {
        repo::target().join(self.folder)
    }

    /// Makes it, unless the one that is there was made from the same requirements.
    pub(super) fn make(self) -> Result<()> {
        let requirements = repo::root().join(self.requirements);
        let wanted = fs::read_to_string(&requirements)
            .with_context(|| format!("cannot read {}", self.requirements))?;
        let stamp = self.path().join(STAMP);
        if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
            println!("Python packages of {}: there", self.requirements);
            return Ok(());
        }
        println!("Python packages of {} into target/{}: {}", self.requirements, self.folder, self.what);
        run(bounded(LIMIT, "python3").args(["-m", "venv", "--clear"]).arg(self.path()))?;
        let mut pip = bounded(LIMIT, self.program("pip"));
        pip.args(["install", "--quiet", "--disable-pip-version-check", "--requirement"]).arg(&requirements);
        run(&mut pip)?;
        fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))
    }
}
