//! Snapshots: what a sandbox had written, kept under a name of its own beside the layers.
//!
//! On btrfs a subvolume that cannot be written and shares its blocks with the layer; elsewhere a copy.

use std::io;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};

use hood_driver_api::{SandboxId, SnapshotId};
use rustix::fs::Dir;

use super::{Kind, Layers};
use crate::sys::btrfs::{self, Access};

/// Begins the names of snapshots, which a sandbox's layer never has.
const PREFIX: &str = "snapshot-";

/// Ends the name of a layer or a snapshot that is not whole yet, and of one that is on its way out.
const UNFINISHED: &str = ".unfinished";

impl Layers {
    /// Writes to disk what the layer has in memory alone, so that a capture finds little left to write: its processes
    /// stand still for that. Only this layer's, whatever others write.
    pub(crate) fn settle(&self, id: &SandboxId) -> io::Result<()> {
        if self.kind == Kind::Plain {
            return Ok(());
        }
        // A snapshot writes its source's data first; this one is for that alone.
        let name = format!("{id}{UNFINISHED}");
        self.remove_named(&name)?;
        self.copy(id.as_str(), &name, Access::ReadOnly)?;
        self.remove_named(&name)
    }

    /// Keeps the layer as it is now. Nobody may write it meanwhile.
    pub(crate) fn capture(&self, id: &SandboxId, to: &SnapshotId) -> io::Result<()> {
        self.copy(id.as_str(), &name_of(to), Access::ReadOnly)
    }

    /// Replaces the layer of a sandbox that has no processes. Afterwards there is the old one or the new one, whole.
    pub(crate) fn restore(&self, id: &SandboxId, from: &SnapshotId) -> io::Result<()> {
        let (new, old) = (format!("{id}{UNFINISHED}"), id.as_str());
        self.remove_named(&new)?;
        self.copy(&name_of(from), &new, Access::Writable)?;
        rustix::fs::renameat_with(&self.dir, &new, &self.dir, old, rustix::fs::RenameFlags::EXCHANGE)?;
        self.remove_named(&new)
    }

    /// Forgets a snapshot; succeeds on what is not there.
    pub(crate) fn discard(&self, snapshot: &SnapshotId) -> io::Result<()> {
        self.remove_named(&name_of(snapshot))
    }

    /// Every whole snapshot.
    pub(crate) fn snapshots(&self) -> io::Result<Vec<SnapshotId>> {
        let mut found = Vec::new();
        for entry in Dir::read_from(&self.dir)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy();
            found.extend(name.strip_prefix(PREFIX).and_then(|id| id.parse().ok()));
        }
        Ok(found)
    }

    /// Makes a layer that begins as a copy of the snapshot.
    pub(super) fn copy_snapshot(&self, snapshot: &SnapshotId, name: &str) -> io::Result<()> {
        self.copy(&name_of(snapshot), name, Access::Writable)?;
        self.renew(name)
    }

    fn copy(&self, from: &str, to: &str, access: Access) -> io::Result<()> {
        match self.kind {
            Kind::Btrfs { .. } => {
                let source = btrfs::open_dir(self.dir.as_fd(), from)?;
                btrfs::snapshot(source.as_fd(), self.dir.as_fd(), to, access)
            }
            Kind::Plain => self.copy_files(from, to),
        }
    }

    /// File by file, with owners, links, devices and extended attributes, in which the overlay keeps its marks. Its
    /// name appears when it is whole.
    fn copy_files(&self, from: &str, to: &str) -> io::Result<()> {
        let unfinished = format!("{to}{UNFINISHED}");
        self.remove_named(&unfinished)?;
        // The layer is closed to all but this account, so that no part of these names can change meanwhile.
        let output = Command::new("cp")
            .args(["--archive", "--reflink=auto", "--no-target-directory", "--"])
            .args([self.path.join(from), self.path.join(&unfinished)])
            .stdin(Stdio::null())
            .output()?;
        if !output.status.success() {
            self.remove_named(&unfinished)?;
            let told = String::from_utf8_lossy(&output.stderr);
            let first = told.lines().next().unwrap_or("cp failed").to_owned();
            let is_full = first.contains("No space left");
            let kind = if is_full { io::ErrorKind::StorageFull } else { io::ErrorKind::Other };
            return Err(io::Error::new(kind, first));
        }
        Ok(rustix::fs::renameat(&self.dir, &unfinished, &self.dir, to)?)
    }

    /// What an earlier server was in the middle of.
    pub(super) fn remove_unfinished(&self) -> io::Result<()> {
        for entry in Dir::read_from(&self.dir)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.ends_with(UNFINISHED) {
                self.remove_named(&name)?;
            }
        }
        Ok(())
    }
}

fn name_of(snapshot: &SnapshotId) -> String {
    format!("{PREFIX}{snapshot}")
}
