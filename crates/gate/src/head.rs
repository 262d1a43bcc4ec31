//! Reading the host out of the head of a connection's first HTTP request.
//!
//! Where the name decides, every request is read again by the part that serves them (`tls`), so this needs to find out
//! only which host the connection claims to be for.

use hood_policy::Name;

use crate::hello::Read;
use crate::limits::HEAD;

/// What a first request says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    /// The one host that it names; `None` where it names none, several, or something that is no name.
    pub(crate) name: Option<Name>,
    /// The port beside it.
    pub(crate) port: Option<u16>,
    pub(crate) method: String,
    /// Without the query.
    pub(crate) path: String,
}

/// Fields of one request that we look at; a head with more is refused by whoever serves it.
const FIELDS: usize = 128;

/// Reads the head of an HTTP/1 request.
pub(crate) fn read(bytes: &[u8]) -> Read<Head> {
    if !may_be_http(bytes) {
        return Read::Not;
    }
    let mut fields = [httparse::EMPTY_HEADER; FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    match request.parse(bytes) {
        Ok(httparse::Status::Complete(_)) => whole(&request).map_or(Read::Not, Read::Whole),
        Ok(httparse::Status::Partial) if bytes.len() < HEAD => Read::Partial,
        Ok(httparse::Status::Partial) | Err(_) => Read::Not,
    }
}

/// A request begins with a method, a word of upper-case letters.
fn may_be_http(bytes: &[u8]) -> bool {
    /// Longer than any method that is in use.
    const LONGEST: usize = 24;
    let word = bytes.iter().take_while(|byte| byte.is_ascii_uppercase() || **byte == b'-').count();
    match bytes.get(word) {
        None => word <= LONGEST,
        Some(b' ') => (1..=LONGEST).contains(&word),
        Some(_) => false,
    }
}

fn whole(request: &httparse::Request<'_, '_>) -> Option<Head> {
    let (method, target) = (request.method?, request.path?);
    let mut hosts = request.headers.iter().filter(|field| field.name.eq_ignore_ascii_case("host"));
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => std::str::from_utf8(host.value).ok(),
        _ => None,
    };
    let path = target.split(['?', '#']).next().unwrap_or_default().to_owned();
    let absolute =
        target.split_once("://").map(|(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or_default());
    let name = match (host.and_then(name_of), absolute) {
        // A tunnel is for whatever comes through it.
        _ if method == "CONNECT" => None,
        (host, None) => host,
        (Some(host), Some(authority)) if name_of(authority).as_ref() == Some(&host) => Some(host),
        _ => None,
    };
    let port = host.and_then(|host| host.rsplit_once(':')).and_then(|(_, port)| port.parse().ok());
    Some(Head { name, port, method: method.to_owned(), path })
}

/// The name of `host[:port]`.
fn name_of(authority: &str) -> Option<Name> {
    let name = match authority.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => authority,
    };
    name.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(request: &str, name: Option<&str>) {
        let Read::Whole(head) = read(request.as_bytes()) else { panic!("whole: {request:?}") };
        assert_eq!(head.name.as_ref().map(Name::as_str), name, "{request:?}");
    }

    #[test]
    fn the_one_host_is_read() {
        check("GET /a?b HTTP/1.1\r\nHost: Api.test:8080\r\n\r\n", Some("api.test"));
        check("GET http://api.test/a HTTP/1.1\r\nhost: api.test\r\n\r\n", Some("api.test"));
    }

    #[test]
    fn a_host_that_could_be_another_is_none() {
        check("GET / HTTP/1.1\r\n\r\n", None);
        check("GET / HTTP/1.1\r\nHost: a.test\r\nHost: b.test\r\n\r\n", None);
        check("GET http://b.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", None);
        check("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n", None);
        check("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", None);
        check("GET / HTTP/1.1\r\nHost: user@a.test\r\n\r\n", None);
    }

    #[test]
    fn other_protocols_are_not_waited_for() {
        for bytes in [&b"\x16\x03"[..], b"SSH-2.0-x", b"get / ", b"EHLO\r\n", &[b'A'; 40]] {
            assert_eq!(read(bytes), Read::Not, "{bytes:?}");
        }
        for bytes in [&b""[..], b"GE", b"GET /", b"GET / HTTP/1.1\r\nHo"] {
            assert_eq!(read(bytes), Read::Partial, "{bytes:?}");
        }
    }

    #[test]
    fn the_query_is_left_out() {
        let Read::Whole(head) = read(b"GET /a?token=1 HTTP/1.1\r\nHost: a.test\r\n\r\n") else {
            panic!("whole")
        };
        assert_eq!((head.method.as_str(), head.path.as_str()), ("GET", "/a"));
    }
}
