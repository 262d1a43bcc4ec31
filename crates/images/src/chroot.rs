//! Running a step: who may do what, and where.
//!
//! The chain is `setpriv` (dies with `hood`) → `unshare` (namespaces; kills its child when it dies) → a small shell
//! script, [`ENTER`], as the first process of the pid namespace → the step. So a `kill -9` of `hood` takes every
//! process, and with the last of them the mount namespace with all its mounts. The programs are util-linux's, because
//! `unshare` is not safe to call in a process with threads, and this crate is free of unsafe code.

use std::path::Path;
use std::process::Command;

use crate::command::{ROOT_PATH, find_tool};
use crate::error::BuildError;
use crate::host::Loans;
use crate::key::LayerKey;

/// Mounts the overlay and enters it.
const ENTER: &str = include_str!("chroot/enter.sh");

/// Names beneath the temporary directory of one layer in the making.
pub(crate) mod names {
    /// Becomes the layer.
    pub(crate) const UPPER: &str = "upper";
    /// The overlay's own.
    pub(crate) const WORK: &str = "work";
    /// Where the overlay is mounted, in the step's mount namespace.
    pub(crate) const ROOT: &str = "root";
    /// Bound to [`crate::host`]'s `LENT` while the step runs.
    pub(crate) const LENT: &str = "lent";
    /// In there: the script.
    pub(crate) const SCRIPT: &str = "step.sh";
}

/// `program` in its own mount and pid namespaces, dying with this process.
pub(crate) fn contained(program: &Path, loans: &Loans) -> Result<Command, BuildError> {
    let mut command = Command::new(find_tool("setpriv", "util-linux")?);
    command
        .args(["--pdeathsig", "KILL"])
        .arg(find_tool("unshare", "util-linux")?)
        .args(["--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--ipc", "--uts"])
        .arg(program)
        .env_clear()
        .envs(&loans.env)
        .envs([
            ("PATH", ROOT_PATH),
            ("HOME", "/root"),
            ("LANG", "C.UTF-8"),
            ("DEBIAN_FRONTEND", "noninteractive"),
        ]);
    Ok(command)
}

/// The script in the temporary directory `temporary` of `layers`, on an overlay over `lower` (bottom first).
pub(crate) fn script(
    layers: &Path,
    temporary: &str,
    lower: &[LayerKey],
    loans: &Loans,
    arguments: &[String],
) -> Result<Command, BuildError> {
    // Names relative to the layers directory: mount options take one page, and a data directory may have any name.
    let lower = lower.iter().rev().map(LayerKey::as_str).collect::<Vec<_>>().join(":");
    let mut command = contained(Path::new("/bin/sh"), loans)?;
    command.args(["-eu", "-c", ENTER, "enter"]).arg(layers).args([temporary, &lower]);
    command.arg(loans.folders.len().to_string());
    for (folder, name) in &loans.folders {
        command.arg(folder).arg(name);
    }
    command.args(arguments);
    Ok(command)
}
