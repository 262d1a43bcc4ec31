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
    let allowed = right_method.find(|request| match (&segments, self::segments(&request.path)) {
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

/// A path of these segments, as a rule writes it.
pub(crate) fn written(segments: &[String]) -> String {
    let mut path = String::new();
    for segment in segments {
        path.push('/');
        for byte in segment.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte) {
                path.push(char::from(byte));
            } else {
                path.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    if path.is_empty() { "/".to_owned() } else { path }
}

/// A word of HTTP, as methods and names of headers are: RFC 9110, 5.6.2.
pub(crate) fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(json: &str) -> HostRule {
        serde_json::from_str(json).expect(json)
    }

    fn allows(rule: &HostRule, method: &str, path: &str) -> bool {
        matches!(decide_request(&Policy::default(), rule, method, path), Verdict::Allow(_))
    }

    const API: &str = r#"{"host":"api.example.com","requests":[
        {"methods":["GET"],"path":"/v1/"},{"methods":["POST"],"path":"/v1/chat%20room"},{"path":"/open"}]}"#;

    #[test]
    fn methods_and_whole_segments_count() {
        let rule = rule(API);
        for (method, path) in [
            ("GET", "/v1"),
            ("GET", "/v1/"),
            ("GET", "/v1/a?next=/../x"),
            ("GET", "/v1?a"),
            ("GET", "/%76%31/a"),
            ("POST", "/v1/chat%20room/9"),
            ("DELETE", "/open/a;v=1/b"),
            ("GET", "/v1/b%C3%BCcher"),
        ] {
            assert!(allows(&rule, method, path), "{method} {path}");
        }
        for (method, path) in [
            ("POST", "/v1"),
            ("get", "/v1"),
            ("GET", "/v10"),
            ("GET", "/V1"),
            ("GET", "/"),
            ("GET", ""),
            ("OPTIONS", "*"),
            ("GET", "v1"),
            ("CONNECT", "/open"),
            ("CONNECT", "api.example.com:22"),
            ("GET", "http://other.example/v1"),
        ] {
            assert!(!allows(&rule, method, path), "{method} {path}");
        }
    }

    #[test]
    fn a_path_that_can_be_read_in_two_ways_is_refused() {
        let rule = rule(API);
        for path in [
            "/v1/../admin",
            "/v1/..",
            "/v1/.",
            "/v1/%2e%2e/admin",
            "/v1/.%2E/admin",
            "/v1/%2e/a",
            "/v1//admin",
            "//v1/a",
            "/v1///",
            "/v1/..%2fadmin",
            "/v1%2f..%2fadmin",
            "/v1/..%5cadmin",
            "/v1\\..\\admin",
            "/v1/%252e%252e/admin",
            "/v1/..;/admin",
            "/v1/..;x=1/admin",
            "/v1/.;/admin",
            "/v1/;/admin",
            "/v1/%00",
            "/v1/a%0d%0ahost:x",
            "/v1/\u{0}",
            "/v1/a b",
            "/v1/\u{e9}",
            "/v1/#/admin",
            "/v1/%",
            "/v1/%2",
            "/v1/%zz",
            "/v1/%c0%ae%c0%ae/admin",
            "/v1/%ff",
            "/v1/%7f",
            "/v1/\t",
        ] {
            let verdict = decide_request(&Policy::default(), &rule, "GET", path);
            assert_eq!(verdict, Verdict::Deny(Reason::AmbiguousPath), "{path:?}");
        }
    }

    #[test]
    fn where_all_paths_are_allowed_none_is_looked_into() {
        let rule = rule(r#"{"host":"a.example","requests":[{"methods":["GET"],"path":"/"}]}"#);
        assert!(allows(&rule, "GET", "/a//../b") && !allows(&rule, "PUT", "/"));
        let none = self::rule(r#"{"host":"a.example"}"#);
        assert!(allows(&none, "PUT", "/a//../b"));
    }

    #[test]
    fn a_policy_that_only_logs_refuses_no_request() {
        let policy = Policy { log_only: true, ..Policy::default() };
        let verdict = decide_request(&policy, &rule(API), "PUT", "/v1");
        assert_eq!(verdict, Verdict::WouldDeny(Reason::Request("api.example.com".to_owned())));
    }

    #[test]
    fn what_is_written_is_read_again() {
        for path in ["/", "/a/b", "/a%20b/%C3%BC", "/a;v=1"] {
            assert_eq!(written(&segments(path).expect(path)), path);
        }
    }
}
