//! The allow and the deny list.

use super::too_many;
use crate::wide::is_over_wide;
use crate::{Allow, Base, Finding, Pattern, Place, Policy, Range, Target, limits};

pub(super) fn check(policy: &Policy, all: &mut Vec<Finding>) {
    if policy.allow.len() > limits::ALLOW_LINES {
        all.push(too_many(Place::Allow(None), policy.allow.len(), limits::ALLOW_LINES, "lines"));
        return;
    }
    if policy.deny.len() > limits::DENY_LINES {
        all.push(too_many(Place::Deny(None), policy.deny.len(), limits::DENY_LINES, "lines"));
        return;
    }
    for (line, allow) in policy.allow.iter().enumerate() {
        let place = Place::Allow(Some(line));
        if allow.ports.len() > limits::LINE_PORTS {
            all.push(too_many(place.clone(), allow.ports.len(), limits::LINE_PORTS, "ports"));
        }
        if allow.ports.contains(&0) {
            all.push(Finding::error(place.clone(), "port 0 is no port", "list the ports, or none for all"));
        }
        match &allow.to {
            Target::Name(pattern) if is_over_wide(pattern) => all.push(over_wide(place, pattern)),
            _ => all.extend(idle(policy, line, allow)),
        }
    }
    for (line, range) in policy.deny.iter().enumerate() {
        all.extend(idle_denial(policy, line, range));
    }
}

/// A wildcard that means everybody.
pub(super) fn over_wide(place: Place, pattern: &Pattern) -> Finding {
    let what = format!("`{pattern}` is over-wide: anybody can have a name there");
    Finding::error(place, what, "name the hosts, or a wildcard below a name of one owner")
}

/// Why an allow line says nothing.
fn idle(policy: &Policy, line: usize, allow: &Allow) -> Option<Finding> {
    let place = Place::Allow(Some(line));
    if let Some(earlier) = policy.allow[..line].iter().position(|earlier| covers(earlier, allow)) {
        let what = format!("`{}` is allowed by line {earlier} already", allow.to);
        return Some(Finding::warning(place, what, "leave it out"));
    }
    let denied = match &allow.to {
        Target::Name(_) => !policy.deny.is_empty(),
        Target::Range(range) => policy.deny.iter().any(|deny| deny.covers(range) || range.covers(deny)),
    };
    let limited = policy.hosts.iter().any(crate::HostRule::limits_requests);
    (policy.base == Base::Open && !denied && !limited).then(|| {
        let what = format!("`{}` is open already, as everything is that nothing denies", allow.to);
        Finding::warning(place, what, "close the base, or leave the line out")
    })
}

/// Whether one line allows all that the other allows.
pub(crate) fn covers(wide: &Allow, narrow: &Allow) -> bool {
    let ports = wide.ports.is_empty()
        || (!narrow.ports.is_empty() && narrow.ports.iter().all(|port| wide.ports.contains(port)));
    ports
        && match (&wide.to, &narrow.to) {
            (Target::Range(wide), Target::Range(narrow)) => wide.covers(narrow),
            (Target::Name(wide), Target::Name(narrow)) => wide.covers(narrow),
            _ => false,
        }
}

/// Why a deny line says nothing.
fn idle_denial(policy: &Policy, line: usize, range: &Range) -> Option<Finding> {
    let place = Place::Deny(Some(line));
    let warning = |what, hint| Some(Finding::warning(place.clone(), what, hint));
    if let Some(earlier) = policy.deny[..line].iter().position(|earlier| earlier.covers(range)) {
        return warning(format!("`{range}` is denied by line {earlier} already"), "leave it out");
    }
    let allowed = policy.allow.iter().position(|allow| {
        allow.ports.is_empty() && matches!(&allow.to, Target::Range(wide) if wide.covers(range))
    });
    if let Some(allow) = allowed {
        let what = format!("`{range}` is allowed by line {allow} of `allow`, which wins");
        return warning(what, "leave out one of the two");
    }
    if policy.base == Base::Closed {
        return warning(
            format!("`{range}` is closed already, as everything is that nothing allows"),
            "leave it out, or open the base",
        );
    }
    None
}
