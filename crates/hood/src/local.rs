//! The data directory as the command line sees it: where the server is, and with which key.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

/// One server's directory.
#[derive(Debug, Clone)]
pub(crate) struct DataDir {
    path: PathBuf,
}

/// What a running server writes down for the commands of the same machine.
#[derive(Debug, Serialize, Deserialize)]
struct Running {
    url: String,
    pid: u32,
}

/// Held by the server that owns the directory; released when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "the lock lives as long as the file is open")] fs::File);

impl DataDir {
    pub(crate) fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the directory, readable by root alone: it holds keys and other people's files.
    pub(crate) fn create(&self) -> Result<()> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.path)
            .with_context(|| format!("cannot make the data directory {}", self.path.display()))
    }

    /// Where the key for local use lies, mode 0600.
    pub(crate) fn key_file(&self) -> PathBuf {
        self.path.join("api-key")
    }

    /// The key for local use.
    pub(crate) fn read_key(&self) -> Result<String> {
        let path = self.key_file();
        let key = fs::read_to_string(&path).with_context(|| {
            format!("cannot read the API key in {}; `hood serve` makes it at its first start", path.display())
        })?;
        Ok(key.trim().to_owned())
    }

    /// Writes the key for local use.
    pub(crate) fn write_key(&self, key: &str) -> io::Result<()> {
        write_private(&self.key_file(), format!("{key}\n").as_bytes())
    }

    /// The URL of the server that runs on this directory, or `None` when none does.
    pub(crate) fn server_url(&self) -> Option<String> {
        if self.lock().is_ok() {
            // Nobody holds the lock, so what the file says is of an earlier run.
            return None;
        }
        let text = fs::read(self.path.join("server.json")).ok()?;
        serde_json::from_slice::<Running>(&text).ok().map(|running| running.url)
    }

    /// Notes where the server listens.
    pub(crate) fn write_server(&self, url: &str) -> Result<()> {
        let running = Running { url: url.to_owned(), pid: std::process::id() };
        let text = serde_json::to_vec(&running)?;
        write_private(&self.path.join("server.json"), &text).context("cannot note where the server listens")
    }

    /// Takes the directory for one server.
    pub(crate) fn lock(&self) -> Result<Lock> {
        let path = self.path.join("lock");
        let file = fs::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path)
            .with_context(|| format!("cannot open {}", path.display()))?;
        if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            bail!("another server runs on {}; give each its own with `--data-dir`", self.path.display());
        }
        Ok(Lock(file))
    }
}

/// Replaces a file whole: a reader sees the old or the new, never half.
fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("tmp");
    let mut file =
        fs::OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&temporary, path)
}
