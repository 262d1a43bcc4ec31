//! Where an upload's bytes go until all of them are there.
//!
//! They go into a file without a name, in the directory where it will be; at the end it gets its name in one step, or
//! takes the place of the file that bears it. A reader sees the old content or the new one, whole; an upload that breaks
//! off, or a disk that is full, leaves the old one and nothing else.
//!
//! Some files can only be written into, and are: those of another account (replaced, they would change hands), those with
//! several names, those in a directory that is closed to the account, and those of file systems without nameless files.
//! One of these is left empty when its upload breaks off: the half of a content must not pass for the whole.
//!
//! Clients watch for exactly one CREATE, CHMOD and WRITE of a new file, and for one WRITE of one that was there: hence
//! [`announce`].

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, Stat, Uid, fchmod, fchown, fstat, ftruncate, linkat, openat,
    renameat, statat, unlinkat,
};
use rustix::io::Errno;

use crate::filesystem::uploads::{Claim, FileId, OWN_NAME, Uploads};
use crate::filesystem::{make, metadata};
use crate::limits::MAX_REPLACED;
use crate::reach::{self, Place};
use crate::sys::spawn::Identity;

/// Mode of a new file, before the umask.
const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR).union(Mode::RGRP).union(Mode::ROTH);

/// The bits of a mode that a new content inherits: not those by which it would run as its owner.
const KEPT_MODE: u32 = 0o777;

/// The content of a file in the making.
pub(super) struct Content {
    file: File,
    owner: Identity,
    way: Way,
}

enum Way {
    /// Without a name, to be put there.
    Aside(Place),
    /// Into the file itself. Whoever drops it unfinished cleans up.
    Within(Within),
}

struct Within {
    /// Where it was made just now, if it was.
    new: Option<Place>,
    finished: AtomicBool,
    _claim: Claim,
}

/// [`Way`], before its turn has come.
enum Opened {
    Aside(File, Place),
    Within(File, Option<Place>),
}

impl Content {
    /// Begins the content of the file at `path`, whose missing parents are made. Waits for other uploads into the same
    /// file where it is written into.
    pub(super) async fn begin(
        uploads: &Uploads,
        path: &str,
        owner: &Identity,
        metadata: &BTreeMap<String, String>,
    ) -> io::Result<Self> {
        for _ in 0..MAX_REPLACED {
            let owner = owner.clone();
            let (file, mut new) = match owner.act(|| open(path, &owner, metadata))?? {
                Opened::Aside(file, place) => return Ok(Self { file, owner, way: Way::Aside(place) }),
                Opened::Within(file, new) => (file, new),
            };
            let id = FileId::of(&fstat(&file)?);
            let claim = uploads.claim(id).await;
            // The upload we waited for may have failed and taken its new file away.
            let there = owner.act(|| reach::find(path).and_then(|found| Ok(fstat(found)?)))?;
            if !there.is_ok_and(|found| FileId::of(&found) == id) {
                continue;
            }
            // Another upload may have filled it between our creating and our claiming it.
            let length = fstat(&file)?.st_size;
            new = new.filter(|_| length == 0);
            let within = Within { new, finished: AtomicBool::new(false), _claim: claim };
            let content = Self { file, owner, way: Way::Within(within) };
            content.owner.act(|| {
                if length > 0 {
                    content.file.set_len(0)?;
                }
                metadata::replace(&content.file, metadata)
            })??;
            return Ok(content);
        }
        Err(io::Error::other("the file is being replaced again and again"))
    }

    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        self.owner.act(|| (&self.file).write_all(bytes))?
    }

    /// All `written` bytes of it are there: from now on it is the file's content.
    pub(super) fn finish(&self, written: u64) -> io::Result<()> {
        let size = self.file.metadata()?.len();
        if size < written {
            return Err(io::Error::other(format!("{written} bytes were written, but only {size} are there")));
        }
        match &self.way {
            Way::Aside(place) => self.owner.act(|| put(&self.file, place, &self.owner))?,
            Way::Within(within) => {
                within.finished.store(true, Ordering::Release);
                Ok(())
            }
        }
    }
}

impl Drop for Content {
    fn drop(&mut self) {
        let Way::Within(within) = &self.way else { return };
        if within.finished.load(Ordering::Acquire) {
            return;
        }
        // Nobody is left to be told when even this fails.
        drop(match &within.new {
            None => self.file.set_len(0),
            Some(place) => self.owner.act(|| remove(&self.file, place)).unwrap_or(Ok(())),
        });
    }
}

fn remove(file: &File, place: &Place) -> io::Result<()> {
    let found = statat(&place.dir, &place.name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileId::of(&found) == FileId::of(&fstat(file)?) {
        unlinkat(&place.dir, &place.name, AtFlags::empty())?;
    }
    Ok(())
}

/// Looks at what is at `path`, as the account itself, and opens what the content goes into.
fn open(path: &str, owner: &Identity, metadata: &BTreeMap<String, String>) -> io::Result<Opened> {
    let dir = make::parents(path)?;
    let name = Path::new(Path::new(path).file_name().ok_or(Errno::ISDIR)?);
    // Whether the links at its end may be followed, the kernel decides.
    match reach::find_from(dir.as_fd(), name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let place = reach::place(dir, name)?;
    let old = match statat(&place.dir, &place.name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Some((to_write(&place, &found)?, found)),
        Err(Errno::NOENT) => None,
        Err(errno) => return Err(errno.into()),
    };
    if old.as_ref().is_none_or(|(_, found)| may_replace(found, owner)) {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        match openat(&place.dir, ".", flags, FILE_MODE) {
            Ok(file) => {
                metadata::replace(&file, metadata)?;
                return Ok(Opened::Aside(file.into(), place));
            }
            Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) if old.is_some() => {}
            // What kernels and file systems say that know no nameless files.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    if let Some((file, _)) = old {
        return Ok(Opened::Within(file?, None));
    }
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = openat(&place.dir, &place.name, flags, FILE_MODE)?;
    Ok(Opened::Within(file.into(), Some(place)))
}

/// The file as it is, opened to be written. A program that runs can be replaced, though not written into: that error is
/// kept for later.
fn to_write(place: &Place, found: &Stat) -> io::Result<io::Result<File>> {
    match reach::kind(found) {
        FileType::RegularFile => {}
        FileType::Directory => return Err(Errno::ISDIR.into()),
        // A link that was put there just now.
        FileType::Symlink => return Err(Errno::LOOP.into()),
        _ => return Err(Errno::NXIO.into()),
    }
    let handle = reach::beneath(place.dir.as_fd(), &place.name)?;
    match reach::reopen(handle, OFlags::WRONLY) {
        Err(error) if error.kind() != io::ErrorKind::ExecutableFileBusy => Err(error),
        opened => Ok(opened),
    }
}

/// Whether another file in its place would still be the account's and leave no name behind.
fn may_replace(found: &Stat, owner: &Identity) -> bool {
    found.st_nlink == 1 && (found.st_uid == owner.uid || owner.uid == 0)
}

/// Gives a nameless file its name.
fn put(file: &File, place: &Place, owner: &Identity) -> io::Result<()> {
    for _ in 0..MAX_REPLACED {
        let old = match statat(&place.dir, &place.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(old) => old,
            Err(Errno::NOENT) => match name(file, &place.dir, &place.name) {
                Ok(()) => {
                    announce(file, place, Some(owner));
                    return Ok(());
                }
                // Somebody was faster.
                Err(Errno::EXIST) => continue,
                Err(errno) => return Err(errno.into()),
            },
            Err(errno) => return Err(errno.into()),
        };
        match reach::kind(&old) {
            FileType::RegularFile => {}
            FileType::Directory => return Err(Errno::ISDIR.into()),
            _ => return Err(Errno::BUSY.into()),
        }
        resemble(file, place, &old, owner)?;
        let own = own_name();
        match name(file, &place.dir, Path::new(&own)) {
            Ok(()) => {}
            Err(Errno::EXIST) => continue,
            Err(errno) => return Err(errno.into()),
        }
        if let Err(errno) = renameat(&place.dir, &*own, &place.dir, &place.name) {
            unlinkat(&place.dir, &*own, AtFlags::empty())?;
            return Err(errno.into());
        }
        announce(file, place, None);
        return Ok(());
    }
    Err(io::Error::other("the file is being replaced again and again"))
}

/// A name for the moment before the rename.
fn own_name() -> OsString {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{OWN_NAME}{}", NEXT.fetch_add(1, Ordering::Relaxed)).into()
}

fn name(file: &File, dir: &OwnedFd, name: &Path) -> rustix::io::Result<()> {
    linkat(CWD, reach::by_number(file.as_fd()), dir, name, AtFlags::SYMLINK_FOLLOW)
}

/// Gives the new content what stays when a content changes: owner, mode, and the attributes that are not metadata.
fn resemble(file: &File, place: &Place, old: &Stat, owner: &Identity) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
    if owner.uid == 0 {
        fchown(file, Some(uid), Some(gid))?;
    } else if old.st_uid != owner.uid {
        return Err(Errno::PERM.into());
    } else if old.st_gid != owner.gid {
        // A group that the account has left.
        fchown(file, None, Some(gid))
            .or_else(|errno| if errno == Errno::PERM { Ok(()) } else { Err(errno) })?;
    }
    fchmod(file, Mode::from_raw_mode(old.st_mode & KEPT_MODE))?;
    metadata::keep_others(place.dir.as_fd(), &place.name, file)
}

/// Makes the changes, which change nothing, that watchers take for the upload: giving a new file to its owner, and writing
/// once. The bytes themselves were written where nobody looks. Best effort: the content is there.
fn announce(file: &File, place: &Place, new: Option<&Identity>) {
    let tell = || -> io::Result<()> {
        let there = reach::reopen(reach::beneath(place.dir.as_fd(), &place.name)?, OFlags::WRONLY)?;
        let found = fstat(&there)?;
        if FileId::of(&found) != FileId::of(&fstat(file)?) {
            return Ok(());
        }
        if let Some(owner) = new {
            fchown(&there, Some(Uid::from_raw(owner.uid)), Some(Gid::from_raw(owner.gid)))?;
        }
        // Somebody who writes already tells it by that.
        Ok(ftruncate(&there, u64::try_from(found.st_size).unwrap_or_default())?)
    };
    tell().ok();
}
