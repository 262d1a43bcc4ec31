//! The user's ranges in `/etc/subuid` and `/etc/subgid`.

use std::fs;
use std::path::Path;

use crate::ids::SUB_IDS;

/// Where the first user's range begins on most distributions.
const FIRST: u32 = 100_000;

/// A user, its sub-ids, and where they are written down.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Files<'a> {
    pub(crate) uids: &'a Path,
    pub(crate) gids: &'a Path,
}

/// Of one user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ranges {
    pub(crate) uids: u32,
    pub(crate) gids: u32,
}

/// A file has no range for the user that is large enough.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoRange {
    pub(crate) user: String,
    pub(crate) file: String,
    /// The line that would do, free of overlaps with the others.
    pub(crate) line: String,
    /// Its first and last id.
    pub(crate) range: (u32, u32),
}

impl Files<'static> {
    /// The system's.
    pub(crate) fn of_this_host() -> Self {
        Self { uids: Path::new("/etc/subuid"), gids: Path::new("/etc/subgid") }
    }
}

/// The ranges of the user who runs this process.
pub(crate) fn own_range() -> Result<Ranges, NoRange> {
    let uid = rustix::process::getuid().as_raw();
    let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = name_of(&passwd, uid).unwrap_or_else(|| uid.to_string());
    ranges(Files::of_this_host(), &name, uid)
}

fn ranges(files: Files<'_>, name: &str, uid: u32) -> Result<Ranges, NoRange> {
    let text = |path| fs::read_to_string(path).unwrap_or_default();
    let (uids, gids) = (text(files.uids), text(files.gids));
    let find = |text: &str, path: &Path| {
        find(text, name, uid).ok_or_else(|| {
            let first = free(&uids).max(free(&gids));
            NoRange {
                user: name.to_owned(),
                file: path.display().to_string(),
                line: format!("{name}:{first}:{SUB_IDS}"),
                range: (first, first.saturating_add(SUB_IDS - 1)),
            }
        })
    };
    Ok(Ranges { uids: find(&uids, files.uids)?, gids: find(&gids, files.gids)? })
}

fn name_of(passwd: &str, uid: u32) -> Option<String> {
    let mut entries = passwd.lines().map(|line| line.split(':'));
    entries.find_map(|mut fields| {
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    })
}

/// The first id of a large enough range. Lines name a user or a number.
fn find(text: &str, name: &str, uid: u32) -> Option<u32> {
    let number = uid.to_string();
    let mine = lines(text).filter(|(owner, ..)| *owner == name || *owner == number);
    mine.filter(|(.., count)| *count >= SUB_IDS).map(|(_, first, _)| first).next()
}

/// The first id after all ranges.
fn free(text: &str) -> u32 {
    lines(text).map(|(_, first, count)| first.saturating_add(count)).max().unwrap_or(0).max(FIRST)
}

fn lines(text: &str) -> impl Iterator<Item = (&str, u32, u32)> {
    text.lines().filter_map(|line| {
        let mut fields = line.trim().split(':');
        Some((fields.next()?, fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_found_by_name_or_number() {
        let text = "# a remark\nann:100000:1000\nbob:200000:65536\n1002:300000:65536\n";
        assert_eq!(find(text, "bob", 1001), Some(200_000));
        assert_eq!(find(text, "cid", 1002), Some(300_000));
        assert_eq!(find(text, "ann", 1000), None, "too few");
    }

    #[test]
    fn a_missing_range_is_told_with_the_line_to_add() {
        let dir = tempfile::tempdir().expect("a directory");
        let (uids, gids) = (dir.path().join("subuid"), dir.path().join("subgid"));
        fs::write(&uids, "bob:100000:65536\n").expect("written");
        fs::write(&gids, "eve:100000:131072\n").expect("written");
        let files = Files { uids: &uids, gids: &gids };
        let told = ranges(files, "bob", 1001).expect_err("no group ids");
        assert_eq!((told.line.as_str(), told.range), ("bob:231072:65536", (231_072, 296_607)));
        assert!(told.file.ends_with("subgid"));
    }

    #[test]
    fn names_come_from_the_accounts() {
        assert_eq!(name_of("root:x:0:0::/:\nann:x:1000:1000::/:\n", 1000).as_deref(), Some("ann"));
        assert_eq!(name_of("root:x:0:0::/:\n", 1000), None);
    }
}
