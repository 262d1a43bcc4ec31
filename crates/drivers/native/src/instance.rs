//! Which server this is: several may run on one host, each with its own data directory.

use std::fs;
use std::io;
use std::path::Path;

const FILE: &str = "instance";

/// Eight hexadecimal digits, made at the first start and kept in the data directory. Names of cgroups contain it, so
/// that a restarted server finds what its earlier run left, and nobody else's.
pub(crate) fn id(data_dir: &Path) -> io::Result<String> {
    if let Some(id) = existing(data_dir)? {
        return Ok(id);
    }
    fs::create_dir_all(data_dir)?;
    let id = crate::random::hex::<4>();
    fs::write(data_dir.join(FILE), format!("{id}\n"))?;
    Ok(id)
}

/// The id, if a server ever ran on the directory.
pub(crate) fn existing(data_dir: &Path) -> io::Result<Option<String>> {
    let path = data_dir.join(FILE);
    match fs::read_to_string(&path) {
        Ok(text) if is_id(text.trim()) => Ok(Some(text.trim().to_owned())),
        Ok(_) => Err(io::Error::new(io::ErrorKind::InvalidData, format!("{} is damaged", path.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_id(text: &str) -> bool {
    text.len() == 8 && text.bytes().all(|b| b.is_ascii_hexdigit())
}
