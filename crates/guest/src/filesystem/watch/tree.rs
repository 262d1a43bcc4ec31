//! inotify(7) on a directory, or on a directory and everything below it.
//!
//! inotify watches single directories. For a whole tree, a directory that appears is watched as soon as its creation
//! is read, and what is in it by then is reported as created, since its own events were missed.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::fs::{AtFlags, Dir, FileType, OFlags, fstat, fstatfs, statat};
use rustix::io::Errno;
use tokio::io::unix::AsyncFd;
use tokio::time::Instant;

use super::super::refusal;
use super::super::uploads::{FileId, Uploads};
use super::pending::{Kind, Pending};
use crate::connect::{Code, ConnectError};
use crate::limits::{MAX_EVENTS_AT_ONCE, MAX_WATCHED};
use crate::reach;
use crate::sys::spawn::Identity;

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
    /// Which directory it is. A handle held on it would keep the kernel from telling its end.
    root: FileId,
    pub(super) view: Arc<View>,
    recursive: bool,
    /// Relative to the root, by inotify's number; the root's own is empty.
    directories: HashMap<i32, PathBuf>,
    announced: HashSet<PathBuf>,
    /// The last move away from a name of [`Uploads`]'s own: the name that it came under is no news.
    put_in_place: Option<u32>,
    uploads: Uploads,
    pub(super) pending: Pending,
}

/// Whose watch it is, and of which directory, as it was named.
pub(super) struct View {
    pub(super) root: String,
    pub(super) identity: Identity,
}

/// Why a tree is not wholly watched.
enum Full {
    /// [`MAX_WATCHED`].
    Ours,
    /// The kernel's limit of watches.
    Kernel,
}

impl Watch {
    /// Watches `path`, which may be a link to a directory. To be called as the account of `identity`.
    pub(super) fn open(
        path: &str,
        recursive: bool,
        uploads: Uploads,
        identity: Identity,
    ) -> Result<Self, ConnectError> {
        let root = reach::find(path).map_err(|error| refusal(&error, path))?;
        let found = fstat(&root).map_err(|errno| refusal(&errno.into(), path))?;
        if reach::kind(&found) != FileType::Directory {
            let message = format!("path is not a directory: {path}");
            return Err(ConnectError::new(Code::InvalidArgument, message));
        }
        let fd =
            inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map_err(|errno| match errno {
                Errno::MFILE | Errno::NFILE => exhausted(path, "the kernel has no inotify instance left"),
                errno => refusal(&errno.into(), path),
            })?;
        // The root's own end counts too, unlike those of the directories below.
        let flags = mask() | WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
        let number =
            inotify::add_watch(&fd, reach::by_number(root.as_fd()), flags).map_err(|errno| match errno {
                Errno::NOSPC => exhausted(path, "the kernel has no inotify watch left"),
                errno => refusal(&errno.into(), path),
            })?;
        let mut watch = Self {
            fd: Arc::new(fd),
            root: FileId::of(&found),
            view: Arc::new(View { root: path.to_owned(), identity }),
            recursive,
            directories: HashMap::from([(number, PathBuf::new())]),
            announced: HashSet::new(),
            put_in_place: None,
            uploads,
            pending: Pending::default(),
        };
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

    /// Takes what the kernel holds. False when there is more.
    pub(super) fn pump(&mut self) -> bool {
        let fd = self.fd.clone();
        let mut buffer = [MaybeUninit::uninit(); BUFFER];
        let mut reader = inotify::Reader::new(&*fd, &mut buffer);
        for _ in 0..MAX_EVENTS_AT_ONCE {
            match reader.next() {
                Ok(event) => {
                    let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
                    self.take(event.wd(), event.events(), name, event.cookie());
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
        let (root, uploads) = (Path::new(&self.view.root), &self.uploads);
        self.pending.settle(now, |name| uploads.writes_to(&root.join(name)));
    }

    fn take(&mut self, number: i32, what: ReadFlags, name: Option<&OsStr>, cookie: u32) {
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
        if Uploads::is_own(name) {
            self.put_in_place = what.contains(ReadFlags::MOVED_FROM).then_some(cookie);
            return;
        }
        if what.contains(ReadFlags::MOVED_TO) && self.put_in_place.take() == Some(cookie) {
            return;
        }
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
            if !Uploads::is_nameless(name) || reach::find(Path::new(&self.view.root).join(&path)).is_ok() {
                self.pending.push(shown, Kind::Chmod);
            }
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

    /// The watched directory, if it is still where it was.
    fn root(&self) -> Option<OwnedFd> {
        let root = reach::directory(self.view.root.as_str()).ok()?;
        (FileId::of(&fstat(&root).ok()?) == self.root).then_some(root)
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
        if !self.recursive {
            return;
        }
        let view = self.view.clone();
        if !view.identity.act(|| self.descend(path, announce)).is_ok_and(|watched| watched.is_ok()) {
            self.pending.lost();
        }
    }

    /// Watches the directories at and below `path`. What cannot be read, or vanished, is passed by.
    fn descend(&mut self, path: PathBuf, announce: bool) -> Result<(), Full> {
        let Some(root) = self.root() else { return Ok(()) };
        let mut open = vec![path];
        while let Some(path) = open.pop() {
            let Ok(dir) = reach::beneath(root.as_fd(), &path) else { continue };
            if fstatfs(&dir).is_ok_and(|found| PSEUDO.contains(&(found.f_type as u64))) {
                continue;
            }
            if !path.as_os_str().is_empty() {
                if self.directories.len() >= MAX_WATCHED {
                    return Err(Full::Ours);
                }
                match inotify::add_watch(&*self.fd, reach::by_number(dir.as_fd()), mask()) {
                    Ok(number) => drop(self.directories.insert(number, path.clone())),
                    Err(Errno::NOSPC) => return Err(Full::Kernel),
                    Err(_) => continue,
                }
            }
            let Ok(readable) = reach::reopen(&dir, OFlags::RDONLY | OFlags::DIRECTORY) else { continue };
            let Ok(entries) = Dir::new(OwnedFd::from(readable)) else { continue };
            for entry in entries.map_while(Result::ok) {
                let name = OsStr::from_bytes(entry.file_name().to_bytes());
                if name == "." || name == ".." || Uploads::is_own(name) {
                    continue;
                }
                let below = path.join(name);
                let found = statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW).ok();
                let kind = found.as_ref().map(reach::kind);
                if announce {
                    let full =
                        kind == Some(FileType::RegularFile) && found.is_some_and(|found| found.st_size > 0);
                    self.announce(&below, full);
                }
                if kind == Some(FileType::Directory) {
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
    fn announce(&mut self, path: &Path, written: bool) {
        if self.announced.len() >= MAX_ANNOUNCED || !self.announced.insert(path.to_path_buf()) {
            return;
        }
        let shown = path.to_string_lossy().into_owned();
        self.pending.push(shown.clone(), Kind::Create);
        if written {
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
