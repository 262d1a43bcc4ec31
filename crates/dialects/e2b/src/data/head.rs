//! What changes in a message's head on the way through: only what belongs to one hop.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, Version, header};

use super::target::host;

/// Kept from the services inside, which have no use for it.
const TRAFFIC_TOKEN: HeaderName = HeaderName::from_static("e2b-traffic-access-token");

const HOP_BY_HOP: [HeaderName; 9] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    // Our own server has answered it by reading on; a second one would wait for a second answer.
    header::EXPECT,
];

/// The protocol that a message wants to switch to, if it does.
pub(super) fn upgrade(headers: &HeaderMap) -> Option<HeaderValue> {
    let wanted = named_in_connection(headers).any(|name| name.eq_ignore_ascii_case("upgrade"));
    headers.get(header::UPGRADE).filter(|_| wanted).cloned()
}

/// The traffic token that came with a request.
pub(super) fn traffic_token(headers: &HeaderMap) -> Option<&[u8]> {
    headers.get(TRAFFIC_TOKEN).map(HeaderValue::as_bytes)
}

/// The request as the service inside shall see it: HTTP/1.1, origin form, the client's own Host unless `mask` is set.
pub(super) fn outgoing(request: Request, mask: Option<HeaderValue>) -> Request {
    let (mut parts, body) = request.into_parts();
    let upgrade = upgrade(&parts.headers);
    let client_host = host(&parts.headers, &parts.uri).and_then(|host| HeaderValue::from_str(host).ok());
    strip(&mut parts.headers);
    parts.headers.remove(TRAFFIC_TOKEN);
    if let Some(host) = mask.or(client_host) {
        parts.headers.insert(header::HOST, host);
    }
    if let Some(protocol) = upgrade {
        switch(&mut parts.headers, protocol);
    }
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let mut inside = Request::<Body>::new(body);
    *inside.method_mut() = parts.method;
    *inside.uri_mut() = path.parse::<Uri>().unwrap_or_default();
    *inside.version_mut() = Version::HTTP_11;
    *inside.headers_mut() = parts.headers;
    inside
}

/// The Host that `maskRequestHost` asks for.
pub(super) fn masked(mask: &str, port: u16) -> Option<HeaderValue> {
    HeaderValue::from_str(&mask.replace("${PORT}", &port.to_string())).ok()
}

/// Removes what belongs to one hop: the known names, and those that `Connection` lists.
pub(super) fn strip(headers: &mut HeaderMap) {
    let listed: Vec<HeaderName> = named_in_connection(headers)
        .filter_map(|name| HeaderName::from_bytes(name.as_bytes()).ok())
        .collect();
    for name in listed.iter().chain(&HOP_BY_HOP) {
        // A client must not make us forget where a body ends.
        if name != header::CONTENT_LENGTH && name != header::HOST {
            headers.remove(name);
        }
    }
}

/// Puts back the two headers that a switch of protocols needs on every hop.
pub(super) fn switch(headers: &mut HeaderMap, protocol: HeaderValue) {
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, protocol);
}

fn named_in_connection(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(header::CONNECTION).iter();
    values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &[(&str, &str)]) -> Request {
        let mut request = Request::builder().uri("http://h.test:81/a?b=c");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(Body::empty()).expect("a request")
    }

    #[test]
    fn only_the_hop_changes() {
        let inside = outgoing(
            request(&[
                ("connection", "keep-alive, x-mine, content-length"),
                ("x-mine", "1"),
                ("content-length", "0"),
                ("transfer-encoding", "chunked"),
                ("e2b-traffic-access-token", "secret"),
                ("x-access-token", "t"),
            ]),
            None,
        );
        assert_eq!(inside.uri(), "/a?b=c");
        let names: Vec<_> = inside.headers().keys().map(HeaderName::as_str).collect();
        assert_eq!(names, ["content-length", "x-access-token", "host"]);
        assert_eq!(inside.headers()["host"], "h.test:81");
    }

    #[test]
    fn a_switch_of_protocols_survives() {
        let inside = outgoing(request(&[("connection", "Upgrade"), ("upgrade", "websocket")]), None);
        assert_eq!(upgrade(inside.headers()), Some(HeaderValue::from_static("websocket")));
        assert_eq!(upgrade(request(&[("upgrade", "h2c")]).headers()), None);
    }

    #[test]
    fn a_mask_replaces_the_host() {
        let inside = outgoing(request(&[("host", "a")]), masked("localhost:${PORT}", 8080));
        assert_eq!(inside.headers()["host"], "localhost:8080");
    }
}
