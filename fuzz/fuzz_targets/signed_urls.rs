//! Signed links: whatever the query says, nobody panics; and a link that is signed is recognised by host and guest,
//! whichever of the possible encodings its client chose.
#![no_main]

use axum::http::{Method, Request, Uri};
use hood_fuzz::{lines, parameter};
use hood_guest::fuzz;
use libfuzzer_sys::fuzz_target;

const TOKEN: &str = "0tQG31xiMp0IOQfaz9dcwi72L1CPo8e0";

fuzz_target!(|data: &[u8]| {
    let Some((style, text)) = parameter(data) else { return };
    let Some(([path, user, expiration], query)) = lines(text) else { return };
    let is_write = style & 1 != 0;
    if let Ok(uri) = format!("/files?{query}").parse() {
        assert_eq!(is_known(&uri, is_write), (false, false), "nobody guesses a signature");
    }
    let expires: Option<i64> = expiration.parse().ok();
    let expiration = expires.map(|time| time.to_string());
    let signature = fuzz::sign(path, is_write, user, TOKEN, expiration.as_deref());
    let encode = |text: &str| text.bytes().map(|byte| encoded(byte, style)).collect::<String>();
    let mut link = format!("/files?signature={}", encode(&signature));
    for (name, value) in
        [("path", path), ("username", user), ("signature_expiration", expiration.as_deref().unwrap_or(""))]
    {
        if !value.is_empty() || style & 2 != 0 {
            link += &format!("&{name}={}", encode_fully(value, style));
        }
    }
    // Too long a link is refused before anybody reads it.
    let Ok(uri) = link.parse() else { return };
    assert_eq!(is_known(&uri, is_write), (true, true), "{link}");
});

/// To the host, and to the guest.
fn is_known(uri: &Uri, is_write: bool) -> (bool, bool) {
    let method = if is_write { Method::POST } else { Method::GET };
    let request = Request::builder().method(method).uri(uri.clone()).body(()).expect("a request");
    (hood_dialect_e2b::fuzz::is_signed(&request, TOKEN), fuzz::is_signed(uri, is_write, TOKEN))
}

/// Of a signature's characters some clients leave `/` and `+` as they are.
fn encoded(byte: u8, style: u8) -> String {
    match byte {
        b'/' | b'+' if style & 4 != 0 => char::from(byte).to_string(),
        byte => encode_byte(byte, style),
    }
}

fn encode_fully(text: &str, style: u8) -> String {
    text.bytes().map(|byte| encode_byte(byte, style)).collect()
}

fn encode_byte(byte: u8, style: u8) -> String {
    match byte {
        b' ' if style & 8 != 0 => "+".to_owned(),
        byte if byte.is_ascii_alphanumeric() && style & 16 != 0 => char::from(byte).to_string(),
        byte if style & 32 != 0 => format!("%{byte:02x}"),
        byte => format!("%{byte:02X}"),
    }
}
