//! What the fuzz target looks at: a policy in JSON, from the record of a sandbox or a profile of the configuration, and
//! what it says about one connection. An address with port, a host, a request, then the policy, a line each.

use std::net::SocketAddr;

use crate::{
    Attempt, Ceiling, FirstBytes, Name, Policy, Protocol, Verdict, closed, decide, decide_request, may_ask,
    validate, validate_ceiling, within,
};

/// Reads it, and asks about one connection under it.
pub fn policy(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut parts = text.splitn(4, '\n');
    let (Some(to), Some(host), Some(request), Some(json)) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return;
    };
    let name = canonical(host);
    let (policy, ceiling) = (stored::<Policy>(json), stored::<Ceiling>(json));
    let ceiling = ceiling.unwrap_or_default();
    let policy = policy.unwrap_or_else(|| ceiling.policy.clone());
    for finding in validate(&policy).unwrap_or_else(|errors| errors) {
        assert!(!finding.to_string().contains(['\n', '\r', '\0']), "{finding}");
    }
    for finding in validate_ceiling(&ceiling).unwrap_or_else(|errors| errors) {
        assert!(!finding.to_string().is_empty());
    }
    within(&policy, &ceiling);
    if let Some(name) = &name {
        assert_ne!(may_ask(&policy, &ceiling, name), Verdict::NeedsName);
        let (method, path) = request.split_once(' ').unwrap_or((request, "/"));
        if let Some(rule) = policy.host_rule(name) {
            assert_ne!(decide_request(&policy, rule, method, path), Verdict::NeedsName);
        }
    }
    let Ok(to) = to.parse::<SocketAddr>() else { return };
    for looked_up in [true, false] {
        for first_bytes in [FirstBytes::Read, FirstBytes::Unread] {
            let attempt =
                Attempt { to, name: name.as_ref(), looked_up, protocol: Protocol::Tls, first_bytes };
            let verdict = decide(&policy, &ceiling, &attempt);
            assert!(first_bytes == FirstBytes::Unread || verdict != Verdict::NeedsName);
            let sealed = Ceiling { open: Vec::new(), ..ceiling.clone() };
            let refused = matches!(decide(&policy, &sealed, &attempt), Verdict::Deny(_));
            assert!(refused || closed(to.ip()).is_none(), "{to}");
        }
    }
}

/// A name has one spelling, and is no address to anybody.
fn canonical(text: &str) -> Option<Name> {
    let name: Name = text.parse().ok()?;
    assert_eq!(name.as_str().parse().ok().as_ref(), Some(&name));
    assert!(text.is_ascii() && name.as_str().parse::<std::net::IpAddr>().is_err());
    Some(name)
}

/// Read, and the same after it was written and read again.
fn stored<T>(json: &str) -> Option<T>
where
    T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let read: T = serde_json::from_str(json).ok()?;
    let written = serde_json::to_string(&read).expect("a policy is strings and numbers");
    assert_eq!(serde_json::from_str(&written).ok().as_ref(), Some(&read));
    Some(read)
}

#[cfg(test)]
mod tests {
    #[test]
    fn seeds_of_policies_with_noise_in_them() {
        crate::mutate::mutate("policy", super::policy);
    }
}
