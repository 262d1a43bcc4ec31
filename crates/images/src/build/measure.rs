//! How much room a layer takes.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Bytes of the blocks under `dir`, each hard-linked file once.
pub(super) fn tree_bytes(dir: &Path) -> io::Result<u64> {
    let mut linked = HashSet::new();
    let mut waiting = vec![dir.to_owned()];
    let mut bytes = 0;
    while let Some(dir) = waiting.pop() {
        for entry in fs::read_dir(&dir)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            if metadata.is_dir() {
                waiting.push(entry.path());
            } else if metadata.nlink() > 1 && !linked.insert(metadata.ino()) {
                continue;
            }
            bytes += metadata.blocks() * 512;
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hard_links_count_once_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a"), vec![1; 64 * 1024]).unwrap();
        let once = tree_bytes(dir.path()).unwrap();
        fs::hard_link(dir.path().join("a"), dir.path().join("b")).unwrap();
        std::os::unix::fs::symlink("/", dir.path().join("c")).unwrap();
        let twice = tree_bytes(dir.path()).unwrap();
        assert!(once >= 64 * 1024 && twice < once + 16 * 1024, "{once} {twice}");
    }
}
