//! One `hood serve` with a data directory of its own, over the templates that are kept.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::process::{leashed, read};
use crate::templates::kept;

/// What `hood serve` says when it accepts requests.
const READY: &str = "is ready at";

/// How long it may take to end in order.
const STOP: Duration = Duration::from_secs(60);

/// What lies in the kept folder and is shared by all servers.
const SHARED: [&str; 2] = ["layers", "templates"];

/// A running server. Dropped, it ends in order, and its data directory goes.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    pub(crate) data_dir: PathBuf,
    env: BTreeMap<String, String>,
    log: PathBuf,
}

impl Server {
    /// Starts it on a free port, and waits until it is ready.
    pub(crate) fn start(hood: &Path, log: &Path) -> Result<Self> {
        Self::start_with(hood, log, &[])
    }

    /// The same with these options.
    pub(crate) fn start_with(hood: &Path, log: &Path, options: &[&str]) -> Result<Self> {
        let data_dir = fresh_data_dir()?;
        fs::create_dir_all(log.parent().context("a log lies in a folder")?)?;
        let errors = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut command = leashed(hood);
        command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(&data_dir).args(options);
        let child = without_ours(&mut command)
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .context("cannot run hood")?;
        let mut server = Self { child, data_dir, env: BTreeMap::new(), log: log.to_owned() };
        let ready = server.wait_until_ready()?;
        println!("{ready} (log: {})", log.display());
        let printed = read(without_ours(leashed(hood).arg("env").arg("--data-dir").arg(&server.data_dir)))?;
        server.env = exports(&printed);
        ensure!(server.env.contains_key("E2B_API_KEY"), "`hood env` printed no E2B_API_KEY: {printed}");
        Ok(server)
    }

    /// What `eval "$(hood env)"` would set.
    pub(crate) fn env(&self) -> &BTreeMap<String, String> {
        &self.env
    }

    /// Its process, for measurements.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    fn wait_until_ready(&mut self) -> Result<String> {
        let stdout = self.child.stdout.take().context("its output is piped")?;
        for line in BufReader::new(stdout).lines() {
            let line = line.context("cannot read what hood says")?;
            if line.contains(READY) {
                return Ok(line);
            }
        }
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        bail!("`hood serve` did not start:\n{log}")
    }

    fn end(&mut self) -> Result<()> {
        let pid = self.child.id().to_string();
        // The shell's own `kill`, since a minimal system has no other.
        read(Command::new("sh").args(["-c", "kill -TERM \"$1\"", "sh", &pid]))?;
        let began = Instant::now();
        while self.child.try_wait()?.is_none() {
            ensure!(began.elapsed() < STOP, "it did not end within {} s of SIGTERM", STOP.as_secs());
            std::thread::park_timeout(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            eprintln!("warning: `hood serve` (pid {}) is killed: {error:#}", self.child.id());
            if let Err(error) = self.child.kill().and_then(|()| self.child.wait()) {
                eprintln!("warning: it cannot be killed: {error}");
            }
        }
        if let Err(error) = remove(&self.data_dir) {
            eprintln!("warning: {} stays: {error}", self.data_dir.display());
        }
    }
}

/// What the caller's shell says must not reach it: another server's address would win.
fn without_ours(command: &mut Command) -> &mut Command {
    let is_ours = |name: &str| name.starts_with("E2B_") || name == "HOOD_DATA_DIR" || name == "HOOD_LISTEN";
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_ours(&name.to_string_lossy())) {
        command.env_remove(name);
    }
    command
}

/// A directory named by our process; those of processes that are no more are removed first.
fn fresh_data_dir() -> Result<PathBuf> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let runs = kept().join("runs");
    fs::create_dir_all(&runs).with_context(|| format!("cannot make {}", runs.display()))?;
    for entry in fs::read_dir(&runs)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.split('-').next().unwrap_or_default().to_owned();
        if !Path::new("/proc").join(&pid).exists() {
            remove(&entry.path()).with_context(|| format!("cannot remove {}", entry.path().display()))?;
        }
    }
    let data_dir = runs.join(format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    fs::create_dir(&data_dir).with_context(|| format!("cannot make {}", data_dir.display()))?;
    for name in SHARED {
        symlink(kept().join(name), data_dir.join(name))?;
    }
    Ok(data_dir)
}

/// Links are removed, not what they point at.
fn remove(data_dir: &Path) -> std::io::Result<()> {
    fs::remove_dir_all(data_dir)
}

/// `export NAME=value` as a shell reads it.
fn exports(printed: &str) -> BTreeMap<String, String> {
    let pairs = printed.split_whitespace().filter_map(|word| word.trim_end_matches(';').split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.trim_matches(['\'', '"']).to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exports_are_read_in_one_line_or_many() {
        let expected = [("A", "http://x:1"), ("B", "y")].map(|(a, b)| (a.to_owned(), b.to_owned())).into();
        assert_eq!(exports("export A=http://x:1 B=y\n"), expected);
        assert_eq!(exports("export A='http://x:1'\nexport B=\"y\";\n"), expected);
    }
}
