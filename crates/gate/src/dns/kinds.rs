//! What is done with questions for records of each type.

use hickory_proto::rr::RecordType;
use hood_policy::{Base, Policy, Target};

/// What becomes of a question for a name that may be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Addresses: passed on.
    Address,
    /// Other records that programs ask for: passed on where the policy allows most names.
    Data,
    /// There are none, whatever the name's server has to say.
    None,
    /// Nobody needs these but for tunnels and transfers of whole zones.
    Refused,
}

/// A record of another type than an address carries more than an address, and what asks for it in a closed sandbox is
/// a tunnel before it is anything else.
///
/// `HTTPS` and `SVCB` records are never passed on: they hold the keys with which a program could hide the name of the
/// host it connects to (ECH), and QUIC, which they offer, has no way out.
pub(super) fn kind(of: RecordType) -> Kind {
    match of {
        RecordType::A | RecordType::AAAA => Kind::Address,
        RecordType::HTTPS | RecordType::SVCB => Kind::None,
        RecordType::CAA
        | RecordType::CNAME
        | RecordType::DNSKEY
        | RecordType::DS
        | RecordType::MX
        | RecordType::NAPTR
        | RecordType::NS
        | RecordType::PTR
        | RecordType::SOA
        | RecordType::SRV
        | RecordType::SSHFP
        | RecordType::TLSA
        | RecordType::TXT => Kind::Data,
        _ => Kind::Refused,
    }
}

/// Whether a policy lets most names be asked for, so that there is nothing to keep in.
pub(super) fn is_wide(policy: &Policy) -> bool {
    let everything = policy.allow.iter().any(|line| match &line.to {
        Target::Range(range) => range.is_everything(),
        Target::Name(_) => false,
    });
    let open = policy.base == Base::Open && !policy.deny.iter().any(hood_policy::Range::is_everything);
    policy.log_only || everything || open
}
