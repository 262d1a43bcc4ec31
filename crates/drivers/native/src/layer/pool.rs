//! The btrfs file system that holds writable layers.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hood_driver_api::Bytes;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, fsconfig_create, fsconfig_set_string, fsmount,
    fsopen, move_mount,
};

use crate::sys::{btrfs, loopdev};

/// btrfs wants at least this much.
const SMALLEST: Bytes = Bytes::mib(256);

/// How long an earlier server's loop device may take to go away after its death.
const DETACH_PATIENCE: Duration = Duration::from_secs(20);

/// A directory of layers on btrfs.
pub(super) struct Pool {
    pub(super) dir: OwnedFd,
    /// Quotas are simple ones.
    pub(super) simple_quota: bool,
    /// It is an image that this process has mounted.
    pub(super) is_image: bool,
}

/// The directory of layers; or why there is none on btrfs.
pub(super) fn open(data_dir: &Path, path: &Path, size: Bytes) -> Result<Pool, String> {
    let dir = super::open_dir(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let is_image = !btrfs::is_btrfs(dir.as_fd()).unwrap_or(false);
    let dir = if is_image { mount_image(&super::image(data_dir), path, size)? } else { dir };
    let simple_quota = btrfs::enable_quota(dir.as_fd()).map_err(|e| format!("btrfs quotas: {e}"))?;
    Ok(Pool { dir, simple_quota, is_image })
}

/// Mounts the image, made when it is missing. In the server's own mount namespace, so that the mount ends with the
/// server and its helpers however they end, and nobody else sees it.
fn mount_image(image: &Path, path: &Path, size: Bytes) -> Result<OwnedFd, String> {
    let say = |what: &'static str| move |error: io::Error| format!("{what}: {error}");
    wait_until_detached(image).map_err(say("an earlier server's loop device"))?;
    if !image.exists() {
        make_image(image, size)?;
    }
    let file = fs::OpenOptions::new().read(true).write(true).open(image).map_err(say("the image"))?;
    let (_device, device_path) = loopdev::attach(file.as_fd()).map_err(say("a loop device"))?;
    mount_device(&device_path, path).map_err(say("mounting btrfs"))
}

fn mount_device(device: &Path, path: &Path) -> io::Result<OwnedFd> {
    let context = fsopen("btrfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(context.as_fd(), "source", device)?;
    // Blocks that layers free go back to the host's file system.
    fsconfig_set_string(context.as_fd(), "discard", "async")?;
    fsconfig_create(context.as_fd())?;
    let mount = fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::MOUNT_ATTR_NOATIME)?;
    move_mount(mount.as_fd(), "", rustix::fs::CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    super::open_dir(path)
}

fn make_image(image: &Path, size: Bytes) -> Result<(), String> {
    let size = size.max(SMALLEST);
    let temporary = image.with_extension("new");
    // It holds what all sandboxes wrote.
    let file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&temporary)
        .map_err(|e| format!("{}: {e}", temporary.display()))?;
    file.set_len(size.0).map_err(|e| format!("{}: {e}", temporary.display()))?;
    let output = Command::new("mkfs.btrfs")
        .args(["--quiet", "--metadata", "single", "--data", "single"])
        .arg(&temporary)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("mkfs.btrfs: {e} (Debian's package is `btrfs-progs`)"))?;
    if !output.status.success() {
        return Err(format!("mkfs.btrfs: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    fs::rename(&temporary, image).map_err(|e| format!("{}: {e}", image.display()))
}

/// Two loop devices over one image would corrupt it. A dead server's device goes away by itself, a moment after its
/// last process.
fn wait_until_detached(image: &Path) -> io::Result<()> {
    let Ok(image) = image.canonicalize() else { return Ok(()) };
    let start = Instant::now();
    while is_attached(&image)? {
        if start.elapsed() > DETACH_PATIENCE {
            return Err(io::Error::new(
                io::ErrorKind::ResourceBusy,
                "still attached; is another server running?",
            ));
        }
        // sysfs offers no event for it.
        std::thread::park_timeout(Duration::from_millis(20));
    }
    Ok(())
}

fn is_attached(image: &Path) -> io::Result<bool> {
    for entry in fs::read_dir("/sys/block")? {
        let backing = entry?.path().join("loop/backing_file");
        if fs::read_to_string(backing).is_ok_and(|path| Path::new(path.trim_end()) == image) {
            return Ok(true);
        }
    }
    Ok(false)
}
