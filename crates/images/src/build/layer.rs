//! One layer, from an empty temporary directory to its final name.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::measure::tree_bytes;
use super::{BuildOptions, now_ms};
use crate::chroot::{self, names};
use crate::command::{self, Purpose, find_tool};
use crate::error::{BuildError, StoreError};
use crate::host::{Loans, read_sources};
use crate::job::{Files, Job};
use crate::key::LayerKey;
use crate::limits::{FREE_MIN, STEP_TIME};
use crate::progress::Progress;
use crate::store::{LayerRecord, Store};

/// Signs the suites that `mmdebstrap` installs.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// What every template leaves out: manuals, translations and documents, except the licences.
const DPKG_OPTIONS: &[&str] = &[
    "path-exclude=/usr/share/man/*",
    "path-exclude=/usr/share/info/*",
    "path-exclude=/usr/share/lintian/*",
    "path-exclude=/usr/share/locale/*",
    "path-include=/usr/share/locale/locale.alias",
    "path-exclude=/usr/share/doc/*",
    "path-include=/usr/share/doc/*/copyright",
];
/// Files of the bottom layer that the host's would otherwise be in. A sandbox gets its own on top.
const PLACEHOLDERS: &[(&str, &str)] = &[
    ("etc/resolv.conf", ""),
    ("etc/hostname", "localhost\n"),
    ("etc/hosts", "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"),
];
/// Folders of the bottom layer that a sandbox mounts over.
const EMPTIED: &[&str] = &["dev", "run", "tmp", "var/tmp", "var/log"];
/// Files of the bottom layer that identify an installation, or are backups that later layers would only hide.
const REMOVED: &[&str] = &[
    "etc/machine-id",
    "var/lib/dbus/machine-id",
    "var/cache/ldconfig",
    "var/cache/debconf/config.dat-old",
    "var/cache/debconf/templates.dat-old",
    "var/lib/dpkg/diversions-old",
    "var/lib/dpkg/status-old",
];

pub(super) struct LayerBuild<'a> {
    pub(super) store: &'a Store,
    pub(super) title: &'a str,
    pub(super) suite: &'a str,
    pub(super) lower: &'a [LayerKey],
    pub(super) loans: &'a Loans,
    pub(super) options: &'a BuildOptions,
}

// === impl LayerBuild ===

impl LayerBuild<'_> {
    /// Runs `job` and gives its result the name `key`.
    pub(super) fn make(
        &self,
        key: &LayerKey,
        job: &Job<'_>,
        progress: &dyn Progress,
    ) -> Result<u64, BuildError> {
        if !rustix::process::geteuid().is_root() {
            return Err(BuildError::NotRoot);
        }
        self.check_room()?;
        let temporary = self.store.temporary()?;
        let made = match job {
            Job::Bootstrap { suite, packages } => self.bootstrap(&temporary, suite, packages, progress),
            Job::Script { parts, arguments, files } => {
                self.lend(&temporary, &parts.concat(), files)?;
                self.run(&temporary, arguments, progress)
            }
        };
        if let Err(error) = made {
            // A full disk shows in many ways; say it in one.
            return Err(self.check_room().err().unwrap_or(error));
        }
        let upper = temporary.join(names::UPPER);
        fs::set_permissions(&upper, Permissions::from_mode(0o755))
            .map_err(StoreError::io("open up", &upper))?;
        let bytes = tree_bytes(&upper).map_err(StoreError::io("measure", &upper))?;
        let record = LayerRecord { title: self.title.to_owned(), bytes, created_ms: now_ms() };
        self.store.keep_layer(key, &temporary, &upper, &record)?;
        Ok(bytes)
    }

    fn bootstrap(
        &self,
        temporary: &Path,
        suite: &str,
        packages: &[String],
        progress: &dyn Progress,
    ) -> Result<(), BuildError> {
        let tool = find_tool("mmdebstrap", "mmdebstrap")?;
        if !Path::new(KEYRING).is_file() {
            return Err(BuildError::MissingTool { tool: KEYRING, package: "debian-archive-keyring" });
        }
        let sources = read_sources(suite, self.options.debian_mirror.as_deref())?;
        let mut command = chroot::contained(&tool, &self.host_loans())?;
        // The host's own settings of dpkg are none of a template's business, and may be closed to us.
        command.env("HOME", "/nonexistent");
        command.args(["--mode=root", "--variant=minbase", "--skip=output/dev", "--format=directory"]);
        command.arg(format!("--keyring={KEYRING}"));
        command.args(DPKG_OPTIONS.iter().map(|option| format!("--dpkgopt={option}")));
        command.arg(format!("--include={}", packages.join(",")));
        let upper = temporary.join(names::UPPER);
        command.arg(suite).arg(&upper).args(sources.lines());
        command::run(command, self.purpose("mmdebstrap"), progress)?;
        scrub(&upper, &sources.public_list())?;
        Ok(())
    }

    fn run(&self, temporary: &Path, arguments: &[String], progress: &dyn Progress) -> Result<(), BuildError> {
        let name = temporary.file_name().and_then(|name| name.to_str()).expect("the store makes ASCII names");
        let command = chroot::script(self.store.layers_dir(), name, self.lower, self.loans, arguments)?;
        command::run(command, self.purpose("bash"), progress)
    }

    /// Lays out what the step sees at `/run/hood-build`.
    fn lend(&self, temporary: &Path, script: &str, files: Files) -> Result<(), BuildError> {
        let lent = temporary.join(names::LENT);
        for dir in [names::WORK, names::ROOT, names::LENT] {
            make_dir(&temporary.join(dir))?;
        }
        write(&lent.join(names::SCRIPT), script.as_bytes())?;
        for (source, name) in &self.loans.files {
            let content = fs::read(source).map_err(StoreError::io("read", source))?;
            write(&lent.join(name), &content)?;
        }
        for (_, name) in &self.loans.folders {
            make_dir(&lent.join(name))?;
        }
        let sources = read_sources(self.suite, self.options.debian_mirror.as_deref());
        // Only the packages step needs them, and it says so itself if they are missing.
        if let Ok(sources) = sources {
            write(&lent.join("sources.list"), (sources.lines().join("\n") + "\n").as_bytes())?;
        }
        for (name, content) in files {
            let path = lent.join("files").join(name);
            write(&path, content)?;
            let mode = if content.starts_with(b"#!") { 0o755 } else { 0o644 };
            fs::set_permissions(&path, Permissions::from_mode(mode))
                .map_err(StoreError::io("open up", &path))?;
        }
        Ok(())
    }

    /// `mmdebstrap` downloads on the host, where the host's own paths are right.
    fn host_loans(&self) -> Loans {
        let is_proxy = |name: &str| name.to_ascii_lowercase().ends_with("_proxy");
        let env = self.loans.env.iter().filter(|(name, _)| is_proxy(name));
        Loans { env: env.map(|(name, value)| (name.clone(), value.clone())).collect(), ..Loans::default() }
    }

    fn purpose<'a>(&'a self, program: &'a str) -> Purpose<'a> {
        Purpose { step: self.title, program, limit: STEP_TIME }
    }

    fn check_room(&self) -> Result<(), BuildError> {
        let path = self.store.layers_dir();
        let room = rustix::fs::statvfs(path).map_err(StoreError::io("measure the room at", path))?;
        let free = room.f_bavail * room.f_frsize;
        if free < FREE_MIN {
            return Err(BuildError::NoSpace { path: path.to_owned(), free });
        }
        Ok(())
    }
}

/// Takes everything of this host, and everything that a sandbox mounts over, out of a fresh Debian.
fn scrub(root: &Path, sources: &str) -> Result<(), StoreError> {
    for dir in EMPTIED {
        let dir = root.join(dir);
        for entry in fs::read_dir(&dir).map_err(StoreError::io("list", &dir))? {
            let path = entry.map_err(StoreError::io("list", &dir))?.path();
            remove(&path)?;
        }
    }
    for file in REMOVED {
        remove(&root.join(file))?;
    }
    for (file, content) in PLACEHOLDERS.iter().copied().chain([("etc/apt/sources.list", sources)]) {
        let path = root.join(file);
        remove(&path)?;
        write(&path, content.as_bytes())?;
    }
    Ok(())
}

fn remove(path: &Path) -> Result<(), StoreError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(source),
    };
    removed.map_err(StoreError::io("remove", path))
}

fn make_dir(path: &Path) -> Result<(), StoreError> {
    DirBuilder::new().mode(0o755).recursive(true).create(path).map_err(StoreError::io("create", path))
}

fn write(path: &Path, content: &[u8]) -> Result<(), StoreError> {
    if let Some(parent) = path.parent().map(PathBuf::from) {
        make_dir(&parent)?;
    }
    let file = File::create(path).and_then(|mut file| io::Write::write_all(&mut file, content));
    file.map_err(StoreError::io("write", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scrubbed_root_has_nothing_of_the_host() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for name in EMPTIED.iter().chain(&["etc/apt"]) {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        fs::write(root.join("etc/hostname"), "secret-host\n").unwrap();
        fs::write(root.join("etc/machine-id"), "0123\n").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", root.join("etc/resolv.conf")).unwrap();
        fs::create_dir(root.join("run/lock")).unwrap();

        scrub(root, "deb x\n").unwrap();

        assert_eq!(fs::read_to_string(root.join("etc/hostname")).unwrap(), "localhost\n");
        assert_eq!(fs::read_to_string(root.join("etc/apt/sources.list")).unwrap(), "deb x\n");
        assert!(fs::symlink_metadata(root.join("etc/resolv.conf")).unwrap().is_file());
        assert!(!root.join("etc/machine-id").exists());
        assert_eq!(fs::read_dir(root.join("run")).unwrap().count(), 0);
    }
}
