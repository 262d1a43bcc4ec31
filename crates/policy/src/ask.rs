//! Which names may be asked for.

use crate::{Base, Ceiling, Name, Policy, Range, Reason, Target, Verdict};

/// Names of the addresses in [`crate::closed`] where clouds keep credentials.
const METADATA: [&str; 6] = [
    "metadata",
    "metadata.google.internal",
    "metadata.goog",
    "metadata.azure.internal",
    "instance-data",
    "instance-data.ec2.internal",
];

/// Whether our resolver may pass on this sandbox's question about a name. Never [`Verdict::NeedsName`].
///
/// A question is a message to whoever serves the name, so only those are asked whose answer the policy could use:
/// all with an open base, otherwise those that an allow line names. Ranges need no names and so allow none to be
/// asked, but for a line that opens everything. (A denied range does not forbid a question: the answer is not known
/// yet.)
pub fn may_ask(policy: &Policy, ceiling: &Ceiling, name: &Name) -> Verdict {
    if METADATA.contains(&name.as_str()) {
        return Verdict::Deny(Reason::ClosedRange("metadata".to_owned()));
    }
    let above = match judge(&ceiling.policy, name) {
        Verdict::Deny(_) => return Verdict::Deny(Reason::Ceiling),
        other => other,
    };
    match (above, judge(policy, name)) {
        (Verdict::WouldDeny(_), Verdict::Allow(_)) => Verdict::WouldDeny(Reason::Ceiling),
        (_, verdict) => verdict,
    }
}

fn judge(policy: &Policy, name: &Name) -> Verdict {
    let useful = |to: &Target| match to {
        Target::Name(pattern) => pattern.matches(name),
        Target::Range(range) => range.is_everything(),
    };
    if let Some(line) = policy.allow.iter().find(|line| useful(&line.to)) {
        return Verdict::Allow(Reason::Allowed(line.to.to_string()));
    }
    match policy.base {
        Base::Open if !Range::cover_everything(&policy.deny) => Verdict::Allow(Reason::Base),
        _ if policy.log_only => Verdict::WouldDeny(Reason::Base),
        _ => Verdict::Deny(Reason::Base),
    }
}
