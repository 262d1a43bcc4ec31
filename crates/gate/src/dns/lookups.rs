//! Which addresses a sandbox was told for which names.

use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hood_policy::Name;

use super::bounded::Bounded;
use crate::limits::{LOOKUP_LIFE, LOOKUP_LIFE_MIN, LOOKUPS};

/// What our resolver has answered to one sandbox. A connection that says it is for a name counts as such only if its
/// address was an answer for that name.
pub(crate) struct Lookups {
    told: Mutex<Bounded<(Name, IpAddr), ()>>,
}

impl Default for Lookups {
    fn default() -> Self {
        Self { told: Mutex::new(Bounded::new(LOOKUPS)) }
    }
}

impl Lookups {
    /// Whether this address was an answer for this name, and still counts.
    ///
    /// It counts for as long as it was good, but for some minutes at least: programs connect to what they have looked
    /// up a while ago, whatever the answer said.
    pub(crate) fn answered(&self, name: &Name, address: IpAddr) -> bool {
        let key = (name.clone(), address.to_canonical());
        self.told.lock().unwrap_or_else(PoisonError::into_inner).get(&key, Instant::now()).is_some()
    }

    pub(super) fn tell(&self, name: &Name, addresses: &[(IpAddr, Duration)]) {
        let now = Instant::now();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        for (address, ttl) in addresses {
            let life = (*ttl).clamp(LOOKUP_LIFE_MIN, LOOKUP_LIFE);
            told.put((name.clone(), address.to_canonical()), (), now + life);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_for_its_name_and_its_address_only() {
        let lookups = Lookups::default();
        let (a, b): (Name, Name) = ("a.example".parse().unwrap(), "b.example".parse().unwrap());
        let (one, two): (IpAddr, IpAddr) = ("93.184.216.34".parse().unwrap(), "1.1.1.1".parse().unwrap());
        lookups.tell(&a, &[(one, Duration::ZERO)]);
        lookups.tell(&b, &[(two, Duration::from_secs(60))]);
        assert!(lookups.answered(&a, one) && lookups.answered(&b, two));
        assert!(
            lookups.answered(&a, "::ffff:93.184.216.34".parse().unwrap()),
            "one address in two spellings"
        );
        assert!(!lookups.answered(&a, two) && !lookups.answered(&b, one));
    }

    #[test]
    fn too_many_answers_push_out_the_oldest() {
        let lookups = Lookups::default();
        let name: Name = "many.example".parse().unwrap();
        let address = |n: usize| IpAddr::from(std::net::Ipv4Addr::from(0x0800_0000 + n as u32));
        for n in 0..=LOOKUPS {
            lookups.tell(&name, &[(address(n), Duration::from_secs(1))]);
        }
        assert!(!lookups.answered(&name, address(0)));
        assert!(lookups.answered(&name, address(1)) && lookups.answered(&name, address(LOOKUPS)));
    }
}
