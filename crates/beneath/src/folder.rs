//! The top of a tree, and what can be done beneath it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, FileType, Gid, Mode, OFlags, ResolveFlags, Uid};
use rustix::io::Errno;

use crate::entry::entry_of;
use crate::upload::Unnamed;
use hood_driver_api::{Entry, Files, Given, Kind, Upload};

/// Most retries when the kernel reports a race with a rename.
const RACES: usize = 32;

/// Folders within folders that [`Folder::list`] goes down.
const DEPTH: usize = 64;

/// The top of a tree.
#[derive(Debug)]
pub struct Folder(OwnedFd);

/// Where something is or will be.
struct Place {
    parent: OwnedFd,
    name: String,
    path: String,
}

impl Folder {
    /// The tree beneath this directory.
    pub fn new(top: OwnedFd) -> Self {
        Self(top)
    }

    fn make_one(&self, path: &str, given: Given, may_exist: bool) -> io::Result<()> {
        let Some(Place { parent, name, .. }) = self.place(path)? else { return Ok(()) };
        match rustix::fs::mkdirat(&parent, &*name, Mode::RWXU) {
            // A folder, or a link to one within the tree.
            Err(Errno::EXIST) if may_exist => {
                self.open(path, OFlags::PATH | OFlags::DIRECTORY).map(drop)?;
                Ok(())
            }
            made => {
                made?;
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                give(rustix::fs::openat(&parent, &*name, flags, Mode::empty())?.as_fd(), given)
            }
        }
    }

    /// Opens what a path leads to, through links within the tree unless told otherwise.
    fn open(&self, path: &str, flags: OFlags) -> io::Result<OwnedFd> {
        let path = normal(path)?;
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
        for _ in 0..RACES {
            let opened =
                rustix::fs::openat2(&self.0, &*path, flags | OFlags::CLOEXEC, Mode::empty(), resolve);
            match opened {
                Err(Errno::AGAIN) => {}
                // Links that lead to each other, or one where none may be.
                Err(Errno::LOOP) => return Err(io::ErrorKind::InvalidInput.into()),
                other => return Ok(other?),
            }
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    /// The folder that holds the last name of a path, and that name; none for the top.
    fn place(&self, path: &str) -> io::Result<Option<Place>> {
        let path = normal(path)?;
        let (above, name) = path.rsplit_once('/').unwrap_or(("", &path));
        if name.is_empty() {
            return Ok(None);
        }
        let above = if above.is_empty() { "/" } else { above };
        let parent = self.open(above, OFlags::PATH | OFlags::DIRECTORY)?;
        Ok(Some(Place { parent, name: name.to_owned(), path: path.clone() }))
    }
}

impl Files for Folder {
    fn stat(&self, path: &str) -> io::Result<Entry> {
        match self.place(path)? {
            None => Ok(entry_of("/".to_owned(), &rustix::fs::fstat(&self.0)?, None)),
            Some(Place { parent, name, path }) => entry(parent.as_fd(), &name, path),
        }
    }

    fn list(&self, path: &str, depth: usize, most: usize) -> io::Result<Vec<Entry>> {
        let top = self.open(path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let mut found = Vec::new();
        let mut folders = vec![(top, normal(path)?, depth.clamp(1, DEPTH))];
        while let Some((folder, path, depth)) = folders.pop() {
            for item in Dir::read_from(&folder)? {
                let item = item?;
                // Names that are no text cannot be told.
                let Ok(name) = item.file_name().to_str() else { continue };
                if name == "." || name == ".." {
                    continue;
                }
                let entry =
                    match entry(folder.as_fd(), name, format!("{}/{name}", path.trim_end_matches('/'))) {
                        // Gone since it was listed.
                        Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                        other => other?,
                    };
                if entry.kind == Kind::Folder && depth > 1 {
                    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                    match rustix::fs::openat(&folder, name, flags, Mode::empty()) {
                        Ok(inner) => folders.push((inner, entry.path.clone(), depth - 1)),
                        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                if found.len() >= most {
                    return Err(io::Error::new(
                        io::ErrorKind::FileTooLarge,
                        format!("there are more than {most} entries"),
                    ));
                }
                found.push(entry);
            }
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    fn make_folder(&self, path: &str, given: Given, parents: bool) -> io::Result<Entry> {
        let path = normal(path)?;
        if path == "/" {
            return if parents { self.stat("/") } else { Err(io::ErrorKind::AlreadyExists.into()) };
        }
        if parents {
            let ends = path.match_indices('/').map(|(at, _)| at).skip(1).chain([path.len()]);
            for end in ends {
                self.make_one(&path[..end], given, true)?;
            }
        } else {
            self.make_one(&path, given, false)?;
        }
        self.stat(&path)
    }

    fn change(&self, path: &str, given: Given) -> io::Result<Entry> {
        // A pipe without a writer would hold up an ordinary open.
        let file = self.open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW)?;
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode);
        if !matches!(kind, FileType::RegularFile | FileType::Directory) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        give(file.as_fd(), given)?;
        Ok(entry_of(normal(path)?, &rustix::fs::fstat(&file)?, None))
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        let Place { parent, name, .. } = self.place(path)?.ok_or(io::ErrorKind::InvalidInput)?;
        match rustix::fs::unlinkat(&parent, &*name, AtFlags::empty()) {
            Err(Errno::ISDIR | Errno::PERM) => crate::remove(parent.as_fd(), &name),
            other => Ok(other?),
        }
    }

    fn read(&self, path: &str) -> io::Result<(File, u64)> {
        let file = self.open(path, OFlags::RDONLY | OFlags::NONBLOCK)?;
        let stat = rustix::fs::fstat(&file)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok((file.into(), stat.st_size.try_into().unwrap_or_default())),
            FileType::Directory => Err(io::ErrorKind::IsADirectory.into()),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    fn write(&self, path: &str, given: Given, overwrite: bool) -> io::Result<Box<dyn Upload>> {
        let Place { parent, name, path } = self.place(path)?.ok_or(io::ErrorKind::IsADirectory)?;
        match entry(parent.as_fd(), &name, path.clone()) {
            Ok(Entry { kind: Kind::Folder, .. }) => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(_) if !overwrite => return Err(io::ErrorKind::AlreadyExists.into()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(Box::new(Unnamed::begin(parent, path, name, given, overwrite)?))
    }
}

/// Owner, then rights: a change of the owner takes set-user-id away.
pub(crate) fn give(file: BorrowedFd<'_>, given: Given) -> io::Result<()> {
    if given.uid.is_some() || given.gid.is_some() {
        rustix::fs::fchown(file, given.uid.map(Uid::from_raw), given.gid.map(Gid::from_raw))?;
    }
    if let Some(mode) = given.mode {
        rustix::fs::fchmod(file, Mode::from_raw_mode(mode & 0o7777))?;
    }
    Ok(())
}

fn entry(parent: BorrowedFd<'_>, name: &str, path: String) -> io::Result<Entry> {
    let stat = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let target = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => Some(rustix::fs::readlinkat(parent, name, Vec::new())?),
        _ => None,
    };
    Ok(entry_of(path, &stat, target.map(|target| target.to_string_lossy().into_owned())))
}

/// `/` and the parts that say something; `..` takes the part before it away, as it does at a shell's prompt.
fn normal(path: &str) -> io::Result<String> {
    if path.contains('\0') {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    Ok(format!("/{}", parts.join("/")))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{ErrorKind, Read, Write};
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn folder(dir: &tempfile::TempDir) -> Folder {
        Folder::new(fs::File::open(dir.path()).expect("opened").into())
    }

    fn put(folder: &Folder, path: &str, text: &str, overwrite: bool) -> io::Result<Entry> {
        let upload = folder.write(path, Given { mode: Some(0o640), ..Given::default() }, overwrite)?;
        upload.file()?.write_all(text.as_bytes())?;
        upload.finish()
    }

    fn text(folder: &Folder, path: &str) -> io::Result<String> {
        let mut text = String::new();
        folder.read(path)?.0.read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn files_come_whole_and_replace_only_when_asked() {
        let dir = tempfile::tempdir().expect("a directory");
        let top = folder(&dir);
        let made = put(&top, "a.txt", "one", false).expect("written");
        assert_eq!((made.path.as_str(), made.name(), made.size, made.mode), ("/a.txt", "a.txt", 3, 0o640));
        assert_eq!(put(&top, "/a.txt", "two", false).expect_err("there").kind(), ErrorKind::AlreadyExists);
        put(&top, "//./a.txt", "two", true).expect("replaced");
        assert_eq!(text(&top, "x/../a.txt").expect("read"), "two");
        assert_eq!(put(&top, "none/b", "", true).expect_err("no folder").kind(), ErrorKind::NotFound);
        // One that is dropped leaves nothing.
        drop(top.write("c", Given::default(), false).expect("begun"));
        assert_eq!(top.list("/", 1, 10).expect("listed").len(), 1);
    }

    #[test]
    fn folders_are_made_listed_and_removed() {
        let dir = tempfile::tempdir().expect("a directory");
        let top = folder(&dir);
        assert_eq!(
            top.make_folder("a/b/c", Given::default(), false).expect_err("no parent").kind(),
            ErrorKind::NotFound
        );
        top.make_folder("a/b/c", Given { mode: Some(0o755), ..Given::default() }, true).expect("made");
        top.make_folder("a/b/c", Given::default(), true).expect("there already");
        assert_eq!(
            top.make_folder("a", Given::default(), false).expect_err("there").kind(),
            ErrorKind::AlreadyExists
        );
        put(&top, "a/b/f", "x", false).expect("written");
        assert!(top.make_folder("a/b/f", Given::default(), true).is_err());
        let paths =
            |depth| top.list("a", depth, 99).expect("listed").into_iter().map(|e| e.path).collect::<Vec<_>>();
        assert_eq!(paths(1), ["/a/b"]);
        assert_eq!(paths(3), ["/a/b", "/a/b/c", "/a/b/f"]);
        assert!(top.list("a", 3, 2).is_err(), "no more than was asked for");
        top.remove("a").expect("removed");
        assert_eq!(top.remove("a").expect_err("gone").kind(), ErrorKind::NotFound);
        assert!(top.remove("/").is_err() && top.remove("..").is_err());
    }

    #[test]
    fn links_lead_nowhere_else() {
        let dir = tempfile::tempdir().expect("a directory");
        let outside = tempfile::tempdir().expect("a directory");
        fs::write(outside.path().join("secret"), "s").expect("written");
        symlink(outside.path(), dir.path().join("out")).expect("made");
        symlink("../../../../../../etc", dir.path().join("up")).expect("made");
        symlink("/proc/self/root", dir.path().join("magic")).expect("made");
        let top = folder(&dir);
        for path in ["out/secret", "up/passwd", "magic/etc/passwd", "../../etc/passwd"] {
            assert!(text(&top, path).is_err(), "{path}");
            assert!(put(&top, path, "x", true).is_err(), "{path}");
            assert!(top.stat(path).is_err(), "{path}");
        }
        let link = top.stat("out").expect("a link");
        assert_eq!((link.kind, link.target.as_deref()), (Kind::Link, outside.path().to_str()));
        assert!(top.change("out", Given { mode: Some(0o777), ..Given::default() }).is_err());
        // A link is replaced, not followed.
        put(&top, "out", "mine", true).expect("written");
        top.remove("up").expect("the link itself");
        assert_eq!(fs::read_to_string(outside.path().join("secret")).expect("there"), "s");
        assert_eq!(fs::read_dir(outside.path()).expect("read").count(), 1);
    }

    #[test]
    fn a_pipe_holds_nobody_up() {
        let dir = tempfile::tempdir().expect("a directory");
        rustix::fs::mknodat(rustix::fs::CWD, dir.path().join("pipe"), FileType::Fifo, Mode::RWXU, 0)
            .expect("made");
        let top = folder(&dir);
        assert!(top.read("pipe").is_err());
        assert!(top.change("pipe", Given { mode: Some(0o777), ..Given::default() }).is_err());
        assert_eq!(top.stat("pipe").expect("told").kind, Kind::Other);
    }

    #[test]
    fn exchanging_a_folder_for_a_link_meanwhile_leads_nowhere() {
        let dir = tempfile::tempdir().expect("a directory");
        let outside = tempfile::tempdir().expect("a directory");
        fs::create_dir(dir.path().join("a")).expect("made");
        symlink(outside.path(), dir.path().join("b")).expect("made");
        let (top, stop) = (folder(&dir), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let flags = rustix::fs::RenameFlags::EXCHANGE;
                let (a, b) = (dir.path().join("a"), dir.path().join("b"));
                while !stop.load(Ordering::Relaxed) {
                    rustix::fs::renameat_with(rustix::fs::CWD, &a, rustix::fs::CWD, &b, flags)
                        .expect("exchanged");
                }
            });
            for n in 0..2000 {
                // Whether it works depends on the moment; where it writes does not.
                drop(put(&top, "a/file", "x", true));
                drop(top.make_folder(&format!("a/f{n}/g"), Given::default(), true));
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert_eq!(fs::read_dir(outside.path()).expect("read").count(), 0);
    }
}
