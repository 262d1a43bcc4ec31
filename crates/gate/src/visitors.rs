//! Which connections to this server come from its sandboxes.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The addresses, as the server's listener sees them, of connections that the gate carries from a sandbox to the
/// server. They are for the hosts of other sandboxes and for nothing else that the server has: whatever a program
/// inside writes into a request, or into TLS where the gate cannot read it.
#[derive(Debug, Clone, Default)]
pub struct Visitors(Arc<Mutex<HashSet<SocketAddr>>>);

/// One of them, until it is dropped.
#[derive(Debug)]
pub(crate) struct Visit {
    of: Visitors,
    address: SocketAddr,
}

impl Visitors {
    /// Whether this client is a sandbox.
    pub fn contains(&self, client: SocketAddr) -> bool {
        self.lock().contains(&canonical(client))
    }

    /// To be called before the first byte is sent.
    pub(crate) fn enter(&self, own: SocketAddr) -> Visit {
        let address = canonical(own);
        self.lock().insert(address);
        Visit { of: self.clone(), address }
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<SocketAddr>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.of.lock().remove(&self.address);
    }
}

/// A listener on every address sees IPv4 clients in IPv6's clothes.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_known_as_long_as_it_lasts() {
        let visitors = Visitors::default();
        let visit = visitors.enter(([127, 0, 0, 1], 7).into());
        let mapped: SocketAddr = "[::ffff:127.0.0.1]:7".parse().expect("an address");
        assert!(visitors.contains(mapped) && !visitors.contains(([127, 0, 0, 1], 8).into()));
        drop(visit);
        assert!(!visitors.contains(mapped));
    }
}
