//! The files of a volume, for who reaches them without a sandbox.

use std::fs::File;
use std::io;
use std::time::SystemTime;

/// The tree that a volume is. All paths are of that tree: `/a/b`, `a/b` and `/a/./b` are the same, and `..` of the top is
/// the top. Links lead to places within it. Sandboxes may be writing it at this moment. Every method blocks.
///
/// Of errors the kind says what is the matter: beside the usual ones `InvalidInput` for what is no file or folder, or no
/// path; `FileTooLarge` for more entries than were asked for; `ResourceBusy` for what changes while it is looked up.
pub trait Files: Send + Sync {
    /// What is told of a file; of a link itself.
    fn stat(&self, path: &str) -> io::Result<Entry>;

    /// What is in a folder, and `depth - 1` levels further down, sorted by path. No more than `most` entries.
    fn list(&self, path: &str, depth: usize, most: usize) -> io::Result<Vec<Entry>>;

    /// Makes a folder. With `parents` those above are made, too, and one that is there already is no error.
    fn make_folder(&self, path: &str, given: Given, parents: bool) -> io::Result<Entry>;

    /// Changes owner and rights of a file or a folder. Links and devices have none to change here.
    fn change(&self, path: &str, given: Given) -> io::Result<Entry>;

    /// Removes a file, a link, or a folder with all that is in it. The top cannot be removed.
    fn remove(&self, path: &str) -> io::Result<()>;

    /// Opens a regular file for reading, with its size.
    fn read(&self, path: &str) -> io::Result<(File, u64)>;

    /// Begins a file. Where there is one of this name and `overwrite` is not set, it fails now rather than at the end.
    fn write(&self, path: &str, given: Given, overwrite: bool) -> io::Result<Box<dyn Upload>>;
}

/// A file that is there whole or not at all: it has no name until [`Upload::finish`]. Dropping it leaves nothing.
pub trait Upload: Send {
    /// Where its content is written.
    fn file(&self) -> io::Result<File>;

    /// Gives it its name; a file that bears it is replaced in one step, where that was asked for.
    fn finish(self: Box<Self>) -> io::Result<Entry>;
}

/// One file, folder or link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its path from the top, beginning with `/`.
    pub path: String,
    /// What it is.
    pub kind: Kind,
    /// Bytes.
    pub size: u64,
    /// Permission bits.
    pub mode: u32,
    /// Its owner.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// When it was last read.
    pub read_at: SystemTime,
    /// When its content last changed.
    pub changed_at: SystemTime,
    /// When anything of it last changed.
    pub touched_at: SystemTime,
    /// Where a link leads.
    pub target: Option<String>,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A pipe, a socket, a device.
    Other,
}

/// Owner and rights for a file; what is absent stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Given {
    /// Its owner.
    pub uid: Option<u32>,
    /// Its group.
    pub gid: Option<u32>,
    /// Permission bits.
    pub mode: Option<u32>,
}

impl Entry {
    /// The last part of its path; `/` of the top.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').find(|part| !part.is_empty()).unwrap_or("/")
    }
}
