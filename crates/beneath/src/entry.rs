//! What is told of a file, and what it is given.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{FileType, Mode, Stat};

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
    pub(crate) fn of(path: String, stat: &Stat, target: Option<String>) -> Self {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Folder,
            FileType::Symlink => Kind::Link,
            _ => Kind::Other,
        };
        Self {
            path,
            kind,
            size: stat.st_size.try_into().unwrap_or_default(),
            mode: stat.st_mode & Mode::from_raw_mode(0o7777).bits(),
            uid: stat.st_uid,
            gid: stat.st_gid,
            read_at: moment(stat.st_atime, stat.st_atime_nsec),
            changed_at: moment(stat.st_mtime, stat.st_mtime_nsec),
            touched_at: moment(stat.st_ctime, stat.st_ctime_nsec),
            target,
        }
    }

    /// The last part of its path; `/` of the top.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').find(|part| !part.is_empty()).unwrap_or("/")
    }
}

/// Times before 1970 are read as 1970: a tree's owner may have set any.
fn moment(secs: i64, nanos: impl TryInto<u32>) -> SystemTime {
    let nanos = nanos.try_into().unwrap_or_default().min(999_999_999);
    let since = u64::try_from(secs).map_or(Duration::ZERO, |secs| Duration::new(secs, nanos));
    UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
}
