//! The key, and what is done with it: ChaCha20-Poly1305 with a random nonce before each sealed value.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};
use zeroize::Zeroizing;

const KEY_LEN: usize = 32;

pub(super) struct Seal(LessSafeKey);

/// The key of secrets cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// Its file cannot be read or made.
    #[error("cannot read or make the key of secrets `{}`", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Others may read it.
    #[error("others may read the key of secrets `{}` (its mode is {mode:03o}); make it 600", path.display())]
    Exposed {
        /// Which file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// It holds something else.
    #[error("`{}` is no key of secrets: it has {found} bytes instead of {KEY_LEN}", path.display())]
    Garbled {
        /// Which file.
        path: PathBuf,
        /// Its size.
        found: usize,
    },
}

impl Seal {
    pub(super) fn open(path: &Path) -> Result<Self, SealError> {
        let failed = |source| SealError::File { path: path.to_owned(), source };
        let key = match fs::File::open(path) {
            Ok(mut file) => {
                let mode = file.metadata().map_err(failed)?.mode() & 0o777;
                if mode & 0o077 != 0 {
                    return Err(SealError::Exposed { path: path.to_owned(), mode });
                }
                let mut key = Zeroizing::new(Vec::with_capacity(KEY_LEN));
                file.read_to_end(&mut key).map_err(failed)?;
                key
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => make(path).map_err(failed)?,
            Err(error) => return Err(failed(error)),
        };
        match UnboundKey::new(&CHACHA20_POLY1305, &key) {
            Ok(key) => Ok(Self(LessSafeKey::new(key))),
            Err(_unspecified) => Err(SealError::Garbled { path: path.to_owned(), found: key.len() }),
        }
    }

    pub(super) fn seal(&self, value: &str, context: &[u8]) -> Vec<u8> {
        let nonce: [u8; NONCE_LEN] = random();
        let mut text = Zeroizing::new(value.as_bytes().to_vec());
        let tag = self
            .0
            .seal_in_place_separate_tag(Nonce::assume_unique_for_key(nonce), Aad::from(context), &mut text)
            .expect("a value is shorter than 256 GiB");
        [&nonce, text.as_slice(), tag.as_ref()].concat()
    }

    /// `None` when it was sealed otherwise.
    pub(super) fn open_sealed(&self, sealed: Vec<u8>, context: &[u8]) -> Option<Zeroizing<String>> {
        let mut sealed = Zeroizing::new(sealed);
        let (nonce, text) = sealed.split_at_mut_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let text = self.0.open_in_place(nonce, Aad::from(context), text).ok()?;
        std::str::from_utf8(text).ok().map(|text| Zeroizing::new(text.to_owned()))
    }
}

/// Written whole and then moved into place: no crash leaves half a key.
fn make(path: &Path) -> io::Result<Zeroizing<Vec<u8>>> {
    let key = Zeroizing::new(random::<KEY_LEN>().to_vec());
    let temporary = path.with_extension("tmp");
    let mut file =
        fs::OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&temporary)?;
    file.write_all(&key)?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    Ok(key)
}

/// `sec_` is what clients know ids by; a name cannot begin so.
pub(super) fn random_id() -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let letters = random::<20>().map(|byte| char::from(ALPHABET[usize::from(byte % 32)]));
    "sec_".chars().chain(letters).collect()
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).expect("the kernel gives random bytes once it has started");
    bytes
}
