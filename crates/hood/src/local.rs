//! The data directory as the command line sees it: where the server is, and with which key.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use hood_gate::{Authority, AuthorityError};
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
    /// How it is reached by host names, where it has TLS.
    #[serde(default)]
    hosts: Option<Hosts>,
}

/// How a server is reached by the names of hosts: `https://api.<domain>` and `https://<port>-<id>.<domain>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hosts {
    /// Its domain, with a port unless that is 443.
    pub(crate) domain: String,
    /// Certificates to believe in, where its own authority has signed.
    pub(crate) bundle: Option<PathBuf>,
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

    /// Whether this process may look into it; also into one that does not exist yet.
    pub(crate) fn is_ours(&self) -> bool {
        let wanted = rustix::fs::Access::READ_OK | rustix::fs::Access::EXEC_OK;
        match rustix::fs::access(&self.path, wanted) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => true,
            Err(_) => false,
        }
    }

    /// Makes the directory, readable by its owner alone: it holds keys and other people's files.
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

    /// Signs what the gate shows to sandboxes; made at the first call.
    pub(crate) fn gate_authority(&self) -> Result<Authority, AuthorityError> {
        Authority::open(&self.path.join("gate-ca.pem"), "Fumehood gate")
    }

    /// Signs the server's own certificate; made at the first call.
    pub(crate) fn ingress_authority(&self) -> Result<Authority, AuthorityError> {
        Authority::open(&self.path.join("ca.pem"), "Fumehood")
    }

    /// What the values of secrets are sealed with.
    pub(crate) fn secrets_key(&self) -> PathBuf {
        self.path.join("secrets.key")
    }

    /// Layers that make templates trust the gate; they can be made again.
    pub(crate) fn remove_trust(&self) -> io::Result<()> {
        match fs::remove_dir_all(self.path.join("trust")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }

    /// The file of records.
    pub(crate) fn store_file(&self) -> PathBuf {
        self.path.join("hood.sqlite")
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
        self.running().map(|running| running.url)
    }

    /// How the server that runs on this directory is reached by names; `None` when it has no TLS, or none runs.
    pub(crate) fn server_hosts(&self) -> Option<Hosts> {
        self.running()?.hosts
    }

    fn running(&self) -> Option<Running> {
        if self.is_free() {
            // What the file says is of an earlier run.
            return None;
        }
        serde_json::from_slice(&fs::read(self.path.join("server.json")).ok()?).ok()
    }

    /// Writes the certificates that clients of the server's own authority must believe in: those of this host, which
    /// the same variables would otherwise take away, and the authority's.
    pub(crate) fn write_bundle(&self, authority: &str) -> io::Result<PathBuf> {
        const HOST: &str = "/etc/ssl/certs/ca-certificates.crt";
        let mut bundle = match fs::read_to_string(HOST) {
            Ok(roots) => roots,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        bundle.push_str(authority);
        let path = self.path.join("ca-bundle.crt");
        fs::write(&path, bundle)?;
        Ok(path)
    }

    /// Notes where the server listens.
    pub(crate) fn write_server(&self, url: &str, hosts: Option<Hosts>) -> Result<()> {
        let running = Running { url: url.to_owned(), pid: std::process::id(), hosts };
        let text = serde_json::to_vec(&running)?;
        write_private(&self.path.join("server.json"), &text).context("cannot note where the server listens")
    }

    /// Whether no server runs on the directory. Readers share the lock for the moment of the look.
    pub(crate) fn is_free(&self) -> bool {
        fs::File::open(self.path.join("lock"))
            .map_or(true, |file| rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared).is_ok())
    }

    /// Takes the directory for one server.
    pub(crate) fn lock(&self) -> Result<Lock> {
        // Somebody who only looks holds the lock for some microseconds.
        const TRIES: u32 = 20;
        const PAUSE: Duration = Duration::from_millis(10);
        let path = self.path.join("lock");
        let file = fs::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path)
            .with_context(|| format!("cannot open {}", path.display()))?;
        for _ in 0..TRIES {
            if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
                return Ok(Lock(file));
            }
            std::thread::park_timeout(PAUSE);
        }
        bail!("another server runs on {}; give each its own with `--data-dir`", self.path.display());
    }

    /// A directory of its own beneath this one, for a server inside a command. Those of commands that were killed are
    /// removed with everything that their servers left on the host.
    pub(crate) fn nested(&self) -> Result<Self> {
        let all = self.path.join("commands");
        fs::create_dir_all(&all).with_context(|| format!("cannot make {}", all.display()))?;
        for entry in fs::read_dir(&all)? {
            let left = Self::new(entry?.path());
            if left.is_free() {
                left.remove()?;
            }
        }
        Ok(Self::new(all.join(std::process::id().to_string())))
    }

    /// Removes the directory of a server that has ended.
    pub(crate) fn remove(&self) -> Result<()> {
        hood_driver_native::sweep(&self.path)
            .with_context(|| format!("cannot sweep {}", self.path.display()))?;
        fs::remove_dir_all(&self.path).with_context(|| format!("cannot remove {}", self.path.display()))
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
