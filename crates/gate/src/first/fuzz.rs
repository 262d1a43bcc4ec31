//! What the fuzz targets look at: the first bytes of a connection, however they are cut up.

use crate::head;
use crate::hello::{self, Read};

/// Reads a ClientHello: what is read of it does not depend on how it arrives, and its name is a name.
#[cfg_attr(not(fuzzing), expect(unreachable_pub, reason = "the facade for the fuzz target hands it on"))]
pub fn client_hello(bytes: &[u8]) {
    holds(bytes, hello::read);
    if let Read::Whole(hello) = hello::read(bytes)
        && let Some(name) = hello.name
    {
        let text = name.as_str().as_bytes();
        let said = |window: &[u8]| window.eq_ignore_ascii_case(text);
        let parts = records_joined(bytes);
        assert!(parts.windows(text.len()).any(said), "{name} stands in it");
    }
}

/// Reads the head of an HTTP request: likewise.
#[cfg_attr(not(fuzzing), expect(unreachable_pub, reason = "the facade for the fuzz target hands it on"))]
pub fn http_head(bytes: &[u8]) {
    holds(bytes, head::read);
    if let Read::Whole(head) = head::read(bytes) {
        assert!(!head.path.contains(['?', ' ', '\r', '\n']), "{:?}", head.path);
        assert!(head.name.is_none() || head.method != "CONNECT");
        let hosts = String::from_utf8_lossy(bytes).to_ascii_lowercase().matches("\nhost:").count();
        assert!(head.name.is_none() || hosts >= 1, "a name comes from a Host");
    }
}

/// A reader is given the same bytes again and again, a few more each time. Once it has made up its mind it keeps to it,
/// and it makes it up at the same byte whatever comes after.
fn holds<T: PartialEq + std::fmt::Debug>(bytes: &[u8], read: impl Fn(&[u8]) -> Read<T>) {
    let ends = (0..bytes.len()).step_by(1 + bytes.len() / 40).chain([bytes.len()]);
    let mut before = Read::Partial;
    for end in ends {
        let now = read(&bytes[..end]);
        if before != Read::Partial {
            assert_eq!(now, before, "{end} of {} bytes", bytes.len());
        }
        before = now;
    }
}

/// The fragments of all records, as far as there are whole ones.
fn records_joined(mut bytes: &[u8]) -> Vec<u8> {
    let mut joined = Vec::new();
    while let [22, 3, _, high, low, rest @ ..] = bytes {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let Some((fragment, after)) = rest.split_at_checked(length) else { break };
        joined.extend_from_slice(fragment);
        bytes = after;
    }
    joined
}

#[cfg(test)]
mod tests {
    use crate::mutate::mutate;

    #[test]
    fn seeds_of_client_hellos_with_noise_in_them() {
        mutate("client_hello", super::client_hello);
    }

    #[test]
    fn seeds_of_http_heads_with_noise_in_them() {
        mutate("http_head", super::http_head);
    }
}
