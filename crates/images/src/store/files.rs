//! Small files that are replaced whole, and directories for root alone.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::TEMPORARY;
use crate::error::StoreError;
use crate::limits::MANIFEST_BYTES;

pub(super) fn make_private_dir(path: &Path) -> Result<(), StoreError> {
    DirBuilder::new().mode(0o700).recursive(true).create(path).map_err(StoreError::io("create", path))
}

/// Reads a file that [`replace_json`] wrote; none if there is none.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, StoreError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(StoreError::io::<io::Error>("open", path)(source)),
    };
    let mut text = Vec::new();
    file.take(MANIFEST_BYTES).read_to_end(&mut text).map_err(StoreError::io("read", path))?;
    let parsed = serde_json::from_slice(&text);
    parsed.map(Some).map_err(|source| StoreError::Manifest { path: path.to_owned(), source })
}

/// Writes `value` so that a reader, also after a power cut, sees the old file or the new one.
pub(super) fn replace_json<T: Serialize>(path: &Path, value: &T) -> Result<(), StoreError> {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Err(StoreError::io("write", path)(io::Error::from(io::ErrorKind::InvalidInput)));
    };
    let mut text = serde_json::to_vec_pretty(value).expect("our records are strings and numbers");
    text.push(b'\n');
    let temporary = dir.join(format!("{TEMPORARY}{}-{name}", std::process::id()));
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(&text)?;
        file.sync_all()
    });
    written.map_err(StoreError::io("write", &temporary))?;
    fs::rename(&temporary, path).map_err(StoreError::io("replace", path))?;
    sync_dir(dir)
}

/// Puts the names in `dir` on the disk.
pub(super) fn sync_dir(dir: &Path) -> Result<(), StoreError> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(StoreError::io("write to disk", dir))
}
