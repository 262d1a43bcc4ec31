//! Time and randomness, for real.

use std::time::Duration;

use async_trait::async_trait;
use hood_engine::ports::{Clock, Entropy};
use time::OffsetDateTime;

/// Longest sleep in one piece: if somebody sets the clock forward, deadlines are late by no more than this.
const LONGEST_NAP: Duration = Duration::from_secs(1);

/// The system's clock.
pub(super) struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> OffsetDateTime {
        OffsetDateTime::now_utc()
    }

    async fn sleep_until(&self, when: OffsetDateTime) {
        loop {
            let Ok(left) = Duration::try_from(when - OffsetDateTime::now_utc()) else { return };
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left.min(LONGEST_NAP)).await;
        }
    }
}

/// The kernel's generator, through the thread's own.
pub(super) struct KernelEntropy;

impl Entropy for KernelEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        use rand::Rng;
        rand::rng().fill_bytes(bytes);
    }
}
