//! Which server this is: several may run on one host, each with its own data directory.

use std::fs;
use std::io;
use std::path::Path;

/// Eight hexadecimal digits, made at the first start and kept in the data directory. Names of cgroups contain it, so
/// that a restarted server finds what its earlier run left, and nobody else's.
pub(crate) fn id(data_dir: &Path) -> io::Result<String> {
    let path = data_dir.join("instance");
    match fs::read_to_string(&path) {
        Ok(text) if is_id(text.trim()) => return Ok(text.trim().to_owned()),
        Ok(_) => {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("{} is damaged", path.display())));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    fs::create_dir_all(data_dir)?;
    let id = crate::random::hex::<4>();
    fs::write(&path, format!("{id}\n"))?;
    Ok(id)
}

fn is_id(text: &str) -> bool {
    text.len() == 8 && text.bytes().all(|b| b.is_ascii_hexdigit())
}
