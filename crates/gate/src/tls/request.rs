//! What a request must be to go on, and what it looks like when it does.

use hood_policy::Name;
use http::header::{self, HeaderName};
use http::request::Parts;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, Method, Uri, Version};

use super::refusal::Refusal;
use super::{Facts, Secured};

/// Headers that concern one connection, not the request: they end at the gate, which has one to each side.
const HOP: [HeaderName; 8] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::TE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    // Answered by the gate, when it starts to read the body.
    header::EXPECT,
    HeaderName::from_static("http2-settings"),
];

/// The host that a request names must be the one that the connection was opened to: the policy has said yes to that one.
pub(super) fn check_host(parts: &Parts, facts: &Facts) -> Result<(), Refusal> {
    let expected = || facts.name.to_string();
    if parts.method == Method::CONNECT {
        return Err(Refusal::Tunnel { expected: expected() });
    }
    let mut hosts = parts.headers.get_all(header::HOST).iter();
    let header = hosts.next().map(|value| value.to_str().unwrap_or("\u{fffd}"));
    if hosts.next().is_some() {
        return Err(Refusal::NoHost { expected: expected() });
    }
    let target = parts.uri.authority().map(Authority::as_str);
    if header.is_none() && target.is_none() {
        return Err(Refusal::NoHost { expected: expected() });
    }
    for claim in [header, target].into_iter().flatten() {
        if !is_for(claim, &facts.name, facts.to.port()) {
            let found = claim.escape_debug().take(128).collect();
            return Err(Refusal::OtherHost { expected: expected(), found });
        }
    }
    Ok(())
}

/// `host` or `host:port`, and nothing else.
fn is_for(claim: &str, name: &Name, port: u16) -> bool {
    let (host, given) = match claim.rsplit_once(':') {
        Some((host, given)) => (host, Some(given)),
        None => (claim, None),
    };
    let port_agrees = given.is_none_or(|given| {
        // `parse` would take a sign.
        given.bytes().all(|byte| byte.is_ascii_digit()) && given.parse() == Ok(port)
    });
    port_agrees && host.parse::<Name>().is_ok_and(|host| host == *name)
}

/// The request asks to speak WebSocket from then on. No other upgrade is passed on: what is spoken afterwards is not
/// looked at, and `h2c` would carry requests past the rules.
pub(super) fn wants_websocket(parts: &Parts) -> bool {
    let lists = |name, token: &str| {
        let values = parts.headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).any(|part| part.trim().eq_ignore_ascii_case(token))
    };
    parts.version == Version::HTTP_11
        && parts.method == Method::GET
        && lists(header::CONNECTION, "upgrade")
        && lists(header::UPGRADE, "websocket")
}

/// Takes away what concerns one connection only, and what the `Connection` header names.
pub(super) fn strip_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    // gRPC servers refuse a request that does not say that it takes trailers.
    let trailers = headers.get(header::TE).is_some_and(|value| value == "trailers");
    for name in named.iter().filter(|name| !KEPT.contains(name)).chain(&HOP) {
        headers.remove(name);
    }
    if trailers {
        headers.insert(header::TE, http::HeaderValue::from_static("trailers"));
    }
}

/// What a `Connection` header may name in vain: without these a request would mean something else.
const KEPT: [HeaderName; 4] =
    [header::HOST, header::AUTHORIZATION, header::CONTENT_LENGTH, header::CONTENT_TYPE];

/// The request's target as the upstream's version of HTTP wants it.
pub(super) fn set_target(parts: &mut Parts, facts: &Facts, version: Version) {
    let path = parts.uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
    let default = match facts.secured() {
        Secured::Yes => 443,
        Secured::No => 80,
    };
    let authority = if facts.to.port() == default {
        facts.name.to_string()
    } else {
        format!("{}:{}", facts.name, facts.to.port())
    };
    let mut uri = http::uri::Parts::default();
    uri.path_and_query = Some(path);
    if version == Version::HTTP_2 {
        parts.headers.remove(header::HOST);
        uri.scheme = Some(Scheme::HTTPS);
        uri.authority = authority.parse().ok();
    } else if let Ok(host) = authority.parse() {
        parts.headers.insert(header::HOST, host);
    }
    parts.uri = Uri::from_parts(uri).unwrap_or_default();
    parts.version = version;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_the_name_in_any_spelling_with_the_port_or_none() {
        let name: Name = "api.example.com".parse().unwrap();
        for good in ["api.example.com", "API.Example.COM", "api.example.com.", "api.example.com:443"] {
            assert!(is_for(good, &name, 443), "{good}");
        }
        for bad in [
            "",
            "example.com",
            "api.example.com:80",
            "api.example.com:+443",
            "api.example.com:",
            "a@api.example.com",
            "api.example.com:443:443",
            "api.example.com\0",
            "api.example.com/",
            "api.example.com evil",
            "api.example.com,evil",
            "[api.example.com]",
            "api.example.com%00",
            "10.0.0.1",
        ] {
            assert!(!is_for(bad, &name, 443), "{bad}");
        }
    }

    #[test]
    fn what_concerns_one_connection_ends_here() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, x-own, authorization"),
            ("x-own", "1"),
            ("authorization", "kept"),
            ("te", "trailers"),
            ("upgrade", "h2c"),
            ("transfer-encoding", "chunked"),
            ("accept", "*/*"),
        ] {
            headers.insert(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        strip_hop(&mut headers);
        let mut left: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["accept", "authorization", "te"]);
    }
}
