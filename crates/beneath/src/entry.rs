//! What the kernel says of a file, as it is told.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hood_driver_api::{Entry, Kind};
use rustix::fs::{FileType, Mode, Stat};

pub(crate) fn entry_of(path: String, stat: &Stat, target: Option<String>) -> Entry {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        _ => Kind::Other,
    };
    Entry {
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

/// Times before 1970 are read as 1970: a tree's owner may have set any.
fn moment(secs: i64, nanos: impl TryInto<u32>) -> SystemTime {
    let nanos = nanos.try_into().unwrap_or_default().min(999_999_999);
    let since = u64::try_from(secs).map_or(Duration::ZERO, |secs| Duration::new(secs, nanos));
    UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
}
