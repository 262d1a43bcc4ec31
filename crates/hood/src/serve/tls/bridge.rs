//! A certificate from files that may not be there yet: until they are, one of the server's own authority.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::files::Files;
use super::own::Own;
use crate::limits::ACME_FIRST_LOOK;

pub(super) struct Bridge {
    own: Own,
    chain: PathBuf,
    key: PathBuf,
    files: Mutex<Found>,
}

enum Found {
    NotYet(Option<Instant>),
    Yes(Arc<Files>),
}

impl Bridge {
    pub(super) fn new(own: Own, chain: PathBuf, key: PathBuf) -> Self {
        Self { own, chain, key, files: Mutex::new(Found::NotYet(None)) }
    }

    fn files(&self) -> Option<Arc<Files>> {
        let mut found = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *found {
            Found::Yes(files) => Some(files.clone()),
            Found::NotYet(Some(looked)) if looked.elapsed() < ACME_FIRST_LOOK => None,
            Found::NotYet(looked) => {
                *looked = Some(Instant::now());
                let files = Arc::new(Files::open(&self.chain, &self.key).ok()?);
                *found = Found::Yes(files.clone());
                Some(files)
            }
        }
    }
}

impl fmt::Debug for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bridge").field("chain", &self.chain).finish_non_exhaustive()
    }
}

impl ResolvesServerCert for Bridge {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        match self.files() {
            Some(files) => files.resolve(hello),
            None => self.own.resolve(hello),
        }
    }
}
