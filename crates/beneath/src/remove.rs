//! Removing a tree that a sandbox wrote: names may be any bytes, folders may lie thousands deep, and links lead
//! anywhere.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// Removes `name` and everything beneath it, by handle and without following a link.
///
/// Folders within folders are first moved to the top, so that whatever the depth two handles are open at a time and no
/// path is longer than one name.
pub fn remove(parent: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    let top = open_dir(parent, name)?;
    make_accessible(&top)?;
    let mut moved: u64 = 0;
    loop {
        let folders = empty(&top, None)?;
        if folders.is_empty() {
            break;
        }
        for folder in folders {
            let inner = open(&top, &folder)?;
            make_accessible(&inner)?;
            empty(&inner, Some((&top, &mut moved)))?;
            drop(inner);
            rustix::fs::unlinkat(&top, &folder, AtFlags::REMOVEDIR)?;
        }
    }
    Ok(rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)?)
}

/// Removes what can be removed at once. Folders are moved to `to`, or else returned.
fn empty(dir: &OwnedFd, mut to: Option<(&OwnedFd, &mut u64)>) -> io::Result<Vec<CString>> {
    let mut folders = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        match rustix::fs::unlinkat(dir, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => continue,
            Err(Errno::ISDIR | Errno::PERM) => {}
            Err(error) => return Err(error.into()),
        }
        match rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => continue,
            Err(Errno::NOTEMPTY | Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        match &mut to {
            Some((top, moved)) => lift(dir, name, top, moved)?,
            None => folders.push(name.to_owned()),
        }
    }
    Ok(folders)
}

/// Moves a folder up under a name that nothing has.
fn lift(dir: &OwnedFd, name: &CStr, top: &OwnedFd, moved: &mut u64) -> io::Result<()> {
    loop {
        *moved += 1;
        let free = format!(".hood-{moved}");
        let flags = rustix::fs::RenameFlags::NOREPLACE;
        match rustix::fs::renameat_with(dir, name, top, free, flags) {
            Err(Errno::EXIST) => {}
            // The list of a folder that is being changed may name one twice.
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

fn open(dir: &OwnedFd, name: &CStr) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(dir.as_fd(), name, flags, Mode::empty())?)
}

fn open_dir(parent: BorrowedFd<'_>, name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Ok(rustix::fs::openat2(parent, name, flags, Mode::empty(), resolve)?)
}

/// Whoever owns a folder may have closed it to its owner. Root does not care; a test without root would.
fn make_accessible(dir: &OwnedFd) -> io::Result<()> {
    match rustix::fs::fchmod(dir, Mode::RWXU) {
        Err(Errno::PERM) => Ok(()),
        other => Ok(other?),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn depth_odd_names_and_links_do_not_matter() {
        let parent = tempfile::tempdir().expect("a directory");
        let outside = tempfile::tempdir().expect("a directory");
        fs::write(outside.path().join("kept"), "").expect("written");
        let tree = parent.path().join("tree");
        fs::create_dir(&tree).expect("made");
        fs::write(tree.join(std::ffi::OsStr::from_bytes(b"no\xfftext")), "").expect("written");
        fs::create_dir(tree.join(".hood-1")).expect("made");
        fs::write(tree.join(".hood-1/file"), "").expect("written");
        std::os::unix::fs::symlink(outside.path(), tree.join("link")).expect("made");
        let mut dir = OwnedFd::from(fs::File::open(&tree).expect("opened"));
        for _ in 0..3000 {
            rustix::fs::mkdirat(&dir, "deep", Mode::RWXU).expect("made");
            dir = open_dir(dir.as_fd(), "deep").expect("opened");
        }
        drop(dir);
        let top = OwnedFd::from(fs::File::open(parent.path()).expect("opened"));
        remove(top.as_fd(), "tree").expect("removed");
        assert!(!tree.exists() && outside.path().join("kept").exists());
    }
}
