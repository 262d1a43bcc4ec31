//! The files that name a sandbox, in its writable layer: its own to change, and nothing relies on them.

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};

use hood_driver_api::{Origin, SandboxId};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::layer::Layer;
use crate::network;
use crate::random;
use crate::sys::btrfs;
use crate::templates::Owners;

/// A longer `/etc/hosts` is nobody's but its sandbox's.
const HOSTS: u64 = 64 << 10;

/// Writes them. In a copy of another sandbox they may be anything by now: what is no plain file there, or lies behind
/// a link, stays as it is.
pub(crate) fn write_identity(
    layer: &Layer,
    owners: &Owners,
    id: &SandboxId,
    origin: &Origin,
) -> io::Result<()> {
    let hostname = format!("{id}\n");
    let machine_id = format!("{}\n", random::hex::<16>());
    match origin {
        Origin::Empty => {
            rustix::fs::mkdirat(&layer.upper, "etc", Mode::from_raw_mode(0o755))?;
            let etc = btrfs::open_dir(layer.upper.as_fd(), "etc")?;
            owners.give(&layer.upper)?;
            owners.give(&etc)?;
            let hosts = format!("127.0.0.1 localhost {id}\n::1 localhost ip6-localhost ip6-loopback\n");
            // The gate's resolver; questions to any other server reach it, too.
            let resolver = format!("nameserver {}\n", network::GATE.0);
            let files = [
                ("hostname", hostname),
                ("hosts", hosts),
                ("machine-id", machine_id),
                ("resolv.conf", resolver),
            ];
            files.iter().try_for_each(|(name, text)| write(&etc, owners, name, text))
        }
        // The same machine, started again.
        Origin::Kept { .. } => Ok(()),
        Origin::Snapshot { .. } => {
            let Ok(etc) = btrfs::open_dir(layer.upper.as_fd(), "etc") else { return Ok(()) };
            replace(&etc, owners, "hostname", &hostname)?;
            replace(&etc, owners, "machine-id", &machine_id)?;
            match read(&etc, "hosts") {
                Some(hosts) => replace(&etc, owners, "hosts", &renamed(&hosts, id)),
                None => Ok(()),
            }
        }
    }
}

/// The text with this sandbox's name for every sandbox's.
fn renamed(hosts: &str, id: &SandboxId) -> String {
    let mut text = String::with_capacity(hosts.len());
    for word in hosts.split_inclusive(char::is_whitespace) {
        let name = word.trim_end();
        let known = name.parse::<SandboxId>().is_ok();
        text.push_str(if known { id.as_str() } else { name });
        text.push_str(&word[name.len()..]);
    }
    text
}

fn read(etc: &OwnedFd, name: &str) -> Option<String> {
    // Whatever lies there, opening it neither waits nor leads elsewhere.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let file = rustix::fs::openat2(etc, name, flags, Mode::empty(), resolve).ok()?;
    let stat = rustix::fs::fstat(&file).ok()?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return None;
    }
    let mut text = String::new();
    let read = std::fs::File::from(file).take(HOSTS + 1).read_to_string(&mut text);
    (read.is_ok() && text.len() as u64 <= HOSTS).then_some(text)
}

fn replace(etc: &OwnedFd, owners: &Owners, name: &str, text: &str) -> io::Result<()> {
    match rustix::fs::unlinkat(etc, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => write(etc, owners, name, text),
        Err(Errno::ISDIR | Errno::PERM) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn write(etc: &OwnedFd, owners: &Owners, name: &str, text: &str) -> io::Result<()> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(etc, name, flags, Mode::from_raw_mode(0o644))?;
    rustix::io::write(&file, text.as_bytes())?;
    owners.give(&file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_sandboxes_are_replaced() {
        let (old, new) = (SandboxId::from_random([1; 20]), SandboxId::from_random([2; 20]));
        let hosts = format!("127.0.0.1 localhost {old}\n10.0.0.1\tdb my-{old}\n\n# end");
        let expected = format!("127.0.0.1 localhost {new}\n10.0.0.1\tdb my-{old}\n\n# end");
        assert_eq!(renamed(&hosts, &new), expected);
    }
}
