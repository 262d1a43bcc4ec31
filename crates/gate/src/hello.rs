//! Reading the name out of a TLS ClientHello (RFC 8446 4.1.2, RFC 6066 3).
//!
//! Only what the decision needs, and stricter than a TLS server need be: what could be read in two ways is not read at
//! all. A name that is not the only one, or that stands beside an encrypted one, is no name.

use hood_policy::Name;

use crate::limits::HELLO;

/// What a ClientHello says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Hello {
    /// The host that it is for.
    pub(crate) name: Option<Name>,
    /// It carries an encrypted ClientHello, whose name may be another.
    pub(crate) encrypted: bool,
}

/// How far the bytes so far can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Read<T> {
    /// All of it.
    Whole(T),
    /// More is needed.
    Partial,
    /// It is something else, or wrong.
    Not,
}

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;
/// RFC 9849, and the drafts before it.
const ENCRYPTED: [u16; 2] = [0xfe0d, 0xffce];

/// Reads the first flight of a TLS client: one handshake message, in as many records as it likes.
pub(crate) fn read(bytes: &[u8]) -> Read<Hello> {
    let mut message = Vec::new();
    let mut rest = bytes;
    loop {
        match record(rest) {
            Read::Not => return Read::Not,
            Read::Partial => return if bytes.len() > HELLO { Read::Not } else { Read::Partial },
            Read::Whole((fragment, after)) => {
                message.extend_from_slice(fragment);
                rest = after;
            }
        }
        match length(&message) {
            Read::Not => return Read::Not,
            Read::Partial => {}
            Read::Whole(whole) if whole > HELLO => return Read::Not,
            Read::Whole(whole) => {
                if let Some(body) = message.get(4..whole) {
                    return hello(body).map_or(Read::Not, Read::Whole);
                }
            }
        }
    }
}

/// The first record: its fragment, and what follows.
fn record(bytes: &[u8]) -> Read<(&[u8], &[u8])> {
    /// RFC 8446 5.1.
    const LONGEST: usize = 1 << 14;
    match bytes {
        [HANDSHAKE, 3, _, high, low, rest @ ..] => {
            let length = usize::from(u16::from_be_bytes([*high, *low]));
            if length == 0 || length > LONGEST {
                return Read::Not;
            }
            rest.split_at_checked(length).map_or(Read::Partial, Read::Whole)
        }
        [] | [HANDSHAKE] | [HANDSHAKE, 3] | [HANDSHAKE, 3, _] | [HANDSHAKE, 3, _, _] => Read::Partial,
        _ => Read::Not,
    }
}

/// The length of the handshake message, its head included.
fn length(message: &[u8]) -> Read<usize> {
    match message {
        [CLIENT_HELLO, a, b, c, ..] => {
            let length = u32::from_be_bytes([0, *a, *b, *c]);
            Read::Whole(length as usize + 4)
        }
        [] | [CLIENT_HELLO] | [CLIENT_HELLO, _] | [CLIENT_HELLO, _, _] => Read::Partial,
        _ => Read::Not,
    }
}

/// The body of a ClientHello. `None` for what is none.
fn hello(body: &[u8]) -> Option<Hello> {
    let mut body = Bytes(body);
    body.take(2 + 32)?; // version, random
    body.short(1)?; // session
    body.short(2)?; // cipher suites
    body.short(1)?; // compression
    if body.0.is_empty() {
        return Some(Hello::default());
    }
    let mut extensions = Bytes(body.short(2)?);
    if !body.0.is_empty() {
        return None;
    }
    let mut hello = Hello::default();
    let mut seen = Vec::new();
    while !extensions.0.is_empty() {
        let kind = extensions.number(2)? as u16;
        let data = extensions.short(2)?;
        if seen.contains(&kind) {
            return None;
        }
        seen.push(kind);
        if kind == SERVER_NAME {
            hello.name = Some(server_name(data)?);
        }
        hello.encrypted |= ENCRYPTED.contains(&kind);
    }
    Some(hello)
}

/// Exactly one name, of the one kind there is.
fn server_name(data: &[u8]) -> Option<Name> {
    let mut data = Bytes(data);
    let mut list = Bytes(data.short(2)?);
    let kind = list.number(1)? as u8;
    let name = list.short(2)?;
    if kind != HOST_NAME || !list.0.is_empty() || !data.0.is_empty() {
        return None;
    }
    std::str::from_utf8(name).ok()?.parse().ok()
}

/// Bytes to be taken from the front.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// A number of one or two bytes.
    fn number(&mut self, bytes: usize) -> Option<usize> {
        Some(self.take(bytes)?.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    }

    /// As many bytes as the number before them says.
    fn short(&mut self, length_bytes: usize) -> Option<&'a [u8]> {
        let length = self.number(length_bytes)?;
        self.take(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extension(kind: u16, data: &[u8]) -> Vec<u8> {
        [&kind.to_be_bytes()[..], &(data.len() as u16).to_be_bytes(), data].concat()
    }

    fn sni(name: &[u8]) -> Vec<u8> {
        let entry = [&[0][..], &(name.len() as u16).to_be_bytes(), name].concat();
        extension(0, &[&(entry.len() as u16).to_be_bytes()[..], &entry].concat())
    }

    fn message(extensions: &[u8]) -> Vec<u8> {
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.extend([0, 0, 2, 0x13, 1, 1, 0]);
        body.extend((extensions.len() as u16).to_be_bytes());
        body.extend(extensions);
        [&[1, 0][..], &(body.len() as u16).to_be_bytes(), &body].concat()
    }

    fn records(message: &[u8], size: usize) -> Vec<u8> {
        message
            .chunks(size)
            .flat_map(|part| [&[22, 3, 1][..], &(part.len() as u16).to_be_bytes(), part].concat())
            .collect()
    }

    fn named(name: &str) -> Read<Hello> {
        Read::Whole(Hello { name: Some(name.parse().expect("a name")), encrypted: false })
    }

    #[test]
    fn a_name_is_read_however_it_is_cut_up() {
        let message = message(&[extension(10, &[0, 2, 0, 29]), sni(b"Api.Example.com")].concat());
        for size in [1, 7, 100, 4000] {
            let bytes = records(&message, size);
            assert_eq!(read(&bytes), named("api.example.com"), "records of {size}");
            for end in 0..bytes.len() {
                assert_eq!(read(&bytes[..end]), Read::Partial, "{end} bytes");
            }
        }
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_not_read() {
        let two = [sni(b"a.test"), sni(b"b.test")].concat();
        assert_eq!(read(&records(&message(&two), 4000)), Read::Not);
        for name in [&b"evil\0.allowed.test"[..], b"", b"a b.test", b"127.0.0.1", b"\xff.test"] {
            assert_eq!(read(&records(&message(&sni(name)), 4000)), Read::Not, "{name:?}");
        }
        let entries = [&[0, 0, 1, b'a'][..], &[0, 0, 1, b'b']].concat();
        let list = [&(entries.len() as u16).to_be_bytes()[..], &entries].concat();
        assert_eq!(read(&records(&message(&extension(0, &list)), 4000)), Read::Not, "two names in one list");
    }

    #[test]
    fn an_encrypted_hello_is_noticed() {
        for kind in ENCRYPTED {
            let both = [sni(b"public.test"), extension(kind, &[1, 2])].concat();
            let Read::Whole(hello) = read(&records(&message(&both), 4000)) else { panic!("whole") };
            assert!(hello.encrypted);
        }
    }

    #[test]
    fn other_things_are_not_hellos() {
        for bytes in [
            &b"GET / HTTP/1.1\r\n"[..],
            b"\x16\x03\x01\x00\x00",
            b"\x16\x03\x01\xff\xff",
            b"\x80\x2e\x01\x03",
        ] {
            assert_eq!(read(bytes), Read::Not);
        }
        let endless = [&[1, 1, 0, 0][..], &vec![0; 70_000]].concat();
        assert_eq!(read(&records(&endless, 16_000)), Read::Not, "longer than a hello may be");
    }

    #[test]
    fn no_name_is_no_mistake() {
        assert_eq!(read(&records(&message(&[]), 4000)), Read::Whole(Hello::default()));
    }
}
