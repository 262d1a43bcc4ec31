//! Certificates that the gate shows for hosts whose TLS it opens, made at need and kept for a while.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustls::sign::CertifiedKey;

use crate::ca::{Authority, AuthorityError};
use crate::limits::{LEAF_LIFE, LEAVES};

/// Makes and remembers them, at most [`LEAVES`].
pub(super) struct Leaves {
    authority: Authority,
    kept: Mutex<HashMap<String, Kept>>,
}

struct Kept {
    made: Instant,
    leaf: Arc<CertifiedKey>,
}

/// A kept one is used for half of its life, so that no connection meets an old one.
const FRESH: Duration = Duration::from_secs(LEAF_LIFE.as_secs() / 2);

impl Leaves {
    pub(super) fn new(authority: Authority) -> Self {
        Self { authority, kept: Mutex::default() }
    }

    /// The certificate for a host.
    pub(super) fn of(&self, host: &str) -> Result<Arc<CertifiedKey>, AuthorityError> {
        let now = Instant::now();
        if let Some(kept) = self.lock().get(host)
            && now.duration_since(kept.made) < FRESH
        {
            return Ok(kept.leaf.clone());
        }
        // Made without the lock: two at once make two, and one is kept.
        let leaf = self.authority.issue(&[host.to_owned()], LEAF_LIFE)?;
        let mut kept = self.lock();
        if kept.len() >= LEAVES && !kept.contains_key(host) {
            let oldest = kept.iter().min_by_key(|(_, kept)| kept.made).map(|(host, _)| host.clone());
            if let Some(oldest) = oldest {
                kept.remove(&oldest);
            }
        }
        kept.insert(host.to_owned(), Kept { made: now, leaf: leaf.clone() });
        Ok(leaf)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_are_kept_up_to_a_bound() {
        let leaves = Leaves::new(Authority::generate("test").unwrap());
        let first = leaves.of("a.test").unwrap();
        assert!(Arc::ptr_eq(&first, &leaves.of("a.test").unwrap()));
        for n in 0..LEAVES {
            leaves.of(&format!("h{n}.test")).unwrap();
        }
        assert_eq!(leaves.lock().len(), LEAVES);
        assert!(!Arc::ptr_eq(&first, &leaves.of("a.test").unwrap()), "the oldest has gone");
    }
}
