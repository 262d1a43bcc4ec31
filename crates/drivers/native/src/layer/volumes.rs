//! Volumes: beside the layers, a folder each, with a hard size where the host allows one.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use hood_driver_api::{Bytes, VolumeId};
use rustix::fs::{Dir, Mode};

use super::{Kind, Layers};
use crate::sys::btrfs;

/// Begins the names of volumes.
const PREFIX: &str = "volume-";

/// Whoever a sandbox's account is, it can write there; who may reach it at all is decided by the mount.
const RIGHTS: u32 = 0o777;

impl Layers {
    /// Makes an empty volume.
    pub(crate) fn make_volume(&self, id: &VolumeId, size: Bytes) -> io::Result<()> {
        let name = name_of(id);
        match self.kind {
            Kind::Btrfs { .. } => {
                btrfs::create_subvolume(self.dir.as_fd(), &name)?;
                btrfs::limit(btrfs::open_dir(self.dir.as_fd(), &name)?.as_fd(), size.0)?;
            }
            Kind::Plain => rustix::fs::mkdirat(&self.dir, &*name, Mode::RWXU)?,
        }
        Ok(rustix::fs::fchmod(self.open_volume(id)?, Mode::from_raw_mode(RIGHTS))?)
    }

    /// The folder that it is.
    pub(crate) fn open_volume(&self, id: &VolumeId) -> io::Result<OwnedFd> {
        btrfs::open_dir(self.dir.as_fd(), &name_of(id))
    }

    /// Removes it; succeeds on what is not there.
    pub(crate) fn remove_volume(&self, id: &VolumeId) -> io::Result<()> {
        self.remove_named(&name_of(id))
    }

    /// All of them.
    pub(crate) fn volumes(&self) -> io::Result<Vec<VolumeId>> {
        let mut found = Vec::new();
        for entry in Dir::read_from(&self.dir)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy();
            found.extend(name.strip_prefix(PREFIX).and_then(|id| id.parse().ok()));
        }
        Ok(found)
    }
}

fn name_of(volume: &VolumeId) -> String {
    format!("{PREFIX}{volume}")
}
