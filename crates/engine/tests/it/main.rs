//! The engine as its callers see it, on a fake driver, a store in memory and a clock wound by hand.

mod changing;
mod creating;
mod deadlines;
mod ending;
mod listing;
mod logs;
mod pausing;
mod random;
mod restart;
mod snapshots;
mod streams;
mod volumes;

use std::time::Duration;

/// `n` seconds.
const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}
