//! What the fuzz targets (`fuzz/` at the root of the repository) reach of this crate, compiled under `cfg(fuzzing)`
//! alone. What can be said of a result in plain types is said by the targets; what needs a private type is checked
//! here, and panics.

pub use crate::contexts::fuzz::{kernel_lines, manifest, text as context_text};
pub use crate::files::fuzz::{encodings, is_signed, metadata, multipart, range, sign};
pub use crate::filesystem::fuzz::request as filesystem_request;
pub use crate::process::fuzz::{request as process_request, whole};

use crate::connect::Frames;
use crate::host::Host;
use crate::{accounts, paths};

/// An account as `/etc/passwd` and `/etc/group` describe it.
#[derive(Debug)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// Its home.
    pub home: String,
    /// Its shell.
    pub shell: String,
    /// Its user id.
    pub uid: u32,
    /// Its group id.
    pub gid: u32,
    /// All its groups.
    pub groups: Vec<u32>,
}

/// The account of that name in the texts of the two files.
pub fn account(passwd: &str, groups: &str, name: &str) -> Option<Account> {
    let found = accounts::find(passwd, name)?;
    let (uid, gid) = (found.identity.uid, found.identity.gid);
    let groups = accounts::groups_of(groups, name, gid);
    Some(Account { name: found.name, home: found.home, shell: found.shell, uid, gid, groups })
}

/// The absolute path that a request's `path` means.
pub fn resolve(base: &str, home: &str, path: &str) -> Option<String> {
    paths::resolve(base, home, path).ok()
}

/// The Connect envelopes of a stream that arrives in these pieces, and why it was refused, if it was.
pub fn envelopes<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<(u8, Vec<u8>)>, Option<String>) {
    let mut frames = Frames::default();
    let mut found = Vec::new();
    for piece in pieces {
        frames.push(piece);
        loop {
            match frames.next() {
                Ok(Some((flags, payload))) => found.push((flags, payload.to_vec())),
                Ok(None) => break,
                Err(error) => return (found, Some(error.to_string())),
            }
        }
    }
    (found, None)
}

/// Lines of the host, of which these requests wait for an answer and for an end.
pub fn host_lines<'a>(requests: &[u64], lines: impl IntoIterator<Item = &'a [u8]>) {
    let host = Host::default();
    let _waiting: Vec<_> = requests.iter().map(|request| host.expect(*request)).collect();
    for line in lines {
        // Most are no messages, and say so.
        drop(host.hear(line));
    }
}
