//! Every ceiling of the gate, declared once: the constants, and the table for `LIMITS.md`.

use std::time::Duration;

hood_limits::limits! {
    CONNECTIONS: usize = 2048, "connections that one sandbox may have open", "one more is reset, and stands in the audit";
    FAREWELL: Duration = Duration::from_millis(500), "time for the connections of a sandbox that ends to record their ends", "they are dropped";
    FIRST_BYTES: Duration = Duration::from_secs(2), "time for a connection to say which host it is for, where the host's name decides", "it is decided on without a name";
    HELLO: usize = 32 << 10, bytes, "a TLS ClientHello that the gate reads", "the connection has no name";
    DIAL: Duration = Duration::from_secs(10), "time for opening the way to a destination, a proxy's answer included", "the connection is reset";
    BUFFER: usize = 128 << 10, bytes, "a buffer for bytes on their way; a connection has one only while there are some", "the sender waits";
    BUFFERS: usize = 64, "such buffers kept for the next bytes", "further ones are given back to the system";
    CA_LIFE: Duration = Duration::from_secs(3650 * 86_400), "life of a certificate authority made at the first start", "its file must be removed; the next start makes a new one";
    LEAF_LIFE: Duration = Duration::from_secs(86_400), "life of a certificate that a sandbox is shown", "a new one is made";
    LEAVES: usize = 1024, "such certificates kept", "the oldest is forgotten";
    HANDSHAKE: Duration = Duration::from_secs(10), "time for a TLS handshake, with the program inside or with the host", "the connection ends; the program is told when it was the host's";
    HEAD: usize = 64 << 10, bytes, "the head of a request or an answer that the gate reads", "431, or 502 when it was the host's";
    STREAMS: u32 = 100, "requests at once on one intercepted HTTP/2 connection", "further ones wait";
    /// Shorter ones are found in answers where they are not.
    SHORTEST_SCRUBBED: usize = 6, bytes, "the shortest secret that is looked for in answers", "shorter ones are not";
    QUESTION: usize = 1232, bytes, "a question about a name, as a program sends it", "it is dropped; a stream ends";
    /// What passes everywhere in one piece.
    DATAGRAM: usize = 1232, bytes, "an answer about a name in one datagram", "the asker is told to ask again by a stream";
    STREAM_ANSWER: usize = 65_535, bytes, "an answer about a name in a stream", "the answer is that the server failed";
    ANSWER_RECORDS: usize = 256, "records taken from a server's answer", "further ones are left out";
    QUESTIONS_PER_SECOND: u32 = 50, "questions about names that one sandbox may ask in a second, over time", "REFUSED, and an entry in the audit once a second";
    QUESTIONS_AT_ONCE: u32 = 200, "the same in one burst", "REFUSED, and an entry in the audit once a second";
    QUESTIONS_OPEN: usize = 64, "questions of one sandbox that wait for an answer", "REFUSED, and an entry in the audit once a second";
    QUESTION_STREAMS: usize = 16, "streams of one sandbox for questions about names", "one more is closed at once";
    QUESTION_PAUSE: Duration = Duration::from_secs(10), "time between two questions in one stream, and for one of them to arrive", "the stream ends";
    UPSTREAM_TRY: Duration = Duration::from_millis(1500), "time for one answer of a name server", "the next one is asked";
    UPSTREAM: Duration = Duration::from_secs(6), "time for asking all name servers", "the answer is that the server failed";
    ANSWERS: usize = 8192, "answers about names kept for all sandboxes", "the oldest is forgotten";
    ANSWER_LIFE: Duration = Duration::from_secs(3600), "time for which an answer about a name is kept, at most", "it is asked for again";
    NO_ANSWER_LIFE: Duration = Duration::from_secs(5), "time for which it is kept that a name does not exist", "it is asked for again";
    RECORDED: usize = 1024, bytes, "a request's path in the audit, and its method", "what follows is not recorded";
    LOOKUPS: usize = 4096, "answers (name and address) that count for the connections of one sandbox", "the oldest counts no more: the name must be looked up again";
    LOOKUP_LIFE_MIN: Duration = Duration::from_secs(600), "time for which an answer counts for connections, however short its life", "the name must be looked up again";
    LOOKUP_LIFE: Duration = Duration::from_secs(86_400), "the same, however long its life", "the name must be looked up again";
}

/// Clocks differ: certificates count from this long ago.
pub(crate) const CLOCK_SLEW: Duration = Duration::from_secs(3600);
