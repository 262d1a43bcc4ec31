//! A certificate that somebody else renews (an ACME client, a company's authority): read again when its files change.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use anyhow::{Context, Result};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::limits::CERTIFICATE_LOOK;

pub(super) struct Files {
    chain: PathBuf,
    key: PathBuf,
    current: Mutex<Current>,
}

struct Current {
    looked: Instant,
    changed: [SystemTime; 2],
    certificate: Arc<CertifiedKey>,
}

impl Files {
    pub(super) fn open(chain: &Path, key: &Path) -> Result<Self> {
        let changed = changed(chain, key)?;
        let certificate = read(chain, key)?;
        let current = Current { looked: Instant::now(), changed, certificate };
        Ok(Self { chain: chain.to_owned(), key: key.to_owned(), current: Mutex::new(current) })
    }

    /// The old one stays until the new one is whole: a renewal writes two files, one after the other.
    fn look_again(&self, current: &mut Current) {
        current.looked = Instant::now();
        let found = changed(&self.chain, &self.key);
        if found.as_ref().is_ok_and(|changed| *changed == current.changed) {
            return;
        }
        match found.and_then(|changed| Ok((changed, read(&self.chain, &self.key)?))) {
            Ok((changed, certificate)) => {
                tracing::info!(file = %self.chain.display(), "the server has a new certificate");
                (current.changed, current.certificate) = (changed, certificate);
            }
            Err(error) => {
                tracing::warn!(error = format!("{error:#}"), "the server keeps its old certificate");
            }
        }
    }
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Files").field("chain", &self.chain).finish_non_exhaustive()
    }
}

impl ResolvesServerCert for Files {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.looked.elapsed() > CERTIFICATE_LOOK {
            self.look_again(&mut current);
        }
        Some(current.certificate.clone())
    }
}

fn changed(chain: &Path, key: &Path) -> Result<[SystemTime; 2]> {
    let of = |path: &Path| {
        let found = fs::metadata(path).and_then(|found| found.modified());
        found.with_context(|| format!("cannot look at {}", path.display()))
    };
    Ok([of(chain)?, of(key)?])
}

fn read(chain: &Path, key: &Path) -> Result<Arc<CertifiedKey>> {
    let certificates: Vec<_> = CertificateDer::pem_file_iter(chain)
        .and_then(Iterator::collect)
        .with_context(|| format!("{} holds no certificate in PEM", chain.display()))?;
    let private = PrivateKeyDer::from_pem_file(key)
        .with_context(|| format!("{} holds no private key in PEM", key.display()))?;
    let provider = rustls::crypto::ring::default_provider();
    let certified = CertifiedKey::from_der(certificates, private, &provider).with_context(|| {
        format!("the key in {} is not that of the certificate in {}", key.display(), chain.display())
    })?;
    Ok(Arc::new(certified))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hood_gate::Authority;

    use super::*;

    #[test]
    fn a_renewed_certificate_is_taken_and_half_a_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        // The file of an authority has both parts, which is all that counts here.
        Authority::open(&path("one"), "one").unwrap();
        Authority::open(&path("two"), "two").unwrap();
        let (chain, key) = (path("chain"), path("key"));
        fs::copy(path("one"), &chain).unwrap();
        fs::copy(path("one"), &key).unwrap();
        let files = Files::open(&chain, &key).unwrap();
        let first = files.current.lock().unwrap().certificate.clone();
        let touch = |path: &Path, seconds| {
            let file = fs::File::options().write(true).open(path).unwrap();
            file.set_modified(SystemTime::now() + Duration::from_secs(seconds)).unwrap();
        };
        fs::copy(path("two"), &chain).unwrap();
        touch(&chain, 10);
        let mut current = files.current.lock().unwrap();
        files.look_again(&mut current);
        assert!(Arc::ptr_eq(&current.certificate, &first), "its key has not come yet");
        fs::copy(path("two"), &key).unwrap();
        touch(&key, 20);
        files.look_again(&mut current);
        assert!(!Arc::ptr_eq(&current.certificate, &first));
    }

    #[test]
    fn what_is_wrong_with_a_file_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        assert!(format!("{:#}", Files::open(&path, &path).unwrap_err()).contains("cannot look at"));
        fs::write(&path, "hello").unwrap();
        assert!(format!("{:#}", Files::open(&path, &path).unwrap_err()).contains("holds no"));
    }
}
