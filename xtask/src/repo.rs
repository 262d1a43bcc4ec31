//! Where things are.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository").to_owned()
}

/// Where cargo puts things, and where we put what can be made again.
pub(crate) fn target() -> PathBuf {
    root().join("target")
}

/// Every file of the repository that git does not ignore, relative to the root: what is tracked, and what will be.
pub(crate) fn files() -> Result<Vec<PathBuf>> {
    let output = Command::new("git")
        .current_dir(root())
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .output()
        .context("cannot run git")?;
    ensure!(output.status.success(), "git ls-files: {}", String::from_utf8_lossy(&output.stderr).trim());
    let names = String::from_utf8(output.stdout).context("a file's name is no UTF-8")?;
    let files = names.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from);
    // Git lists a deleted file until the deletion is committed.
    Ok(files.filter(|file| root().join(file).is_file()).collect())
}

/// A file's text, or `None` when it holds something else.
pub(crate) fn text(file: &Path) -> Option<String> {
    std::fs::read_to_string(root().join(file)).ok()
}
