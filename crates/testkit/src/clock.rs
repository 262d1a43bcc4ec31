//! A clock that moves only when it is told to.

use std::time::Duration;

use async_trait::async_trait;
use hood_engine::ports::Clock;
use time::OffsetDateTime;
use tokio::sync::watch;

/// Time, wound by hand.
#[derive(Debug)]
pub struct HandClock(watch::Sender<OffsetDateTime>);

impl HandClock {
    /// A clock that stands at this time.
    pub fn at(start: OffsetDateTime) -> Self {
        Self(watch::Sender::new(start))
    }

    /// Moves on; wakes everybody whose time has come.
    pub fn advance(&self, by: Duration) {
        self.0.send_modify(|now| *now += by);
    }
}

impl Default for HandClock {
    /// Noon of the first of January 2026.
    fn default() -> Self {
        Self::at(OffsetDateTime::UNIX_EPOCH + time::Duration::seconds(1_767_268_800))
    }
}

#[async_trait]
impl Clock for HandClock {
    fn now(&self) -> OffsetDateTime {
        *self.0.borrow()
    }

    async fn sleep_until(&self, when: OffsetDateTime) {
        self.0.subscribe().wait_for(|now| *now >= when).await.expect("the sender is in self");
    }
}
