//! From a path to an open handle: the way that every file operation of the guest takes.
//!
//! The kernel resolves, as the thread's account ([`Identity::act`](crate::sys::spawn::Identity::act)), and follows no
//! link that is none in a file system: those below `/proc/PID` lead to open descriptors, and for itself the kernel lets
//! a process through all of its own. The handles are opened with `O_PATH`, which reads nothing and waits for nobody; what
//! is behind one is looked at before it is opened in earnest, and cannot change in between.
//!
//! One thing no account and no capability closes: a process may read its own files below `/proc`, whoever the thread
//! is. Reached from here those are PID 1's, so they are refused by name.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, PROC_SUPER_MAGIC, ResolveFlags, Stat, openat2, readlinkat};
use rustix::io::Errno;
use rustix::path::Arg;

use crate::limits::{MAX_LINKS, MAX_RACES};

/// A handle, no more.
const HANDLE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// What of PID 1's own everybody in the sandbox may read: kept short, anything else is refused.
const OPEN_TO_ALL: &[&str] = &[
    "cgroup",
    "cmdline",
    "comm",
    "limits",
    "mountinfo",
    "mounts",
    "net",
    "oom_score",
    "oom_score_adj",
    "stat",
    "statm",
    "status",
];

/// A handle on what is at `path`, links followed.
pub(crate) fn find(path: impl Arg) -> io::Result<OwnedFd> {
    find_from(CWD, path)
}

/// The same, with relative paths beginning at `dir`.
pub(crate) fn find_from(dir: BorrowedFd<'_>, path: impl Arg) -> io::Result<OwnedFd> {
    open(dir, path, HANDLE, ResolveFlags::NO_MAGICLINKS)
}

/// A handle on the directory at `path`.
pub(crate) fn directory(path: impl Arg) -> io::Result<OwnedFd> {
    directory_from(CWD, path)
}

/// The same, with relative paths beginning at `dir`.
pub(crate) fn directory_from(dir: BorrowedFd<'_>, path: impl Arg) -> io::Result<OwnedFd> {
    open(dir, path, HANDLE | OFlags::DIRECTORY, ResolveFlags::NO_MAGICLINKS)
}

/// A handle on what is at `path` below `dir` (at `dir` itself when it is empty), no link on the way.
pub(crate) fn beneath(dir: BorrowedFd<'_>, path: &Path) -> io::Result<OwnedFd> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    open(dir, path, HANDLE | OFlags::NOFOLLOW, resolve)
}

/// A handle on the directory that holds `path`, and the name in it.
pub(crate) fn parent(path: &str) -> io::Result<(OwnedFd, &OsStr)> {
    let path = Path::new(path);
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    Ok((directory(parent)?, name))
}

/// Opens what a handle is on. Nobody is waited for, and no terminal taken.
pub(crate) fn reopen(handle: impl AsFd, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(rustix::fs::openat(CWD, by_number(handle.as_fd()), flags, Mode::empty())?.into())
}

/// The regular file at `path`, to read.
pub(crate) fn regular(path: impl Arg) -> io::Result<File> {
    let handle = find(path)?;
    if kind(&rustix::fs::fstat(&handle)?) != FileType::RegularFile {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    reopen(handle, OFlags::RDONLY)
}

/// What a link says.
pub(crate) fn link(dir: BorrowedFd<'_>, name: impl Arg) -> rustix::io::Result<PathBuf> {
    let said = readlinkat(dir, name, Vec::new())?;
    Ok(PathBuf::from(OsStr::from_bytes(said.as_bytes())))
}

/// What a link says that may be PID 1's own, below `/proc`.
pub(crate) fn own_word(dir: BorrowedFd<'_>, name: &Path) -> io::Result<PathBuf> {
    let link_itself = open(dir, name, HANDLE | OFlags::NOFOLLOW, ResolveFlags::NO_MAGICLINKS)?;
    Ok(link(link_itself.as_fd(), "")?)
}

/// The path by which the kernel takes a descriptor of this thread for what it is on. It is the guest's own word and
/// never part of a path from outside.
pub(crate) fn by_number(handle: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", handle.as_raw_fd())
}

/// Where a handle's file is by now.
pub(crate) fn whereabouts(handle: BorrowedFd<'_>) -> rustix::io::Result<PathBuf> {
    link(CWD, by_number(handle))
}

/// What kind of file it is.
pub(crate) fn kind(found: &Stat) -> FileType {
    FileType::from_raw_mode(found.st_mode)
}

/// Where a file is, or will be made: links at the end of a path are followed one by one, since the last may lead to where
/// nothing is yet.
pub(crate) struct Place {
    /// The directory that holds it.
    pub(crate) dir: OwnedFd,
    /// Its name in there, which is no link's.
    pub(crate) name: PathBuf,
}

/// The place that `path` means, in `dir`, which is where a relative path begins.
pub(crate) fn place(dir: OwnedFd, path: &Path) -> io::Result<Place> {
    let (mut dir, mut path) = (dir, path.to_owned());
    for _ in 0..MAX_LINKS {
        let Some(name) = path.file_name().filter(|_| !path.as_os_str().as_bytes().ends_with(b"/")) else {
            return Err(Errno::ISDIR.into());
        };
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            dir = directory_from(dir.as_fd(), parent)?;
        }
        match link(dir.as_fd(), name) {
            Ok(target) => path = target,
            Err(Errno::INVAL | Errno::NOENT) => return Ok(Place { dir, name: name.into() }),
            Err(errno) => return Err(errno.into()),
        }
    }
    Err(Errno::LOOP.into())
}

fn open(dir: BorrowedFd<'_>, path: impl Arg, flags: OFlags, resolve: ResolveFlags) -> io::Result<OwnedFd> {
    let path = path.into_c_str()?;
    for _ in 0..MAX_RACES {
        match openat2(dir, &*path, flags, Mode::empty(), resolve) {
            // Something on the way was renamed at this moment.
            Err(Errno::AGAIN) => {}
            Err(errno) => return Err(errno.into()),
            Ok(handle) => {
                refuse_own(&handle)?;
                return Ok(handle);
            }
        }
    }
    Err(io::ErrorKind::ResourceBusy.into())
}

/// Refuses a handle on what only PID 1 may read of itself.
fn refuse_own(handle: &OwnedFd) -> io::Result<()> {
    if rustix::fs::fstatfs(handle)?.f_type != PROC_SUPER_MAGIC {
        return Ok(());
    }
    let path = whereabouts(handle.as_fd())?;
    // There is no other of its kind in a sandbox.
    let path = path.strip_prefix("/proc").map_err(|_| Errno::ACCESS)?;
    let mut parts = path.components().map(|part| part.as_os_str().to_str().unwrap_or_default());
    // `/proc` itself, or something of the kernel's.
    let Some(pid) = parts.next().and_then(|name| name.parse::<u32>().ok()) else { return Ok(()) };
    // Threads have a directory of their own below `/proc`, under their number.
    if rustix::fs::lstat(format!("/proc/self/task/{pid}")).is_err() {
        return Ok(());
    }
    let mut name = parts.next();
    if name == Some("task") {
        name = parts.next().and_then(|_thread| parts.next());
    }
    if name.is_none_or(|name| OPEN_TO_ALL.contains(&name)) { Ok(()) } else { Err(Errno::ACCESS.into()) }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn said(path: &str) -> Result<(), Option<i32>> {
        find(path).map(drop).map_err(|error| error.raw_os_error())
    }

    #[test]
    fn links_to_descriptors_are_no_way() {
        let dir = tempfile::tempdir().unwrap();
        let door = dir.path().join("door");
        for target in ["/proc/self/fd/0", "/proc/self/root", "/proc/thread-self/cwd", "/proc/self/exe"] {
            assert_eq!(said(target), Err(Some(libc::ELOOP)), "{target}");
            symlink(target, &door).unwrap();
            assert_eq!(said(door.to_str().unwrap()), Err(Some(libc::ELOOP)), "{target}");
            fs::remove_file(&door).unwrap();
        }
    }

    #[test]
    fn what_a_process_may_read_of_itself_is_refused() {
        let (pid, thread) = (std::process::id(), rustix::thread::gettid().as_raw_nonzero());
        for name in ["maps", "environ", "mem", "auxv", "smaps", "syscall", "fd", "ns", "fdinfo"] {
            for own in
                ["self", "thread-self", &pid.to_string(), &thread.to_string(), &format!("self/task/{thread}")]
            {
                assert_eq!(said(&format!("/proc/{own}/{name}")), Err(Some(libc::EACCES)), "{own}/{name}");
            }
        }
        for path in [
            "/proc",
            "/proc/self",
            "/proc/self/task",
            "/proc/self/comm",
            "/proc/mounts",
            "/proc/net/dev",
            "/proc/1",
        ] {
            assert_eq!(said(path), Ok(()), "{path}");
        }
        assert_eq!(said("/proc/1/comm"), Ok(()));
    }

    #[test]
    fn a_place_is_where_the_last_link_leads() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| {
            let place = place(directory(dir.path()).unwrap(), Path::new(path)).unwrap();
            (whereabouts(place.dir.as_fd()).unwrap().join(place.name))
                .strip_prefix(dir.path())
                .map(Path::to_path_buf)
        };
        fs::create_dir_all(dir.path().join("a/b")).unwrap();
        symlink("a/one", dir.path().join("zero")).unwrap();
        symlink("../a/b/two", dir.path().join("a/one")).unwrap();
        symlink(dir.path().join("three"), dir.path().join("a/b/two")).unwrap();
        assert_eq!(at("zero"), Ok("three".into()));
        assert_eq!(at("a/b/new"), Ok("a/b/new".into()));
        symlink("loop", dir.path().join("loop")).unwrap();
        let there = || directory(dir.path()).unwrap();
        assert_eq!(place(there(), Path::new("loop")).err().and_then(|e| e.raw_os_error()), Some(libc::ELOOP));
        symlink("a/", dir.path().join("slash")).unwrap();
        assert_eq!(
            place(there(), Path::new("slash")).err().and_then(|e| e.raw_os_error()),
            Some(libc::EISDIR)
        );
    }
}
