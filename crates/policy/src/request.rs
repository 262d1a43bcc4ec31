//! Which requests to a host are allowed.

use crate::{HostRule, HttpRule, Policy, Reason, Verdict};

/// Whether this request may be sent to a host with this rule ([`Policy::host_rule`]). Never [`Verdict::NeedsName`].
///
/// `path` is the request's target in origin form, with or without its query. Methods are compared as they are
/// written, as HTTP has it; a rule that lists none means all but `CONNECT`, which asks for a tunnel.
///
/// A path that servers may read in two ways is refused, unless a rule allows all paths: dot segments in any encoding,
/// empty segments, encoded slashes, backslashes, percent signs and control characters, and what is no UTF-8. Clients
/// resolve dot segments before they send, so nothing honest is lost.
pub fn decide_request(policy: &Policy, rule: &HostRule, method: &str, path: &str) -> Verdict {
    match judge(rule, method, path) {
        Verdict::Deny(reason) if policy.log_only => Verdict::WouldDeny(reason),
        other => other,
    }
}

fn judge(rule: &HostRule, method: &str, path: &str) -> Verdict {
    if !rule.limits_requests() {
        return Verdict::Allow(Reason::Allowed(rule.host.to_string()));
    }
    let segments = segments(path);
    let mut right_method = rule.requests.iter().filter(|request| request.means(method)).peekable();
    let by_method = right_method.peek().is_some();
    let allowed = right_method.find(|request| match (&segments, crate::request::segments(&request.path)) {
        (_, Some(prefix)) if prefix.is_empty() => true,
        (Some(path), Some(prefix)) => path.starts_with(&prefix),
        _ => false,
    });
    match allowed {
        Some(request) => Verdict::Allow(Reason::Allowed(format!("{} {}", rule.host, request.path))),
        None if by_method && segments.is_none() => Verdict::Deny(Reason::AmbiguousPath),
        None => Verdict::Deny(Reason::Request(rule.host.to_string())),
    }
}

impl HttpRule {
    fn means(&self, method: &str) -> bool {
        if self.methods.is_empty() { method != "CONNECT" } else { self.methods.iter().any(|m| m == method) }
    }
}

/// The segments of a path, decoded, without the empty one after a last slash; `None` where it can be read in two ways.
pub(crate) fn segments(target: &str) -> Option<Vec<String>> {
    let (path, _query) = target.split_once('?').unwrap_or((target, ""));
    let path = path.strip_prefix('/')?;
    let path = path.strip_suffix('/').unwrap_or(path);
    if path.is_empty() {
        return (!target.starts_with("//")).then(Vec::new);
    }
    path.split('/').map(segment).collect()
}

/// One segment, decoded.
fn segment(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let (byte, encoded) = match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                (u8::try_from(digit()? << 4 | digit()?).ok()?, true)
            }
            _ => (byte, false),
        };
        let fine = match byte {
            b'/' | b'\\' | b'%' | 0..=0x1f | 0x7f => false,
            b' ' | b'#' | 0x80.. => encoded,
            _ => true,
        };
        if !fine {
            return None;
        }
        bytes.push(byte);
    }
    let decoded = String::from_utf8(bytes).ok()?;
    // Some servers cut parameters off a segment (`..;v=1`) before they look at it.
    let bare = decoded.split(';').next().unwrap_or_default();
    (!matches!(bare, "" | "." | "..")).then_some(decoded)
}
