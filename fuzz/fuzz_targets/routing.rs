//! Who a request is meant for, and what is left of it inside: a domain, a request target, then a header a line.
#![no_main]

use axum::body::Body;
use axum::http::{Request, header as names};
use hood_dialect_e2b::fuzz;
use hood_fuzz::{first_line, header};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let (domain, rest) = first_line(data);
    let (target, headers) = first_line(rest);
    let Ok(domain) = std::str::from_utf8(domain) else { return };
    let Ok(mut request) = Request::builder().uri(target).body(Body::empty()) else { return };
    for (name, value) in headers.split(|byte| *byte == b'\n').filter_map(header) {
        request.headers_mut().append(name, value);
    }
    match fuzz::address(&request, domain) {
        Ok(Some((id, port))) => {
            assert!(port != 0);
            assert!(
                (1..=57).contains(&id.len())
                    && id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
            );
        }
        Ok(None) => {}
        Err(message) => assert!(message.len() < 1024, "as long as what the client sent: {}", message.len()),
    }
    let inside = hood_dialect_e2b::fuzz::inside(request, domain, 80);
    assert!(
        inside.uri().authority().is_none() && matches!(inside.uri().path().as_bytes(), b"*" | [b'/', ..])
    );
    let headers = inside.headers();
    for name in [names::TRANSFER_ENCODING, names::TE, names::PROXY_AUTHORIZATION, names::EXPECT] {
        assert!(!headers.contains_key(&name), "{name} is of one hop");
    }
    assert!(!headers.contains_key("e2b-traffic-access-token"), "a secret that is not for inside");
    assert_eq!(headers.contains_key(names::CONNECTION), headers.contains_key(names::UPGRADE));
});
