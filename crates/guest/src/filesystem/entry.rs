//! How a file is described to a client: E2B's `EntryInfo`.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType as Is, Stat, fstat, statat};
use serde::Serialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::metadata;
use crate::accounts;
use crate::limits::MAX_OWNERS;
use crate::reach;

/// One file, directory or link, in protobuf's JSON mapping.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EntryInfo {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) kind: FileType,
    pub(crate) path: String,
    /// An int64, which protobuf's JSON writes as a string.
    size: String,
    mode: u32,
    permissions: String,
    owner: String,
    group: String,
    modified_time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    symlink_target: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) metadata: BTreeMap<String, String>,
}

impl EntryInfo {
    /// About how many bytes its text takes.
    pub(crate) fn weight(&self) -> usize {
        let metadata: usize = self.metadata.iter().map(|(key, value)| key.len() + value.len()).sum();
        let target = self.symlink_target.as_ref().map_or(0, String::len);
        256 + self.name.len() + self.path.len() + target + metadata
    }

    /// Whether it is itself what it is described as.
    pub(crate) fn is_no_link(&self) -> bool {
        !self.permissions.starts_with('L')
    }
}

/// What it is. A link is reported as what it leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum FileType {
    /// Neither file nor directory: a pipe, socket, device, or a link that leads nowhere.
    #[serde(rename = "FILE_TYPE_UNSPECIFIED")]
    Unspecified,
    #[serde(rename = "FILE_TYPE_FILE")]
    File,
    #[serde(rename = "FILE_TYPE_DIRECTORY")]
    Directory,
}

impl FileType {
    fn of(found: &Stat) -> Self {
        match reach::kind(found) {
            Is::RegularFile => Self::File,
            Is::Directory => Self::Directory,
            _ => Self::Unspecified,
        }
    }
}

/// Names of owners, remembered for one answer.
#[derive(Default)]
pub(crate) struct Names {
    users: HashMap<u32, String>,
    groups: HashMap<u32, String>,
}

impl Names {
    fn user(&mut self, uid: u32) -> String {
        remembered(&mut self.users, uid, accounts::user_name)
    }

    fn group(&mut self, gid: u32) -> String {
        remembered(&mut self.groups, gid, accounts::group_name)
    }
}

fn remembered(names: &mut HashMap<u32, String>, id: u32, look_up: fn(u32) -> String) -> String {
    if let Some(name) = names.get(&id) {
        return name.clone();
    }
    if names.len() >= MAX_OWNERS {
        return id.to_string();
    }
    names.entry(id).or_insert_with(|| look_up(id)).clone()
}

/// Describes what is at `path`, which stays as given.
pub(crate) fn describe(path: &str, names: &mut Names) -> io::Result<EntryInfo> {
    match reach::parent(path) {
        Ok((dir, name)) => describe_in(dir.as_fd(), Path::new(name), path.to_owned(), names),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            let root = reach::directory(path)?;
            describe_in(root.as_fd(), Path::new("."), path.to_owned(), names)
        }
        Err(error) => Err(error),
    }
}

/// Describes what is called `name` in `dir`, and says that it is at `shown`, which is not its name where that is not
/// UTF-8.
pub(crate) fn describe_in(
    dir: BorrowedFd<'_>,
    name: &Path,
    shown: String,
    names: &mut Names,
) -> io::Result<EntryInfo> {
    let found = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let is_link = reach::kind(&found) == Is::Symlink;
    let (kind, mode, symlink_target) = if is_link {
        let (kind, mode, target) = behind(dir, name);
        (kind, mode, target)
    } else {
        (FileType::of(&found), found.st_mode & 0o777, None)
    };
    Ok(EntryInfo {
        name: shown.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("/").to_owned(),
        kind,
        size: size(&found).to_string(),
        mode,
        permissions: permissions(&found),
        owner: names.user(found.st_uid),
        group: names.group(found.st_gid),
        modified_time: timestamp(found.st_mtime, i64::try_from(found.st_mtime_nsec).unwrap_or_default()),
        symlink_target,
        metadata: if is_link { BTreeMap::new() } else { metadata::read(dir, name) },
        path: shown,
    })
}

/// What a link leads to: its kind, mode and path. For one that leads nowhere, what it says, made absolute.
fn behind(dir: BorrowedFd<'_>, name: &Path) -> (FileType, u32, Option<String>) {
    let shown = |path: std::path::PathBuf| path.to_string_lossy().into_owned();
    if let Ok(end) = reach::find_from(dir, name) {
        let (kind, mode) = fstat(&end)
            .map_or((FileType::Unspecified, 0), |found| (FileType::of(&found), found.st_mode & 0o777));
        return (kind, mode, reach::whereabouts(end.as_fd()).ok().map(shown));
    }
    let said = reach::own_word(dir, name).ok();
    let base = said.as_ref().and_then(|_| reach::whereabouts(dir).ok());
    (
        FileType::Unspecified,
        0,
        said.map(|said| shown(base.map_or_else(|| said.clone(), |base| base.join(&said)))),
    )
}

/// An empty directory of btrfs has size 0; clients expect the one block that it has on most file systems.
fn size(found: &Stat) -> u64 {
    const BLOCK: u64 = 4096;
    let size = u64::try_from(found.st_size).unwrap_or_default();
    if reach::kind(found) == Is::Directory { size.max(BLOCK) } else { size }
}

/// As Go's `FileMode.String()`, which the SDKs' users know: letters of kind and set-id bits, then the nine bits.
fn permissions(found: &Stat) -> String {
    let kind = reach::kind(found);
    let mode = found.st_mode;
    let flags = [
        ('d', kind == Is::Directory),
        ('L', kind == Is::Symlink),
        ('D', matches!(kind, Is::BlockDevice | Is::CharacterDevice)),
        ('p', kind == Is::Fifo),
        ('S', kind == Is::Socket),
        ('u', mode & libc::S_ISUID != 0),
        ('g', mode & libc::S_ISGID != 0),
        ('c', kind == Is::CharacterDevice),
        ('t', mode & libc::S_ISVTX != 0),
    ];
    let mut text: String = flags.iter().filter(|(_, set)| *set).map(|(letter, _)| *letter).collect();
    if text.is_empty() {
        text.push('-');
    }
    text.extend(
        "rwxrwxrwx".chars().enumerate().map(|(at, c)| if mode & (0o400 >> at) == 0 { '-' } else { c }),
    );
    text
}

/// RFC 3339 within the years that protobuf's timestamps have; a file may claim any other.
fn timestamp(seconds: i64, nanoseconds: i64) -> String {
    let moment = OffsetDateTime::from_unix_timestamp_nanos(
        i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds),
    );
    moment
        .ok()
        .filter(|moment| (1..=9999).contains(&moment.year()))
        .and_then(|moment| moment.format(&Rfc3339).ok())
        .unwrap_or_else(|| "1970-01-01T00:00:00Z".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rfc_3339_or_the_epoch() {
        assert_eq!(timestamp(0, 5_000_000), "1970-01-01T00:00:00.005Z");
        assert_eq!(timestamp(i64::MAX, 0), "1970-01-01T00:00:00Z");
        assert_eq!(timestamp(-99_999_999_999, 0), "1970-01-01T00:00:00Z");
    }
}
