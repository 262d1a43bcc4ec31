//! User metadata of files: extended attributes under `user.e2b.` (reference `e2b.md` 3.4).

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use crate::limits::{MAX_METADATA, MAX_METADATA_KEY};
use crate::reach;
use http::HeaderMap;
use rustix::fs::XattrFlags;
use rustix::io::Errno;

/// Attributes that are metadata have this prefix.
const NAMESPACE: &str = "user.e2b.";

/// Headers that carry metadata of an upload have this prefix.
const HEADER_PREFIX: &str = "x-metadata-";

/// Room for the names of all attributes of a file; the kernel's own limit (`XATTR_LIST_MAX`).
const LIST_MAX: usize = 64 << 10;

/// It cannot be stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MetadataError {
    #[error("a metadata header has no key after `X-Metadata-`")]
    NoKey,
    #[error("metadata key '{key}' is {} bytes long, at most {MAX_METADATA_KEY} are possible", key.len())]
    LongKey { key: String },
    #[error("metadata value of '{key}' is not printable ASCII")]
    Unprintable { key: String },
    #[error("metadata key '{key}' is given twice")]
    Twice { key: String },
    #[error("metadata is {given} bytes of keys and values, at most {MAX_METADATA} are possible")]
    TooMuch { given: usize },
}

/// The metadata that an upload's headers ask for.
pub(crate) fn from_headers(headers: &HeaderMap) -> Result<BTreeMap<String, String>, MetadataError> {
    let mut metadata = BTreeMap::new();
    // Header names are lower case in memory, and tokens: printable ASCII already.
    for (name, value) in headers {
        let Some(key) = name.as_str().strip_prefix(HEADER_PREFIX) else { continue };
        let key = key.to_owned();
        if key.is_empty() {
            return Err(MetadataError::NoKey);
        }
        if key.len() > MAX_METADATA_KEY {
            return Err(MetadataError::LongKey { key });
        }
        let Some(value) = value.to_str().ok().filter(|value| !value.contains('\t')) else {
            return Err(MetadataError::Unprintable { key });
        };
        if metadata.insert(key.clone(), value.to_owned()).is_some() {
            return Err(MetadataError::Twice { key });
        }
    }
    let given = metadata.iter().map(|(key, value)| key.len() + value.len()).sum();
    if given > MAX_METADATA {
        return Err(MetadataError::TooMuch { given });
    }
    Ok(metadata)
}

/// The metadata of what is called `name` in `dir`; empty where the file system keeps none. What a program inside stored
/// beyond [`MAX_METADATA`] is left out.
pub(crate) fn read(dir: BorrowedFd<'_>, name: &Path) -> BTreeMap<String, String> {
    let mut metadata = BTreeMap::new();
    let path = Path::new(&reach::by_number(dir)).join(name);
    let path = path.as_path();
    // Most files have no attributes at all: asking for the size first saves the buffer.
    if rustix::fs::llistxattr_query(path).is_ok_and(|size| size == 0) {
        return metadata;
    }
    let mut names = vec![0; LIST_MAX];
    let Ok(length) = rustix::fs::llistxattr(path, &mut names[..]) else { return metadata };
    let mut room = MAX_METADATA;
    for key in keys(names.get(..length).unwrap_or_default()) {
        let mut value = [0; MAX_METADATA];
        let name = format!("{NAMESPACE}{key}");
        let Ok(length) = rustix::fs::lgetxattr(path, name, &mut value[..]) else { continue };
        let value = String::from_utf8_lossy(value.get(..length).unwrap_or_default()).into_owned();
        let Some(rest) = room.checked_sub(key.len() + value.len()) else { break };
        room = rest;
        metadata.insert(key, value);
    }
    metadata
}

/// Makes `metadata` all the metadata that the file has. A file system without attributes is an error only when there
/// is something to store.
pub(crate) fn replace(file: impl AsFd, metadata: &BTreeMap<String, String>) -> io::Result<()> {
    let file = file.as_fd();
    let mut names = vec![0; LIST_MAX];
    let old = match rustix::fs::flistxattr(file, &mut names[..]) {
        Ok(length) => keys(names.get(..length).unwrap_or_default()),
        Err(Errno::NOTSUP | Errno::NOSYS) if metadata.is_empty() => return Ok(()),
        Err(errno) => return Err(errno.into()),
    };
    for key in old.iter().filter(|key| !metadata.contains_key(*key)) {
        rustix::fs::fremovexattr(file, format!("{NAMESPACE}{key}"))?;
    }
    for (key, value) in metadata {
        rustix::fs::fsetxattr(file, format!("{NAMESPACE}{key}"), value.as_bytes(), XattrFlags::empty())?;
    }
    Ok(())
}

/// Gives `file` the user attributes that are not metadata of what is called `name` in `dir`.
pub(crate) fn keep_others(dir: BorrowedFd<'_>, name: &Path, file: impl AsFd) -> io::Result<()> {
    let path = Path::new(&reach::by_number(dir)).join(name);
    let path = path.as_path();
    if rustix::fs::llistxattr_query(path).is_ok_and(|size| size == 0) {
        return Ok(());
    }
    let mut names = vec![0; LIST_MAX];
    let Ok(length) = rustix::fs::llistxattr(path, &mut names[..]) else { return Ok(()) };
    let others = names.get(..length).unwrap_or_default().split(|&byte| byte == 0);
    let mut value = vec![0; LIST_MAX];
    for name in others.filter(|name| name.starts_with(b"user.") && !name.starts_with(NAMESPACE.as_bytes())) {
        let Ok(length) = rustix::fs::lgetxattr(path, name, &mut value[..]) else { continue };
        rustix::fs::fsetxattr(&file, name, value.get(..length).unwrap_or_default(), XattrFlags::empty())?;
    }
    Ok(())
}

/// The keys among attribute names, which the kernel separates by NUL.
fn keys(names: &[u8]) -> Vec<String> {
    names
        .split(|&byte| byte == 0)
        .filter_map(|name| std::str::from_utf8(name).ok()?.strip_prefix(NAMESPACE))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(
                http::HeaderName::from_bytes(name.as_bytes()).unwrap(),
                http::HeaderValue::from_str(value).unwrap(),
            );
        }
        headers
    }

    #[test]
    fn keys_are_lower_case_and_limits_hold() {
        let found = from_headers(&headers(&[("X-Metadata-Author", "mish"), ("accept", "*/*")])).unwrap();
        assert_eq!(found, BTreeMap::from([("author".to_owned(), "mish".to_owned())]));
        let long = format!("x-metadata-{}", "k".repeat(247));
        assert!(matches!(from_headers(&headers(&[(&long, "v")])), Err(MetadataError::LongKey { .. })));
        assert_eq!(from_headers(&headers(&[("x-metadata-", "v")])), Err(MetadataError::NoKey));
        let much = from_headers(&headers(&[("x-metadata-a", &"v".repeat(4096))]));
        assert_eq!(much, Err(MetadataError::TooMuch { given: 4097 }));
        let odd = from_headers(&headers(&[("x-metadata-a", "é")]));
        assert!(matches!(odd, Err(MetadataError::Unprintable { .. })));
    }
}
