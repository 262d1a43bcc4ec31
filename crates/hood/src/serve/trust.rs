//! Why programs in sandboxes believe the gate, and the server's own hosts where its own authority signs them: one more
//! read-only layer on top of each template's.
//!
//! It holds the template's own bundle of root certificates with these authorities' appended, and the places where Debian and
//! OpenSSL look besides. It is made once for each template and server, so it costs a sandbox nothing but one more layer
//! in its overlay; a template may have been built before or after the server's first start, and a policy that gets
//! rules for a host later finds everything in place. (Writing into each sandbox was the alternative: a copy-up of
//! 220 KB for each, and a race with programs that have read the bundle already.)

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};

use hood_gate::Authority;
use rustix::fs::{Mode, OFlags, ResolveFlags};
use sha2::{Digest, Sha256};

use crate::limits::ROOT_BUNDLE;

/// Where distributions keep all roots in one file: Debian and its kin (Alpine, Arch), Fedora and its kin.
const BUNDLES: [&str; 2] =
    ["etc/ssl/certs/ca-certificates.crt", "etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem"];

/// From here `update-ca-certificates` would take them again, if somebody runs that inside: one file (`.crt`) for each.
const SOURCES: &str = "usr/local/share/ca-certificates";

/// All of ours in one file, for programs that add what is in one.
const OURS: &str = "usr/local/share/ca-certificates/hood.pem";

/// Where OpenSSL looks certificates up by the hash of their name.
const BY_HASH: &str = "etc/ssl/certs";

/// Makes such layers.
pub(super) struct Trust {
    dir: PathBuf,
    believed: Vec<Believed>,
}

/// An authority that programs inside shall believe.
struct Believed {
    /// Its files are named by it.
    name: String,
    pem: String,
    hash: String,
}

/// A layer, and what a program must be told that looks elsewhere.
pub(super) struct Trusting {
    /// Changes with what is in it.
    pub(super) name: String,
    pub(super) layer: PathBuf,
    pub(super) envs: BTreeMap<String, String>,
}

impl Trust {
    /// In the server's data directory.
    pub(super) fn new(data_dir: &Path, authorities: &[&Authority]) -> Self {
        let believed = |(number, authority): (usize, &&Authority)| Believed {
            name: format!("hood-{number}"),
            pem: authority.certificate_pem().to_owned(),
            hash: authority.subject_hash(),
        };
        Self { dir: data_dir.join("trust"), believed: authorities.iter().enumerate().map(believed).collect() }
    }

    /// All certificates, one after the other.
    fn pem(&self) -> String {
        self.believed.iter().map(|authority| authority.pem.as_str()).collect()
    }

    /// The layer for a template with this key and these layers, bottom first.
    pub(super) fn for_template(&self, key: &str, layers: &[PathBuf]) -> io::Result<Trusting> {
        let digest = Sha256::new().chain_update(key).chain_update("\n").chain_update(self.pem()).finalize();
        let name: String = digest.iter().take(16).flat_map(|byte| hex(*byte)).collect();
        let layer = self.dir.join(&name);
        if !layer.exists() {
            self.make(&layer, &self.dir.join(format!("{name}.{}.part", std::process::id())), layers)?;
        }
        let bundle = BUNDLES.iter().find(|path| layer.join(path).exists());
        Ok(Trusting { envs: bundle.map(|bundle| envs(bundle)).unwrap_or_default(), name, layer })
    }

    /// Beside, and then moved into place: whoever finds it finds it whole.
    fn make(&self, layer: &Path, part: &Path, layers: &[PathBuf]) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        if part.exists() {
            fs::remove_dir_all(part)?;
        }
        make_dir(part)?;
        write(part, OURS, self.pem().as_bytes())?;
        for Believed { name, pem, .. } in &self.believed {
            write(part, &format!("{SOURCES}/{name}.crt"), pem.as_bytes())?;
        }
        for bundle in BUNDLES {
            let Some(mut roots) = read_topmost(layers, bundle)? else { continue };
            if !roots.ends_with(b"\n") {
                roots.push(b'\n');
            }
            roots.extend_from_slice(self.pem().as_bytes());
            write(part, bundle, &roots)?;
        }
        make_dirs(part, BY_HASH)?;
        let by_hash = part.join(BY_HASH);
        for Believed { name, hash, .. } in &self.believed {
            let link = format!("{name}.pem");
            symlink(format!("/{SOURCES}/{name}.crt"), by_hash.join(&link))?;
            symlink(link, by_hash.join(format!("{hash}.0")))?;
        }
        if let Some(id) = hood_driver_native::layer_owner() {
            give(part, id)?;
        }
        match fs::rename(part, layer) {
            // Another task was quicker; its layer is the same.
            Err(_) if layer.exists() => fs::remove_dir_all(part),
            result => result,
        }
    }
}

/// For programs that bring roots of their own (certifi, Node): where the system's are, and ours alone for those that
/// add.
fn envs(bundle: &str) -> BTreeMap<String, String> {
    let bundle = format!("/{bundle}");
    BTreeMap::from([
        ("SSL_CERT_FILE".to_owned(), bundle.clone()),
        ("REQUESTS_CA_BUNDLE".to_owned(), bundle),
        ("NODE_EXTRA_CA_CERTS".to_owned(), format!("/{OURS}")),
    ])
}

/// A regular file in the topmost layer that has it. No link of a template is followed.
fn read_topmost(layers: &[PathBuf], path: &str) -> io::Result<Option<Vec<u8>>> {
    for layer in layers.iter().rev() {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let dir = rustix::fs::open(layer, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let Ok(file) = rustix::fs::openat2(&dir, path, flags, Mode::empty(), resolve) else { continue };
        let file = File::from(file);
        if !file.metadata()?.is_file() {
            // Removed by this layer, or a thing that holds no certificates.
            return Ok(None);
        }
        let mut bytes = Vec::new();
        file.take(ROOT_BUNDLE + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > ROOT_BUNDLE {
            let text = format!("`{path}` of the template is larger than {} MiB", ROOT_BUNDLE >> 20);
            return Err(io::Error::other(text));
        }
        return Ok(Some(bytes));
    }
    Ok(None)
}

fn write(root: &Path, path: &str, bytes: &[u8]) -> io::Result<()> {
    if let Some((dirs, _)) = path.rsplit_once('/') {
        make_dirs(root, dirs)?;
    }
    let path = root.join(path);
    fs::write(&path, bytes)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644))
}

/// In an overlay the topmost layer's rights of a directory count: those that these directories have everywhere.
fn make_dirs(root: &Path, path: &str) -> io::Result<()> {
    let mut at = root.to_owned();
    for part in path.split('/') {
        at.push(part);
        if !at.exists() {
            make_dir(&at)?;
        }
    }
    Ok(())
}

fn make_dir(path: &Path) -> io::Result<()> {
    fs::create_dir(path)?;
    // Whatever the umask is.
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

/// Makes a tree what it would be if root inside had made it.
fn give(path: &Path, id: u32) -> io::Result<()> {
    lchown(path, Some(id), Some(id))?;
    if path.symlink_metadata()?.is_dir() {
        for entry in fs::read_dir(path)? {
            give(&entry?.path(), id)?;
        }
    }
    Ok(())
}

fn hex(byte: u8) -> [char; 2] {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    [digit(byte >> 4), digit(byte & 15)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layers(dir: &Path, bundles: &[Option<&str>]) -> Vec<PathBuf> {
        let make = |(n, bundle): (usize, Option<&str>)| {
            let layer = dir.join(format!("layer{n}"));
            fs::create_dir(&layer).unwrap();
            if let Some(text) = bundle {
                write(&layer, BUNDLES[0], text.as_bytes()).unwrap();
            }
            layer
        };
        bundles.iter().copied().enumerate().map(make).collect()
    }

    #[test]
    fn the_topmost_bundle_gets_one_more_certificate() {
        let dir = tempfile::tempdir().unwrap();
        let layers = layers(dir.path(), &[Some("low\n"), Some("high"), None]);
        let authority = Authority::generate("gate").unwrap();
        let trust = Trust::new(dir.path(), &[&authority]);
        let made = trust.for_template("key", &layers).unwrap();
        let bundle = fs::read_to_string(made.layer.join(BUNDLES[0])).unwrap();
        assert_eq!(bundle, format!("high\n{}", authority.certificate_pem()));
        assert_eq!(made.envs["SSL_CERT_FILE"], "/etc/ssl/certs/ca-certificates.crt");
        let linked = made.layer.join(BY_HASH).join(format!("{}.0", authority.subject_hash()));
        assert_eq!(fs::read_link(linked).unwrap(), Path::new("hood-0.pem"));
        assert_eq!(trust.for_template("key", &layers).unwrap().layer, made.layer, "made once");
        assert_ne!(trust.for_template("other", &layers).unwrap().layer, made.layer);
        let next = Trust::new(dir.path(), &[&Authority::generate("gate").unwrap()]);
        assert_ne!(next.for_template("key", &layers).unwrap().layer, made.layer, "another authority");
    }

    #[test]
    fn a_template_without_a_bundle_is_told_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let layers = layers(dir.path(), &[None]);
        let made = Trust::new(dir.path(), &[&Authority::generate("gate").unwrap()])
            .for_template("key", &layers)
            .unwrap();
        assert!(made.envs.is_empty() && made.layer.join(OURS).exists());
        assert!(!made.layer.join(BUNDLES[0]).exists(), "a bundle of one would hide all other roots");
    }

    #[test]
    fn a_link_in_a_template_does_not_lead_out() {
        let dir = tempfile::tempdir().unwrap();
        let layers = layers(dir.path(), &[None]);
        make_dirs(&layers[0], "etc/ssl").unwrap();
        symlink("/etc/ssl/certs", layers[0].join("etc/ssl/certs")).unwrap();
        assert_eq!(read_topmost(&layers, BUNDLES[0]).unwrap(), None);
    }
}
