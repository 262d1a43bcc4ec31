//! Every ceiling of policies, declared once: the constants, and the table for `LIMITS.md`.

hood_limits::limits! {
    ALLOW_LINES: usize = 1_000, "lines of a policy's allow list", "the policy is refused";
    DENY_LINES: usize = 1_000, "ranges of a policy's deny list", "the policy is refused";
    LINE_PORTS: usize = 100, "ports of one line of the allow list", "the policy is refused";
    DNS_SERVERS: usize = 10, "name servers of a policy", "the policy is refused";
    /// This one and the next four are E2B's.
    HOST_RULES: usize = 10, "hosts with a rule in a policy", "the policy is refused";
    HOST_BYTES: usize = 128, bytes, "the name of a host with a rule", "the policy is refused";
    HEADERS: usize = 20, "headers that a rule sets", "the policy is refused";
    HEADER_NAME_BYTES: usize = 64, bytes, "name of a header that a rule sets", "the policy is refused";
    HEADER_VALUE_BYTES: usize = 2_048, bytes, "value of a header that a rule sets", "the policy is refused";
    REQUESTS: usize = 100, "request rules of one host", "the policy is refused";
    METHODS: usize = 20, "methods of one request rule", "the policy is refused";
    PATH_BYTES: usize = 1_024, bytes, "path of a request rule", "the policy is refused";
    /// RFC 1929 has one byte for their lengths.
    PROXY_WORD_BYTES: usize = 255, bytes, "user name or password of a proxy", "the policy is refused";
    PROXY_CA_BYTES: usize = 64 << 10, bytes, "certificate of a proxy's authority", "the policy is refused";
    /// RFC 1035, without the root's length byte and the closing one.
    NAME_BYTES: usize = 253, bytes, "a host name", "it is no name";
    LABEL_BYTES: usize = 63, bytes, "one label of a host name", "it is no name";
}
