//! A file that is there whole or not at all.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

use crate::entry::entry_of;
use crate::folder::give;
use hood_driver_api::{Entry, Given, Upload};

/// Most names that are tried for the step between the file without a name and its own.
const TRIES: u32 = 64;

/// A file without a name.
#[derive(Debug)]
pub(crate) struct Unnamed {
    folder: OwnedFd,
    name: String,
    path: String,
    file: File,
    given: Given,
    overwrite: bool,
}

impl Unnamed {
    pub(crate) fn begin(
        folder: OwnedFd,
        path: String,
        name: String,
        given: Given,
        overwrite: bool,
    ) -> io::Result<Self> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&folder, ".", flags, Mode::from_raw_mode(0o600))?;
        Ok(Self { folder, name, path, file: file.into(), given, overwrite })
    }

    fn replace(&self, link: impl Fn(&str) -> rustix::io::Result<()>) -> io::Result<()> {
        for n in 0..TRIES {
            let step = format!(".hood-upload-{}-{n}", self.file.as_raw_fd());
            match link(&step) {
                Err(Errno::EXIST) => continue,
                other => other?,
            }
            let renamed = rustix::fs::renameat(&self.folder, &*step, &self.folder, &*self.name);
            if renamed.is_err() {
                rustix::fs::unlinkat(&self.folder, &*step, AtFlags::empty())?;
            }
            return Ok(renamed?);
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

impl Upload for Unnamed {
    fn file(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    fn finish(self: Box<Self>) -> io::Result<Entry> {
        give(self.file.as_fd(), self.given)?;
        let from = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let link = |name: &str| rustix::fs::linkat(CWD, &*from, &self.folder, name, AtFlags::SYMLINK_FOLLOW);
        match link(&self.name) {
            Err(Errno::EXIST) if self.overwrite => self.replace(link)?,
            other => other?,
        }
        Ok(entry_of(self.path, &rustix::fs::fstat(&self.file)?, None))
    }
}
