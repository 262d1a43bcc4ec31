//! Rules as the kernel has them: expressions that load into a register, compare it, or end the packet's way.

/// All that is loaded at once.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ruleset {
    pub(super) table: String,
    pub(super) chains: Vec<Chain>,
}

/// Rules for packets that programs send.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chain {
    pub(super) name: String,
    /// `filter` or `nat`.
    pub(super) kind: String,
    pub(super) priority: i32,
    /// For what no rule ends.
    pub(super) policy: Verdict,
    pub(super) rules: Vec<Vec<Expression>>,
}

/// How a packet's way through a chain ends. Numbers: `linux/netfilter.h`, `linux/netfilter/nf_tables.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Drop = 0,
    Accept = 1,
    Return = -5,
}

/// What a register is loaded with. Numbers: `linux/netfilter/nf_tables.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Load {
    /// IPv4 or IPv6.
    Family,
    /// TCP, UDP and others.
    Protocol,
    /// State of the connection, as bits.
    State,
    /// Bytes of the packet's header: network (1) or transport (2), from, how many.
    Header(u32, u32, u32),
}

/// With what a packet is refused. Numbers: `linux/netfilter/nf_tables.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// A TCP reset.
    Reset,
    /// ICMP of either family: administratively prohibited.
    Prohibited,
}

/// One step of a rule; a comparison that fails ends the rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Expression {
    Load(Load),
    /// The register's bytes become those that are set in this mask, too.
    Mask(Vec<u8>),
    Equal(Vec<u8>),
    NotEqual(Vec<u8>),
    /// More connections than this have matched so far and live.
    CountOver(u32),
    /// Fewer packets a second than this, after that many at once.
    Rate {
        a_second: u32,
        burst: u32,
    },
    /// Keeps the packet out of the table of connections.
    Untrack,
    /// The connection goes to this address and port, in network order.
    Redirect {
        address: Vec<u8>,
        port: u16,
    },
    /// A copy of so many of the packet's bytes goes to whoever listens to this group.
    Report {
        group: u16,
        bytes: u32,
    },
    Refuse(Refusal),
    End(Verdict),
}
