//! Small control files, read and written by name beneath a group's directory.

use std::fs;
use std::io;
use std::path::Path;

/// Writes one value.
pub(super) fn write(dir: &Path, file: &str, value: impl AsRef<str>) -> io::Result<()> {
    fs::write(dir.join(file), value.as_ref()).map_err(|error| named(error, dir, file))
}

/// Writes one value where the file exists; kernels differ in the optional ones.
pub(super) fn write_if_there(dir: &Path, file: &str, value: impl AsRef<str>) -> io::Result<()> {
    match fs::write(dir.join(file), value.as_ref()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(|error| named(error, dir, file)),
    }
}

/// Reads a file that holds one number.
pub(super) fn number(dir: &Path, file: &str) -> io::Result<u64> {
    let text = fs::read_to_string(dir.join(file)).map_err(|error| named(error, dir, file))?;
    text.trim().parse().map_err(|_| named(io::ErrorKind::InvalidData.into(), dir, file))
}

/// Reads one field of a file of `name value` lines; 0 when the kernel does not report it.
pub(super) fn field(dir: &Path, file: &str, name: &str) -> io::Result<u64> {
    let text = fs::read_to_string(dir.join(file)).map_err(|error| named(error, dir, file))?;
    Ok(find_field(&text, name).unwrap_or(0))
}

fn find_field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(' ')?;
        (key == name).then(|| value.trim().parse().ok())?
    })
}

/// Makes a directory; an existing one is fine.
pub(super) fn make_dir(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other.map_err(|error| named(error, path, "")),
    }
}

/// Removes a group and all groups beneath it; what is not there is fine. Fails while processes live in one.
pub(super) fn remove_tree(path: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_tree(&entry.path())?;
        }
    }
    match fs::remove_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(|error| named(error, path, "")),
    }
}

/// The sub-groups of a group.
pub(super) fn children(path: &Path) -> io::Result<Vec<std::path::PathBuf>> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    entries
        .filter_map(|entry| match entry {
            Ok(entry) => entry.file_type().is_ok_and(|t| t.is_dir()).then(|| Ok(entry.path())),
            Err(error) => Some(Err(error)),
        })
        .collect()
}

fn named(error: io::Error, dir: &Path, file: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", dir.join(file).display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n";
        assert_eq!(find_field(text, "oom_kill"), Some(3));
        assert_eq!(find_field(text, "oom"), None);
    }
}
