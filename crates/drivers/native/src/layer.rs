//! Writable layers: one per sandbox, with a hard size where the host allows one; and snapshots of them.

mod pool;
mod snapshots;
mod volumes;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use hood_driver_api::{Bytes, Origin, SandboxId};
use rustix::fs::{Dir, Mode, OFlags};

use crate::sys::btrfs;

/// Where writable layers live.
pub(crate) struct Layers {
    dir: OwnedFd,
    /// Where it is, for programs that take names.
    path: PathBuf,
    kind: Kind,
    /// Where an image is mounted, in this process's own mount namespace.
    mounted: Option<PathBuf>,
}

/// How a layer's size is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A subvolume each, with a quota.
    Btrfs {
        /// Simple quotas (kernel 6.7), whose cost does not grow with the number of layers.
        simple_quota: bool,
    },
    /// A directory each, without a limit of its own.
    Plain,
}

/// A layer: a directory with what the sandbox wrote ([`UPPER`]) and the overlay's scratch space ([`WORK`]).
pub(crate) struct Layer {
    pub(crate) dir: OwnedFd,
    pub(crate) upper: OwnedFd,
}

/// Name of the directory with what the sandbox wrote.
pub(crate) const UPPER: &str = "upper";
/// Name of the overlay's scratch space, on the same mount as the overlay demands.
pub(crate) const WORK: &str = "work";

impl Layers {
    /// In `data_dir`, on btrfs: the data directory's own, or else a sparse image of at most `size` on a loop device,
    /// mounted where only this process and its helpers see it. Without either, plain directories.
    ///
    /// Also returns why the size of layers cannot be held, where it cannot.
    pub(crate) fn open(data_dir: &Path, size: Bytes) -> io::Result<(Self, Option<String>)> {
        let path = data_dir.join("writable");
        std::fs::create_dir_all(&path)?;
        // What root inside makes set-user-id belongs to the host's root here: nobody else may reach it.
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700))?;
        let pool = pool::open(data_dir, &path, size);
        Ok(match pool {
            Ok(pool) => {
                let kind = Kind::Btrfs { simple_quota: pool.simple_quota };
                let mounted = pool.is_image.then(|| path.clone());
                (Self { dir: pool.dir, path, kind, mounted }, None)
            }
            Err(why) => (Self::plain_at(path)?, Some(why)),
        })
    }

    /// In `data_dir`, as plain directories: all that a server without root can have.
    pub(crate) fn plain(data_dir: &Path) -> io::Result<Self> {
        let path = data_dir.join("writable");
        std::fs::create_dir_all(&path)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700))?;
        Self::plain_at(path)
    }

    fn plain_at(path: PathBuf) -> io::Result<Self> {
        Ok(Self { dir: open_dir(&path)?, path, kind: Kind::Plain, mounted: None })
    }

    /// How sizes are held.
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// Makes the layer of a sandbox, or takes up the one it has. Its directories belong to id 0 on disk, whatever range
    /// the sandbox gets. `size` counts what comes from a snapshot, too.
    pub(crate) fn make(&self, id: &SandboxId, size: Bytes, origin: &Origin) -> io::Result<Layer> {
        let name = id.as_str();
        match origin {
            Origin::Empty => self.make_empty(name)?,
            Origin::Kept { .. } => self.renew(name)?,
            Origin::Snapshot { id: snapshot, .. } => self.copy_snapshot(snapshot, name)?,
        }
        if let Kind::Btrfs { .. } = self.kind {
            let own = Bytes(size.0.saturating_sub(self.inherited(origin).0));
            btrfs::limit(btrfs::open_dir(self.dir.as_fd(), name)?.as_fd(), own.0)?;
        }
        let dir = btrfs::open_dir(self.dir.as_fd(), name)?;
        let upper = btrfs::open_dir(dir.as_fd(), UPPER)?;
        Ok(Layer { dir, upper })
    }

    fn make_empty(&self, name: &str) -> io::Result<()> {
        match self.kind {
            Kind::Btrfs { .. } => btrfs::create_subvolume(self.dir.as_fd(), name)?,
            Kind::Plain => rustix::fs::mkdirat(&self.dir, name, Mode::from_raw_mode(0o700))?,
        }
        let dir = btrfs::open_dir(self.dir.as_fd(), name)?;
        for part in [UPPER, WORK] {
            rustix::fs::mkdirat(&dir, part, Mode::from_raw_mode(0o755))?;
        }
        Ok(())
    }

    /// The overlay wants an empty scratch space: what an earlier mount left there, it refuses.
    fn renew(&self, name: &str) -> io::Result<()> {
        let dir = btrfs::open_dir(self.dir.as_fd(), name)?;
        hood_beneath::remove(dir.as_fd(), WORK)?;
        Ok(rustix::fs::mkdirat(&dir, WORK, Mode::from_raw_mode(0o755))?)
    }

    /// What the file system does not count as the layer's own: simple quotas charge a block to who wrote it first.
    pub(crate) fn inherited(&self, origin: &Origin) -> Bytes {
        match (self.kind, origin) {
            (
                Kind::Btrfs { simple_quota: true },
                Origin::Kept { inherited: bytes } | Origin::Snapshot { bytes, .. },
            ) => *bytes,
            _ => Bytes(0),
        }
    }

    /// Bytes that the layer holds; 0 where that is not known.
    pub(crate) fn usage(&self, id: &SandboxId) -> io::Result<Bytes> {
        match self.kind {
            Kind::Btrfs { .. } => {
                let layer = btrfs::open_dir(self.dir.as_fd(), id.as_str())?;
                Ok(Bytes(btrfs::usage(layer.as_fd())?))
            }
            Kind::Plain => Ok(Bytes(0)),
        }
    }

    /// Removes the layer; succeeds on what is not there.
    pub(crate) fn remove(&self, id: &SandboxId) -> io::Result<()> {
        self.remove_named(id.as_str())
    }

    /// Removes every layer and returns how many there were. Snapshots stay.
    pub(crate) fn remove_all(&self) -> io::Result<usize> {
        self.remove_unfinished()?;
        let mut removed = 0;
        for entry in Dir::read_from(&self.dir)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.parse::<SandboxId>().is_ok() {
                self.remove_named(&name)?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    fn remove_named(&self, name: &str) -> io::Result<()> {
        let removed = match self.kind {
            Kind::Btrfs { .. } => btrfs::delete_subvolume(self.dir.as_fd(), name),
            Kind::Plain => hood_beneath::remove(self.dir.as_fd(), name),
        };
        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }
}

impl Drop for Layers {
    /// The mount would go with the process; a command that ends its server lives on for a moment.
    fn drop(&mut self) {
        if let Some(path) = &self.mounted
            && let Err(error) = rustix::mount::unmount(path, rustix::mount::UnmountFlags::DETACH)
        {
            tracing::debug!(%error, "the image of writable layers stays mounted until the process ends");
        }
    }
}

/// Where the image of layers lies, where there is one.
pub(crate) fn image(data_dir: &Path) -> PathBuf {
    data_dir.join("writable.img")
}

pub(crate) fn open_dir(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}
