//! A certificate of the server's own authority, made anew long before it ends.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use hood_gate::{Authority, AuthorityError};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::limits::{CERTIFICATE_FRESH, CERTIFICATE_LIFE};

pub(super) struct Own {
    authority: Authority,
    names: Vec<String>,
    current: Mutex<(Instant, Arc<CertifiedKey>)>,
}

impl Own {
    pub(super) fn new(authority: Authority, names: Vec<String>) -> Result<Self, AuthorityError> {
        let first = authority.issue(&names, CERTIFICATE_LIFE)?;
        Ok(Self { authority, names, current: Mutex::new((Instant::now(), first)) })
    }
}

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Own").field("names", &self.names).finish_non_exhaustive()
    }
}

impl ResolvesServerCert for Own {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.0.elapsed() > CERTIFICATE_FRESH {
            match self.authority.issue(&self.names, CERTIFICATE_LIFE) {
                Ok(next) => *current = (Instant::now(), next),
                Err(error) => tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "cannot renew the server's certificate"
                ),
            }
        }
        Some(current.1.clone())
    }
}
