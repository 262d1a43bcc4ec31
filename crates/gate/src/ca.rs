//! Certificate authorities of our own: made at the first start, kept in a file, loaded after.
//!
//! One signs what the gate shows to sandboxes (they trust it, nobody else does); another signs the server's own
//! certificate, which users may trust. They are kept apart so that neither can pretend to be the other.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, SerialNumber,
};
use rustls::crypto::ring::sign::any_ecdsa_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;
use time::OffsetDateTime;

use crate::limits::{CA_LIFE, CLOCK_SLEW};

/// Signs certificates for names. Its key never leaves it but into its file.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    pem: String,
    common_name: String,
}

/// Of the names of all authorities.
const ORGANISATION: &str = "Fumehood";

/// An authority cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// Its file cannot be read or made.
    #[error("cannot {doing} `{}`", path.display())]
    File {
        /// What was tried.
        doing: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Others may read its key.
    #[error("`{}` holds the key of a certificate authority and its mode is {mode:03o}; make it 600", path.display())]
    Exposed {
        /// Which file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// Its file holds something else.
    #[error(
        "`{}` holds no certificate authority ({why}); move it away, and the next start makes a new one, which \
         everybody who trusted the old one has to trust anew",
        path.display()
    )]
    Garbled {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A certificate cannot be made.
    #[error("cannot make a certificate for `{name}`")]
    Issue {
        /// For which name.
        name: String,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Authority {
    /// Loads the authority from its file, or makes it together with the file, mode 0600.
    pub fn open(path: &Path, name: &str) -> Result<Self, AuthorityError> {
        let failed = |doing| move |source| AuthorityError::File { doing, path: path.to_owned(), source };
        match fs::metadata(path) {
            Ok(found) if found.mode() & 0o077 != 0 => {
                Err(AuthorityError::Exposed { path: path.to_owned(), mode: found.mode() & 0o777 })
            }
            Ok(_) => {
                let text = fs::read_to_string(path).map_err(failed("read"))?;
                Self::parse(&text, name).map_err(|why| AuthorityError::Garbled { path: path.to_owned(), why })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let authority = Self::generate(name)?;
                authority.write(path).map_err(failed("write"))?;
                Ok(authority)
            }
            Err(error) => Err(failed("look at")(error)),
        }
    }

    /// Makes one that is kept nowhere.
    pub fn generate(name: &str) -> Result<Self, AuthorityError> {
        let failed =
            |source: rcgen::Error| AuthorityError::Issue { name: name.to_owned(), source: source.into() };
        let key = KeyPair::generate().map_err(failed)?;
        let common_name = common_name(name, &key);
        let params = params(&common_name);
        let certificate = params.self_signed(&key).map_err(failed)?;
        let (pem, certificate) = (certificate.pem(), certificate.der().clone());
        Ok(Self { issuer: Issuer::new(params, key), certificate, pem, common_name })
    }

    fn parse(text: &str, name: &str) -> Result<Self, String> {
        let key = KeyPair::from_pem(text).map_err(|error| error.to_string())?;
        let certificate =
            CertificateDer::from_pem_slice(text.as_bytes()).map_err(|error| error.to_string())?;
        let begin = text.find("-----BEGIN CERTIFICATE-----").ok_or("no certificate in it")?;
        let pem = text[begin..].to_owned();
        // What an issuer needs is its name and its key; both are the same as when the certificate was made.
        let common_name = common_name(name, &key);
        Ok(Self { issuer: Issuer::new(params(&common_name), key), certificate, pem, common_name })
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        let temporary = path.with_extension("tmp");
        let mut file =
            fs::OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&temporary)?;
        file.write_all(self.issuer.key().serialize_pem().as_bytes())?;
        file.write_all(self.pem.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    }

    /// Its certificate, for those who shall trust it. No secret.
    pub fn certificate_pem(&self) -> &str {
        &self.pem
    }

    /// The hash of its name by which OpenSSL finds it in a directory of certificates: SHA-1 of the name in canonical
    /// form (lower case, UTF-8 strings, no outer sequence), of which the first four bytes count, lowest first.
    pub fn subject_hash(&self) -> String {
        let part = |kind: u8, text: &str| {
            let text = text.to_lowercase();
            let text = [&[0x0c, text.len() as u8], text.as_bytes()].concat();
            let kind = [0x06, 3, 0x55, 0x04, kind];
            let pair = [&[0x30, (kind.len() + text.len()) as u8], &kind[..], &text].concat();
            [&[0x31, pair.len() as u8], &pair[..]].concat()
        };
        let name = [part(0x0a, ORGANISATION), part(0x03, &self.common_name)].concat();
        let digest = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, &name);
        digest.as_ref().iter().take(4).rev().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
    }

    /// The same in binary.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// A key with a certificate for these names (the first is the one that errors name), good for `life` from now.
    pub fn issue(&self, names: &[String], life: Duration) -> Result<Arc<CertifiedKey>, AuthorityError> {
        let first = names.first().map_or("nothing", String::as_str);
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| AuthorityError::Issue {
            name: first.to_owned(),
            source,
        };
        let mut params = CertificateParams::new(names).map_err(|error| failed(error.into()))?;
        let now = OffsetDateTime::now_utc();
        params.not_before = now - CLOCK_SLEW;
        params.not_after = now + life;
        params.serial_number = Some(random_serial());
        params.distinguished_name = DistinguishedName::new();
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate().map_err(|error| failed(error.into()))?;
        let leaf = params.signed_by(&key, &self.issuer).map_err(|error| failed(error.into()))?;
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let key = any_ecdsa_type(&key).map_err(|error| failed(error.into()))?;
        let chain = vec![leaf.der().clone(), self.certificate.clone()];
        Ok(Arc::new(CertifiedKey::new(chain, key)))
    }
}

/// Tells apart the authorities of several servers that one user trusts. At most 64 characters, as X.509 wants it.
fn common_name(name: &str, key: &KeyPair) -> String {
    let print = CertificateParams::default().key_identifier(key);
    print.iter().take(4).fold(format!("{name} "), |text, byte| text + &format!("{byte:02x}"))
}

/// Everything about an authority that an issuer needs is the same at every start.
fn params(common_name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, ORGANISATION);
    params.distinguished_name.push(DnType::CommonName, common_name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let now = OffsetDateTime::now_utc();
    params.not_before = now - CLOCK_SLEW;
    params.not_after = now + CA_LIFE;
    params.serial_number = Some(random_serial());
    params
}

/// Two certificates of one issuer with the same number are refused by some clients.
fn random_serial() -> SerialNumber {
    let mut bytes: [u8; 16] = rand::random();
    // A number with its highest bit set would be negative.
    bytes[0] &= 0x7f;
    SerialNumber::from_slice(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_is_the_same_after_a_restart_and_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ca.pem");
        let first = Authority::open(&path, "test").unwrap();
        let second = Authority::open(&path, "test").unwrap();
        assert_eq!(first.certificate(), second.certificate());
        assert_eq!(first.certificate_pem(), second.certificate_pem());
        assert!(!second.certificate_pem().contains("KEY"), "the key is not shown");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let other = Authority::generate("test").unwrap();
        assert_ne!(first.certificate(), other.certificate());
    }

    /// With the name of this certificate, `openssl x509 -subject_hash` prints the same.
    #[test]
    fn the_hash_of_a_name_is_openssls() {
        let mut authority = Authority::generate("test").unwrap();
        authority.common_name = "gate 0123abcd".to_owned();
        assert_eq!(authority.subject_hash(), "1810c792");
    }

    #[test]
    fn a_file_that_others_may_read_or_that_holds_something_else_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ca.pem");
        Authority::open(&path, "test").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(Authority::open(&path, "test"), Err(AuthorityError::Exposed { mode: 0o644, .. })));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "hello").unwrap();
        assert!(matches!(Authority::open(&path, "test"), Err(AuthorityError::Garbled { .. })));
    }
}
