//! Moving a file or directory, and between two file systems copying a file.

use std::fs::{self, File, FileTimes, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{Gid, Uid};

use super::{make, metadata, refusal};
use crate::connect::{Code, ConnectError};
use crate::sys::spawn::Identity;

/// Moves `source`, itself and not what it may link to. Parents of `destination` that are missing are made.
pub(super) fn rename(source: &str, destination: &str, owner: &Identity) -> Result<(), ConnectError> {
    fs::symlink_metadata(source).map_err(|error| refusal(&error, source))?;
    make::parents(destination, owner).map_err(|error| refusal(&error, destination))?;
    match fs::rename(source, destination) {
        Ok(()) => Ok(()),
        // `/tmp` and `/dev/shm` are file systems of their own in every sandbox.
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => across(source, destination),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            let message = format!("'{source}' cannot be moved into itself: {destination}");
            Err(ConnectError::new(Code::InvalidArgument, message))
        }
        Err(error) => Err(refusal(&error, destination)),
    }
}

fn across(source: &str, destination: &str) -> Result<(), ConnectError> {
    let found = fs::symlink_metadata(source).map_err(|error| refusal(&error, source))?;
    if !found.is_file() {
        let message = format!(
            "'{source}' and '{destination}' are on different file systems, between which only files can be moved: run \
             `mv` in the sandbox"
        );
        return Err(ConnectError::new(Code::FailedPrecondition, message));
    }
    // Beside the destination, so that the last step is a rename and nobody sees half a file.
    let beside = format!("{destination}.hood-moving");
    copy(source, &beside, &found)
        .and_then(|()| fs::rename(&beside, destination))
        .inspect_err(|_| drop(fs::remove_file(&beside)))
        .map_err(|error| refusal(&error, destination))?;
    fs::remove_file(source).map_err(|error| refusal(&error, source))
}

/// Copies bytes, owner, mode, times and metadata into a new file.
fn copy(source: &str, new: &str, found: &fs::Metadata) -> io::Result<()> {
    let mut from = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(source)?;
    let mut to = File::create_new(new)?;
    io::copy(&mut from, &mut to)?;
    rustix::fs::fchown(&to, Some(Uid::from_raw(found.uid())), Some(Gid::from_raw(found.gid())))?;
    to.set_permissions(Permissions::from_mode(found.mode() & 0o7777))?;
    to.set_times(FileTimes::new().set_accessed(found.accessed()?).set_modified(found.modified()?))?;
    metadata::replace(&to, &metadata::read(Path::new(source)))
}
