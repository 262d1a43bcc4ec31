//! What is wrong with a policy or a ceiling when it is loaded.

mod hosts;
pub(crate) mod lists;
mod proxy;

#[cfg(test)]
mod tests;

use crate::closed::{closed, metadata};
use crate::{Ceiling, Finding, Place, Policy, Severity, limits};

/// Warnings about a policy that can be used, or all that is wrong with one that cannot: never an empty list.
///
/// Errors: more than [`limits`] has, values that cannot be sent, wildcards over strangers. Warnings: lines that say
/// nothing because another line or the base has said it.
pub fn validate(policy: &Policy) -> Result<Vec<Finding>, Vec<Finding>> {
    settled(findings(policy))
}

/// The same for a profile of the server's configuration.
pub fn validate_ceiling(ceiling: &Ceiling) -> Result<Vec<Finding>, Vec<Finding>> {
    let mut all = findings(&ceiling.policy);
    let policy = &ceiling.policy;
    let out_of_place = [
        (Place::Host(None), !policy.hosts.is_empty()),
        (Place::Proxy, policy.proxy.is_some()),
        (Place::DnsServers, !policy.dns_servers.is_empty()),
        (Place::Profile, policy.profile.is_some()),
    ];
    for (place, _) in out_of_place.into_iter().filter(|(_, there)| *there) {
        let what = "a profile bounds what sandboxes reach, and this is no bound";
        all.push(Finding::error(place, what, "leave it out; policies of sandboxes have it"));
    }
    if policy.log_only {
        let what = "this profile forbids nothing, it only records";
        all.push(Finding::warning(Place::LogOnly, what, "leave it out once what is recorded looks right"));
    }
    for (line, range) in ceiling.open.iter().enumerate() {
        let place = Place::Open(line);
        if range.is_everything() {
            let what = format!("`{range}` opens the server itself and its whole network to sandboxes");
            all.push(Finding::error(place, what, "list the networks that sandboxes shall reach"));
        } else if closed(range.first()).is_none() && closed(range.last()).is_none() {
            let what = format!("`{range}` is closed by nothing");
            all.push(Finding::warning(place, what, "leave it out; policies decide about public addresses"));
        } else if !range.is_one() && metadata().any(|address| range.contains(address)) {
            let what =
                format!("`{range}` holds an address where clouds keep credentials, which stays closed");
            all.push(Finding::warning(
                place,
                what,
                "list that address by itself if sandboxes shall reach it",
            ));
        }
    }
    settled(all)
}

fn findings(policy: &Policy) -> Vec<Finding> {
    let mut all = Vec::new();
    lists::check(policy, &mut all);
    hosts::check(policy, &mut all);
    proxy::check(policy, &mut all);
    if policy.dns_servers.len() > limits::DNS_SERVERS {
        all.push(too_many(Place::DnsServers, policy.dns_servers.len(), limits::DNS_SERVERS, "name servers"));
    }
    all
}

fn settled(all: Vec<Finding>) -> Result<Vec<Finding>, Vec<Finding>> {
    let (errors, warnings): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|finding| finding.severity == Severity::Error);
    if errors.is_empty() { Ok(warnings) } else { Err(errors) }
}

/// One limit on a count, one sentence.
fn too_many(place: Place, there_are: usize, at_most: usize, what: &str) -> Finding {
    Finding::error(
        place,
        format!("{there_are} {what}, at most {at_most}"),
        format!("leave out {}", there_are - at_most),
    )
}

/// The same on a length.
fn too_long(place: Place, what: &str, is: usize, at_most: usize) -> Finding {
    Finding::error(place, format!("{what} has {is} bytes, at most {at_most}"), "shorten it")
}
