//! The directory that results are saved in. Nothing is ever written outside it: every folder on the way is opened
//! beneath the one before, and no link is followed.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// An open directory of the user's.
#[derive(Debug)]
pub(super) struct OutDir {
    path: PathBuf,
    dir: OwnedFd,
}

/// A file being written; it gets its name when it is whole.
#[derive(Debug)]
pub(super) struct OutFile {
    folder: OwnedFd,
    temporary: String,
    name: String,
    pub(super) file: File,
}

// === impl OutDir ===

impl OutDir {
    /// Makes it, or takes the one that is there.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let doing = || format!("cannot use `{}` for the results", path.display());
        std::fs::create_dir_all(path).with_context(doing)?;
        // The user's own name for it may well be a link.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(path, flags, Mode::empty()).with_context(doing)?;
        Ok(Self { path: path.to_owned(), dir })
    }

    /// A file to be written beneath it; `name` is relative and has only plain components.
    pub(super) fn create(&self, name: &str) -> Result<OutFile> {
        self.create_inside(name).with_context(|| format!("cannot write `{}`", self.shown(name)))
    }

    fn create_inside(&self, name: &str) -> rustix::io::Result<OutFile> {
        let mut parts: Vec<&str> = name.split('/').collect();
        let file_name = parts.pop().unwrap_or_default();
        let mut folder = self.dir.try_clone().map_err(|_| Errno::MFILE)?;
        for part in parts {
            match rustix::fs::mkdirat(&folder, part, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
            folder = rustix::fs::openat(&folder, part, FOLDER, Mode::empty())?;
        }
        let temporary = format!(".hood-{}.part", std::process::id());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&folder, &temporary, flags, Mode::from_raw_mode(0o666))?;
        Ok(OutFile { folder, temporary, name: file_name.to_owned(), file: file.into() })
    }

    /// Where a file of this name lies, for people.
    pub(super) fn shown(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }
}

// === impl OutFile ===

impl OutFile {
    /// Gives it its name, in the place of what had it before.
    pub(super) fn keep(self) -> Result<()> {
        rustix::fs::renameat(&self.folder, &self.temporary, &self.folder, &self.name)
            .with_context(|| format!("cannot name `{}`", self.name))
    }

    /// Forgets it.
    pub(super) fn discard(self) {
        if let Err(error) = rustix::fs::unlinkat(&self.folder, &self.temporary, AtFlags::empty()) {
            tracing::info!(%error, file = %self.temporary, "a partial file stays in the user's directory");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn write(out: &OutDir, name: &str, text: &str) -> Result<()> {
        let mut file = out.create(name)?;
        file.file.write_all(text.as_bytes())?;
        file.keep()
    }

    #[test]
    fn files_and_folders_are_made_and_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let out = OutDir::open(&dir.path().join("new/out")).unwrap();
        write(&out, "a/b/c", "1").unwrap();
        write(&out, "a/b/c", "2").unwrap();
        out.create("a/b/d").unwrap().discard();
        assert_eq!(std::fs::read_to_string(dir.path().join("new/out/a/b/c")).unwrap(), "2");
        assert_eq!(std::fs::read_dir(dir.path().join("new/out/a/b")).unwrap().count(), 1);
    }

    #[test]
    fn no_link_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (inside, outside) = (dir.path().join("out"), dir.path().join("outside"));
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        std::fs::write(outside.join("file"), "mine").unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("folder")).unwrap();
        std::os::unix::fs::symlink(outside.join("file"), inside.join("link")).unwrap();
        let out = OutDir::open(&inside).unwrap();
        assert!(write(&out, "folder/file", "theirs").is_err());
        write(&out, "link", "theirs").unwrap();
        assert_eq!(std::fs::read_to_string(outside.join("file")).unwrap(), "mine");
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
    }
}
