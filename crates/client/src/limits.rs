//! Every ceiling of the client, with what happens when it is met.

use std::time::Duration;

/// Time to connect to the server; then it counts as not there.
pub(crate) const CONNECT: Duration = Duration::from_secs(5);
/// Time for one call that answers at once, creation of a sandbox included; then the call fails.
pub(crate) const CALL: Duration = Duration::from_secs(60);
/// Time to learn whether a sandbox whose stream broke still lives; then the break itself is reported.
pub(crate) const PROBE: Duration = Duration::from_secs(5);
/// Interval at which a process's stream shall show signs of life.
pub(crate) const KEEPALIVE: Duration = Duration::from_secs(15);
/// Silence on a stream after which it counts as broken: several missed signs of life.
pub(crate) const SILENCE: Duration = Duration::from_secs(75);
/// Time for one upload or download; then it fails.
pub(crate) const TRANSFER: Duration = Duration::from_secs(3600);
/// Bytes of an answer that is read whole, such as a long listing; a longer one is not understood.
pub(crate) const ANSWER: usize = 64 << 20;
/// Bytes read of an error's body; the rest is left.
pub(crate) const ERROR: usize = 64 << 10;
/// Bytes of one message or line of a stream; a larger one is not understood. A cell's result may hold a large picture.
pub(crate) const MESSAGE: usize = 64 << 20;
/// Pages of a listing; further ones are not asked for, since 100 pages of 100 are more than any node runs.
pub(crate) const PAGES: usize = 100;
/// Bytes of input sent in one call; more is cut into several.
pub(crate) const INPUT: usize = 64 << 10;
