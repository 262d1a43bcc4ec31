//! What the policy of the moment says of one request.

use hood_policy::{HostRule, Transform, Verdict};
use http::HeaderMap;

use super::refusal::Refusal;
use super::{Facts, Secured};

/// By these some servers are told another method, path or host than the request has: past rules that name them.
///
/// A method in a query or a body (`?_method=DELETE`) is beyond what rules see.
const SAYS_OTHERWISE: [&str; 12] = [
    "x-http-method-override",
    "x-http-method",
    "x-method-override",
    "x-original-url",
    "x-rewrite-url",
    "x-original-uri",
    "x-forwarded-uri",
    "x-forwarded-path",
    "x-forwarded-prefix",
    "x-forwarded-host",
    "x-host",
    "forwarded",
];

/// The page for a verdict, where it is none to go on.
pub(super) fn check(facts: &Facts, verdict: &Verdict, method: &str, path: &str) -> Result<(), Refusal> {
    match verdict {
        Verdict::Allow(_) | Verdict::WouldDeny(_) => Ok(()),
        Verdict::Deny(_) | Verdict::NeedsName => Err(Refusal::Rule {
            host: facts.name.to_string(),
            method: method.to_owned(),
            path: path.escape_debug().take(256).collect(),
        }),
    }
}

/// Takes away what would make another request of it than the rule has allowed.
pub(super) fn strip_otherwise(headers: &mut HeaderMap, rule: Option<&HostRule>) {
    if rule.is_some_and(HostRule::limits_requests) {
        for name in SAYS_OTHERWISE {
            remove_alike(headers, name);
        }
    }
}

/// Removes a header in every spelling that a server may take for it: `_` and `-` are one where headers become
/// variables (CGI, WSGI).
pub(super) fn remove_alike(headers: &mut HeaderMap, name: &str) {
    let alike = |other: &str| {
        other.len() == name.len()
            && other
                .bytes()
                .zip(name.bytes())
                .all(|(a, b)| a == b || (b"-_".contains(&a) && b"-_".contains(&b)))
    };
    let found: Vec<_> = headers.keys().filter(|other| alike(other.as_str())).cloned().collect();
    for name in found {
        headers.remove(name);
    }
}

/// Secrets are not sent in clear text: nothing says who reads it.
pub(super) fn check_secured(transform: &Transform, facts: &Facts) -> Result<(), Refusal> {
    let holds_secret = transform.headers.values().any(|value| value.contains("${e2b.secrets."));
    if holds_secret && facts.secured() == Secured::No { Err(Refusal::ClearText) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_header_is_removed_in_every_spelling() {
        let mut headers = HeaderMap::new();
        for name in ["x-http-method", "x_http_method", "x-http_method", "x-http-methods", "xhttp-method"] {
            headers.insert(http::HeaderName::from_static(name), HeaderValue::from_static("DELETE"));
        }
        remove_alike(&mut headers, "x-http-method");
        let mut left: Vec<_> = headers.keys().map(http::HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["x-http-methods", "xhttp-method"]);
    }
}
