//! How a file is described to a client: E2B's `EntryInfo`.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use serde::Serialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::metadata;
use crate::accounts;
use crate::limits::MAX_OWNERS;

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
    fn of(found: &Metadata) -> Self {
        if found.is_file() {
            Self::File
        } else if found.is_dir() {
            Self::Directory
        } else {
            Self::Unspecified
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
    describe_as(Path::new(path), path.to_owned(), names)
}

/// Describes what is at `real`, and says that it is at `shown`: they differ where a name is not UTF-8.
pub(crate) fn describe_as(real: &Path, shown: String, names: &mut Names) -> io::Result<EntryInfo> {
    let found = fs::symlink_metadata(real)?;
    let (kind, mode, symlink_target) = if found.is_symlink() {
        let (kind, mode) = fs::metadata(real)
            .map_or((FileType::Unspecified, 0), |target| (FileType::of(&target), target.mode() & 0o777));
        (kind, mode, target(real))
    } else {
        (FileType::of(&found), found.mode() & 0o777, None)
    };
    Ok(EntryInfo {
        name: shown.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("/").to_owned(),
        kind,
        size: size(&found).to_string(),
        mode,
        permissions: permissions(&found),
        owner: names.user(found.uid()),
        group: names.group(found.gid()),
        modified_time: timestamp(found.mtime(), found.mtime_nsec()),
        symlink_target,
        metadata: if found.is_symlink() { BTreeMap::new() } else { metadata::read(real) },
        path: shown,
    })
}

/// An empty directory of btrfs has size 0; clients expect the one block that it has on most file systems.
fn size(found: &fs::Metadata) -> u64 {
    const BLOCK: u64 = 4096;
    if found.is_dir() { found.len().max(BLOCK) } else { found.len() }
}

/// Where a link leads in the end; for one that leads nowhere, what it says, made absolute.
fn target(link: &Path) -> Option<String> {
    let resolved = fs::canonicalize(link).or_else(|_| {
        let said = fs::read_link(link)?;
        Ok::<_, io::Error>(link.parent().map_or_else(|| said.clone(), |parent| parent.join(&said)))
    });
    resolved.ok().map(|path| path.to_string_lossy().into_owned())
}

/// As Go's `FileMode.String()`, which the SDKs' users know: letters of kind and set-id bits, then the nine bits.
fn permissions(found: &Metadata) -> String {
    let kind = found.file_type();
    let mode = found.mode();
    let flags = [
        ('d', kind.is_dir()),
        ('L', kind.is_symlink()),
        ('D', kind.is_block_device() || kind.is_char_device()),
        ('p', kind.is_fifo()),
        ('S', kind.is_socket()),
        ('u', mode & libc::S_ISUID != 0),
        ('g', mode & libc::S_ISGID != 0),
        ('c', kind.is_char_device()),
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
