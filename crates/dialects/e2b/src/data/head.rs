//! What changes in a message's head on the way through: only what belongs to one hop.

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::Entry;
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

/// Whether a request is gRPC, which needs HTTP/2 on every hop: its status comes in trailers, and both sides speak at once.
pub(super) fn is_grpc(request: &Request) -> bool {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    request.version() == Version::HTTP_2 && kind.is_some_and(|kind| kind.starts_with("application/grpc"))
}

/// The same request for a service that speaks HTTP/2: the host belongs into its target.
pub(super) fn for_http2(mut inside: Request) -> Request {
    let host = inside.headers_mut().remove(header::HOST);
    let authority = host.as_ref().and_then(|host| host.to_str().ok()).unwrap_or("localhost");
    let path = inside.uri().path_and_query().map_or("/", |path| path.as_str());
    let target = Uri::builder().scheme("http").authority(authority).path_and_query(path).build();
    *inside.uri_mut() = target.unwrap_or_default();
    *inside.version_mut() = Version::HTTP_2;
    // The one hop-by-hop header that HTTP/2 knows; gRPC servers insist on it.
    inside.headers_mut().insert(header::TE, HeaderValue::from_static("trailers"));
    inside
}

/// Keeps a service's cookies to itself. With `Domain` they would go to every sandbox of this server and to the server.
pub(super) fn keep_cookies_home(headers: &mut HeaderMap) {
    let Entry::Occupied(cookies) = headers.entry(header::SET_COOKIE) else { return };
    let kept: Vec<HeaderValue> = cookies.iter().filter_map(without_domain).collect();
    cookies.remove_entry_mult();
    for cookie in kept {
        headers.append(header::SET_COOKIE, cookie);
    }
}

/// A cookie that is not text is dropped: nobody could say what it does.
fn without_domain(cookie: &HeaderValue) -> Option<HeaderValue> {
    let mut parts = cookie.to_str().ok()?.split(';');
    let pair = parts.next()?;
    let is_domain =
        |part: &&str| part.split('=').next().is_some_and(|name| name.trim().eq_ignore_ascii_case("domain"));
    let attributes = parts.filter(|part| !is_domain(part));
    let kept: Vec<&str> = std::iter::once(pair).chain(attributes).collect();
    HeaderValue::from_str(&kept.join(";")).ok()
}

/// What a signed URL shows is a file of a sandbox at this server's own address: a page among them must not act there.
pub(super) fn defuse(headers: &mut HeaderMap) {
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox; default-src 'none'"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
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
    fn grpc_keeps_its_protocol() {
        let mut grpc = request(&[("content-type", "application/grpc+proto"), ("te", "trailers")]);
        assert!(!is_grpc(&grpc), "over HTTP/1.1 there is no gRPC");
        *grpc.version_mut() = Version::HTTP_2;
        assert!(is_grpc(&grpc));
        let inside = for_http2(outgoing(grpc, None));
        assert_eq!(inside.uri(), "http://h.test:81/a?b=c");
        assert_eq!(
            (inside.version(), &inside.headers()["te"]),
            (Version::HTTP_2, &HeaderValue::from_static("trailers"))
        );
        assert!(!inside.headers().contains_key("host"));
    }

    #[test]
    fn cookies_stay_with_their_own_host() {
        let mut headers = HeaderMap::new();
        headers.append("set-cookie", HeaderValue::from_static("a=1; Domain=.hood.test; Path=/"));
        headers.append("set-cookie", HeaderValue::from_static("domain=x; HttpOnly"));
        headers.append("set-cookie", HeaderValue::from_static("c=3; dOmAiN =hood.test"));
        keep_cookies_home(&mut headers);
        let kept: Vec<_> = headers.get_all("set-cookie").iter().collect();
        assert_eq!(kept, ["a=1; Path=/", "domain=x; HttpOnly", "c=3"]);
    }

    #[test]
    fn a_mask_replaces_the_host() {
        let inside = outgoing(request(&[("host", "a")]), masked("localhost:${PORT}", 8080));
        assert_eq!(inside.headers()["host"], "localhost:8080");
    }
}
