//! Every ceiling of the client, declared once: the constants, and the table for `LIMITS.md`.

use std::time::Duration;

hood_limits::limits! {
    CONNECT: Duration = Duration::from_secs(5), "time to connect to the server", "the server counts as not there";
    CALL: Duration = Duration::from_secs(60), "time for one call that answers at once, creation of a sandbox included", "the call fails";
    CAPTURE: Duration = Duration::from_secs(300), "time for a snapshot, a fork, or the way back to a snapshot", "the call fails; the server goes on";
    PROBE: Duration = Duration::from_secs(5), "time to learn whether a sandbox whose stream broke still lives", "the break itself is reported";
    KEEPALIVE: Duration = Duration::from_secs(15), "time in which a process's stream shall show a sign of life", "the next sign is waited for";
    /// Several missed signs of life.
    SILENCE: Duration = Duration::from_secs(75), "silence on a stream", "it counts as broken";
    TRANSFER: Duration = Duration::from_secs(3600), "time for one upload or download", "it fails";
    ANSWER: usize = 64 << 20, bytes, "an answer that is read whole, such as a long listing", "it is not understood";
    ERROR: usize = 64 << 10, bytes, "what is read of an error's body", "the rest is left";
    /// A cell's result may hold a large picture.
    MESSAGE: usize = 64 << 20, bytes, "one message or line of a stream", "it is not understood";
    /// 100 pages of 100 are more than any node runs.
    PAGES: usize = 100, "pages of a listing", "further ones are not asked for";
    INPUT: usize = 64 << 10, bytes, "input sent in one call", "more is cut into several";
}
