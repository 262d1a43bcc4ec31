//! Which sandbox and port a request is meant for: by routing headers, by host label, or by a signed URL.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, Uri, header};

use super::answer::Garbled;
use super::signature::Signed;
use crate::extract::shown;

pub(super) const SANDBOX_ID: HeaderName = HeaderName::from_static("e2b-sandbox-id");
pub(super) const SANDBOX_PORT: HeaderName = HeaderName::from_static("e2b-sandbox-port");

/// Where a request goes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// To this server itself.
    Control,
    /// Into that sandbox.
    Sandbox(Address),
    /// Into the sandbox whose token signed it.
    Signed(Signed),
}

/// A port of a sandbox. The id has the protocol's alphabet, but need not be one that ever existed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) id: String,
    pub(crate) port: u16,
}

/// Reads a request's address. `domain` may carry a port, which does not count.
pub(crate) fn target<B>(request: &Request<B>, domain: &str) -> Result<Target, Garbled> {
    let by_headers = by_headers(request.headers())?;
    let by_host = by_host(host(request.headers(), request.uri()), domain)?;
    match (by_headers, by_host) {
        // A page served by one sandbox must not reach another through its own origin.
        (Some(headers), Some(host)) if headers != host => Err(Garbled(format!(
            "the headers name port {} of sandbox `{}`, the host names port {} of `{}`",
            headers.port, headers.id, host.port, host.id
        ))),
        (Some(address), _) | (None, Some(address)) => Ok(Target::Sandbox(address)),
        (None, None) => Ok(Signed::of(request).map_or(Target::Control, Target::Signed)),
    }
}

fn by_headers(headers: &HeaderMap) -> Result<Option<Address>, Garbled> {
    match (one(headers, &SANDBOX_ID)?, one(headers, &SANDBOX_PORT)?) {
        (None, None) => Ok(None),
        (Some(id), Some(port)) => Ok(Some(Address { id: sandbox_id(id)?, port: sandbox_port(port)? })),
        (Some(_), None) => Err(missing(&SANDBOX_ID, &SANDBOX_PORT)),
        (None, Some(_)) => Err(missing(&SANDBOX_PORT, &SANDBOX_ID)),
    }
}

fn missing(present: &HeaderName, absent: &HeaderName) -> Garbled {
    Garbled(format!("the header `{present}` came without `{absent}`; send both"))
}

fn one<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, Garbled> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(Garbled(format!("the header `{name}` came more than once")));
    }
    value.to_str().map(Some).map_err(|_| Garbled(format!("the header `{name}` is not text")))
}

/// The left-most label of the host, when it is a host of ours and has the form `<port>-<id>`.
fn by_host(host: Option<&str>, domain: &str) -> Result<Option<Address>, Garbled> {
    let domain = without_port(domain);
    let Some(host) = host.map(without_port).filter(|_| !domain.is_empty()) else { return Ok(None) };
    let Some(cut) = host.len().checked_sub(domain.len() + 1) else { return Ok(None) };
    let (Some(label), Some(rest)) = (host.get(..cut), host.get(cut + 1..)) else { return Ok(None) };
    if host.as_bytes().get(cut) != Some(&b'.') || !rest.eq_ignore_ascii_case(domain) {
        return Ok(None);
    }
    match label.split_once('-') {
        Some((port, id)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => {
            // Names are compared without regard to case, ids are lower case: a client may have written either.
            Ok(Some(Address { id: sandbox_id(&id.to_ascii_lowercase())?, port: sandbox_port(port)? }))
        }
        _ => Ok(None),
    }
}

/// HTTP/2 names the host in the request target, HTTP/1 in a header.
pub(super) fn host<'r>(headers: &'r HeaderMap, uri: &'r Uri) -> Option<&'r str> {
    uri.authority()
        .map(axum::http::uri::Authority::as_str)
        .or_else(|| headers.get(header::HOST)?.to_str().ok())
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}

fn sandbox_id(text: &str) -> Result<String, Garbled> {
    /// A DNS label less the port and the dash.
    const LONGEST: usize = 57;
    let fits = !text.is_empty()
        && text.len() <= LONGEST
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    if fits {
        Ok(text.to_owned())
    } else {
        Err(Garbled(format!("`{}` is not a sandbox id: lower-case letters and digits", shown(text))))
    }
}

fn sandbox_port(text: &str) -> Result<u16, Garbled> {
    // `parse` alone would take a sign.
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    match text.parse() {
        Ok(port) if digits && port != 0 => Ok(port),
        _ => Err(Garbled(format!("`{}` is not a port: 1 to 65535", shown(text)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOMAIN: &str = "hood.test:8443";

    fn request(host: &str, headers: &[(&str, &str)]) -> Request<()> {
        let mut request = Request::builder().uri("/health").header("host", host);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).expect("a request")
    }

    #[track_caller]
    fn check(host: &str, headers: &[(&str, &str)], expected: Option<(&str, u16)>) {
        let expected = match expected {
            Some((id, port)) => Target::Sandbox(Address { id: id.into(), port }),
            None => Target::Control,
        };
        assert_eq!(target(&request(host, headers), DOMAIN), Ok(expected));
    }

    #[track_caller]
    fn garbled(host: &str, headers: &[(&str, &str)], part: &str) {
        let Garbled(message) = target(&request(host, headers), DOMAIN).expect_err("garbled");
        assert!(message.contains(part), "{message}");
    }

    #[test]
    fn headers_route() {
        check(
            "127.0.0.1:7070",
            &[("E2b-Sandbox-Id", "iabc"), ("E2b-Sandbox-Port", "49983")],
            Some(("iabc", 49983)),
        );
        check("127.0.0.1:7070", &[], None);
    }

    #[test]
    fn hosts_route() {
        check("49983-iabc.hood.test", &[], Some(("iabc", 49983)));
        check("49983-iABC.HOOD.test:8443", &[], Some(("iabc", 49983)));
        check("api.hood.test:8443", &[], None);
        check("hood.test", &[], None);
        check("49983-iabc.other.test", &[], None);
        check("49983-iabc.xhood.test", &[], None);
        let (id, port) = (("E2b-Sandbox-Id", "iabc"), ("E2b-Sandbox-Port", "80"));
        check("80-iabc.hood.test", &[id, port], Some(("iabc", 80)));
    }

    #[test]
    fn garbled_routing_is_said() {
        garbled("h", &[("E2b-Sandbox-Id", "iabc")], "without `e2b-sandbox-port`");
        garbled("h", &[("E2b-Sandbox-Port", "80")], "without `e2b-sandbox-id`");
        garbled("h", &[("E2b-Sandbox-Id", "../etc"), ("E2b-Sandbox-Port", "80")], "is not a sandbox id");
        for port in ["0", "+80", "65536", "http", ""] {
            garbled("h", &[("E2b-Sandbox-Id", "i"), ("E2b-Sandbox-Port", port)], "is not a port");
        }
        garbled(
            "h",
            &[("E2b-Sandbox-Id", "i"), ("E2b-Sandbox-Id", "j"), ("E2b-Sandbox-Port", "1")],
            "more than once",
        );
        garbled("99999-iabc.hood.test", &[], "is not a port");
        garbled("80-a-b.hood.test", &[], "is not a sandbox id");
        garbled(
            "80-iabc.hood.test",
            &[("E2b-Sandbox-Id", "iother"), ("E2b-Sandbox-Port", "80")],
            "the headers name port 80 of sandbox `iother`",
        );
    }
}
