//! Every ceiling of the gate, declared once: the constants, and the table for `LIMITS.md`.

use std::time::Duration;

hood_limits::limits! {
    CA_LIFE: Duration = Duration::from_secs(3650 * 86_400), "life of a certificate authority made at the first start", "its file must be removed; the next start makes a new one";
    LEAF_LIFE: Duration = Duration::from_secs(86_400), "life of a certificate that a sandbox is shown", "a new one is made";
    LEAVES: usize = 1024, "such certificates kept", "the oldest is forgotten";
    HANDSHAKE: Duration = Duration::from_secs(10), "time for a TLS handshake, with the program inside or with the host", "the connection ends; the program is told when it was the host's";
    HEAD: usize = 64 << 10, bytes, "the head of a request or an answer that the gate reads", "431, or 502 when it was the host's";
    STREAMS: u32 = 100, "requests at once on one intercepted HTTP/2 connection", "further ones wait";
    /// Shorter ones are found in answers where they are not.
    SHORTEST_SCRUBBED: usize = 6, bytes, "the shortest secret that is looked for in answers", "shorter ones are not";
}

/// Clocks differ: certificates count from this long ago.
pub(crate) const CLOCK_SLEW: Duration = Duration::from_secs(3600);
