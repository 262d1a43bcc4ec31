//! What the policy of the moment says of one request.

use hood_policy::{HostRule, Reason, Transform, Verdict, decide_request};
use http::HeaderMap;

use super::refusal::Refusal;
use super::{Facts, Secured};

/// By these a server is told that a request means another method than it has: past a rule that names methods.
const OTHER_METHOD: [&str; 3] = ["x-http-method-override", "x-http-method", "x-method-override"];

/// Whether a request to a host with this rule goes on. A host whose rule has gone meanwhile has none.
pub(super) fn judge(facts: &Facts, rule: Option<&HostRule>, method: &str, path: &str) -> Verdict {
    let policy = facts.policy.borrow();
    match rule {
        Some(rule) => decide_request(&policy, rule, method, path),
        None => Verdict::Allow(Reason::Base),
    }
}

/// The page for a verdict, where it is none to go on.
pub(super) fn refusal(facts: &Facts, verdict: &Verdict, method: &str, path: &str) -> Result<(), Refusal> {
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
pub(super) fn strip_other_methods(headers: &mut HeaderMap, rule: Option<&HostRule>) {
    if rule.is_some_and(HostRule::limits_requests) {
        for name in OTHER_METHOD {
            headers.remove(name);
        }
    }
}

/// Secrets are not sent in clear text: nothing says who reads it.
pub(super) fn check_secured(transform: &Transform, facts: &Facts) -> Result<(), Refusal> {
    let holds_secret = transform.headers.values().any(|value| value.contains("${e2b.secrets."));
    if holds_secret && facts.secured() == Secured::No { Err(Refusal::ClearText) } else { Ok(()) }
}
