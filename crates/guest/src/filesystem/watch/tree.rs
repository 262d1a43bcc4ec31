//! inotify(7) on a directory, or on a directory and everything below it.
//!
//! inotify watches single directories. For a whole tree, a directory that appears is watched as soon as its creation
//! is read, and what is in it by then is reported as created, since its own events were missed.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use tokio::io::unix::AsyncFd;
use tokio::time::Instant;

use super::super::refusal;
use super::super::uploads::Uploads;
use super::pending::{Kind, Pending};
use crate::connect::{Code, ConnectError};
use crate::limits::{MAX_EVENTS_AT_ONCE, MAX_WATCHED};

/// Most names remembered as reported by a scan, until their own events have been read.
const MAX_ANNOUNCED: usize = 8192;

/// Room for events read at once.
const BUFFER: usize = 16 << 10;

/// File systems made of kernel state (proc, sysfs, both cgroups, devpts), which change without telling and whose
/// directories are beyond counting.
const PSEUDO: [u64; 5] = [0x9fa0, 0x6265_6572, 0x0027_e0eb, 0x6367_7270, 0x1cd1];

/// A watched directory.
pub(super) struct Watch {
    fd: Arc<OwnedFd>,
    root: PathBuf,
    recursive: bool,
    /// Relative to the root, by inotify's number; the root's own is empty.
    directories: HashMap<i32, PathBuf>,
    announced: HashSet<PathBuf>,
    uploads: Uploads,
    pub(super) pending: Pending,
}

/// Why a tree is not wholly watched.
enum Full {
    /// [`MAX_WATCHED`].
    Ours,
    /// The kernel's limit of watches.
    Kernel,
}

impl Watch {
    /// Watches `path`, which may be a link to a directory.
    pub(super) fn open(path: &str, recursive: bool, uploads: Uploads) -> Result<Self, ConnectError> {
        let found = fs::metadata(path).map_err(|error| refusal(&error, path))?;
        if !found.is_dir() {
            let message = format!("path is not a directory: {path}");
            return Err(ConnectError::new(Code::InvalidArgument, message));
        }
        let fd =
            inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map_err(|errno| match errno {
                Errno::MFILE | Errno::NFILE => exhausted(path, "the kernel has no inotify instance left"),
                errno => refusal(&errno.into(), path),
            })?;
        let mut watch = Self {
            fd: Arc::new(fd),
            root: PathBuf::from(path),
            recursive,
            directories: HashMap::new(),
            announced: HashSet::new(),
            uploads,
            pending: Pending::default(),
        };
        // The root's own end counts too, and the root may be a link: both unlike the directories below.
        let flags = mask() | WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
        let number = inotify::add_watch(&*watch.fd, path, flags).map_err(|errno| match errno {
            Errno::NOSPC => exhausted(path, "the kernel has no inotify watch left"),
            errno => refusal(&errno.into(), path),
        })?;
        watch.directories.insert(number, PathBuf::new());
        if recursive {
            watch.descend(PathBuf::new(), false).map_err(|full| match full {
                Full::Ours => exhausted(path, &format!("it has more than {MAX_WATCHED} directories")),
                Full::Kernel => exhausted(path, "the kernel has no inotify watch left"),
            })?;
        }
        Ok(watch)
    }

    /// The event loop's view of the same inotify instance.
    pub(super) fn readiness(&self) -> Result<AsyncFd<OwnedFd>, ConnectError> {
        self.fd
            .try_clone()
            .and_then(crate::sys::watch)
            .map_err(|error| ConnectError::new(Code::Internal, format!("cannot wait for events: {error}")))
    }

    /// The watched directory, as it was named.
    pub(super) fn root(&self) -> std::borrow::Cow<'_, str> {
        self.root.to_string_lossy()
    }

    /// Takes what the kernel holds. False when there is more.
    pub(super) fn pump(&mut self) -> bool {
        let fd = self.fd.clone();
        let mut buffer = [MaybeUninit::uninit(); BUFFER];
        let mut reader = inotify::Reader::new(&*fd, &mut buffer);
        for _ in 0..MAX_EVENTS_AT_ONCE {
            match reader.next() {
                Ok(event) => {
                    let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
                    self.take(event.wd(), event.events(), name);
                }
                Err(Errno::INTR) => {}
                // Empty: no event of a name announced by a scan can still be on its way.
                Err(_) => {
                    self.announced.clear();
                    return true;
                }
            }
        }
        false
    }

    /// Reports the writes that are due, or all of them, but for uploads in progress.
    pub(super) fn settle(&mut self, now: Option<Instant>) {
        let (root, uploads) = (&self.root, &self.uploads);
        self.pending.settle(now, |name| uploads.writes_to(&root.join(name)));
    }

    fn take(&mut self, number: i32, what: ReadFlags, name: Option<&OsStr>) {
        if what.contains(ReadFlags::QUEUE_OVERFLOW) {
            self.pending.lost();
            // Directories may have appeared unseen.
            self.follow(PathBuf::new(), false);
            return;
        }
        if what.contains(ReadFlags::IGNORED) {
            self.directories.remove(&number);
            return;
        }
        let Some(directory) = self.directories.get(&number) else { return };
        let Some(name) = name else {
            if directory.as_os_str().is_empty() {
                self.root_gone(what);
            }
            return;
        };
        let path = directory.join(name);
        let shown = path.to_string_lossy().into_owned();
        let below = self.recursive && what.contains(ReadFlags::ISDIR);
        if what.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
            if !self.announced.remove(&path) {
                self.pending.push(shown, Kind::Create);
            }
            if below {
                self.follow(path, true);
            }
        } else if what.contains(ReadFlags::MODIFY) {
            self.pending.written(shown);
        } else if what.contains(ReadFlags::CLOSE_WRITE) {
            self.pending.closed(&shown);
        } else if what.contains(ReadFlags::ATTRIB) {
            self.pending.push(shown, Kind::Chmod);
        } else if what.contains(ReadFlags::DELETE) {
            self.announced.remove(&path);
            self.pending.push(shown, Kind::Remove);
        } else if what.contains(ReadFlags::MOVED_FROM) {
            self.announced.remove(&path);
            self.pending.push(shown, Kind::Rename);
            if below {
                self.forget(&path);
            }
        }
    }

    fn root_gone(&mut self, what: ReadFlags) {
        if what.contains(ReadFlags::DELETE_SELF) {
            self.pending.push(".".to_owned(), Kind::Remove);
        } else if what.contains(ReadFlags::MOVE_SELF) {
            self.pending.push(".".to_owned(), Kind::Rename);
        }
    }

    /// Watches what appeared; where that is not possible, changes will be lost, and the mark says so.
    fn follow(&mut self, path: PathBuf, announce: bool) {
        if self.recursive && self.descend(path, announce).is_err() {
            self.pending.lost();
        }
    }

    /// Watches the directories at and below `path`. What cannot be read, or vanished, is passed by.
    fn descend(&mut self, path: PathBuf, announce: bool) -> Result<(), Full> {
        let mut open = vec![path];
        while let Some(path) = open.pop() {
            let real = self.root.join(&path);
            if rustix::fs::statfs(&real).is_ok_and(|found| PSEUDO.contains(&(found.f_type as u64))) {
                continue;
            }
            if !path.as_os_str().is_empty() {
                if self.directories.len() >= MAX_WATCHED {
                    return Err(Full::Ours);
                }
                match inotify::add_watch(&*self.fd, &real, mask() | WatchFlags::DONT_FOLLOW) {
                    Ok(number) => drop(self.directories.insert(number, path.clone())),
                    Err(Errno::NOSPC) => return Err(Full::Kernel),
                    Err(_) => continue,
                }
            }
            let Ok(entries) = fs::read_dir(&real) else { continue };
            for entry in entries.map_while(io::Result::ok) {
                let below = path.join(entry.file_name());
                if announce {
                    self.announce(&below, &entry);
                }
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    if open.len() >= MAX_WATCHED {
                        return Err(Full::Ours);
                    }
                    open.push(below);
                }
            }
        }
        Ok(())
    }

    /// Reports what a new directory held before it was watched, once.
    fn announce(&mut self, path: &Path, entry: &fs::DirEntry) {
        if self.announced.len() >= MAX_ANNOUNCED || !self.announced.insert(path.to_path_buf()) {
            return;
        }
        let shown = path.to_string_lossy().into_owned();
        self.pending.push(shown.clone(), Kind::Create);
        if entry.metadata().is_ok_and(|found| found.is_file() && found.len() > 0) {
            self.pending.written(shown);
        }
    }

    /// A directory that was moved keeps its watches, under names that are wrong from now on.
    fn forget(&mut self, path: &Path) {
        let fd = &self.fd;
        self.directories.retain(|number, directory| {
            let gone = directory.starts_with(path);
            if gone {
                // Fails only when the directory itself is gone, and its watch with it.
                inotify::remove_watch(&**fd, *number).ok();
            }
            !gone
        });
    }
}

fn mask() -> WatchFlags {
    WatchFlags::CREATE
        | WatchFlags::MODIFY
        | WatchFlags::CLOSE_WRITE
        | WatchFlags::ATTRIB
        | WatchFlags::DELETE
        | WatchFlags::MOVED_FROM
        | WatchFlags::MOVED_TO
        | WatchFlags::ONLYDIR
        | WatchFlags::EXCL_UNLINK
}

fn exhausted(path: &str, why: &str) -> ConnectError {
    ConnectError::new(Code::ResourceExhausted, format!("'{path}' cannot be watched: {why}"))
}
