//! How byte streams are cut into messages: Connect's envelopes, and lines.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::limits::MESSAGE;

const HEADER: usize = 5;
const END_OF_STREAM: u8 = 2;

/// A message that is larger than [`MESSAGE`].
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a message is larger than {} MiB", MESSAGE >> 20)]
pub(crate) struct TooLarge;

/// One envelope.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Envelope {
    Message(Bytes),
    End(Bytes),
}

/// Cuts a stream into envelopes: a byte of flags, four of length, the payload. Holds at most one message.
#[derive(Debug, Default)]
pub(crate) struct Envelopes {
    buffer: BytesMut,
}

/// Cuts a stream into lines. Holds at most one line.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    buffer: BytesMut,
    searched: usize,
}

/// `payload` as the one message of a request.
pub(crate) fn envelope(payload: &[u8]) -> Bytes {
    let mut framed = BytesMut::with_capacity(HEADER + payload.len());
    framed.put_u8(0);
    framed.put_u32(payload.len() as u32);
    framed.extend_from_slice(payload);
    framed.freeze()
}

// === impl Envelopes ===

impl Envelopes {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole envelope, if it is there.
    pub(crate) fn next(&mut self) -> Result<Option<Envelope>, TooLarge> {
        let Some((&flags, rest)) = self.buffer.split_first() else { return Ok(None) };
        let Some(length) = rest.first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        if length > MESSAGE {
            return Err(TooLarge);
        }
        if self.buffer.len() < HEADER + length {
            return Ok(None);
        }
        self.buffer.advance(HEADER);
        let payload = self.buffer.split_to(length).freeze();
        Ok(Some(if flags & END_OF_STREAM == 0 { Envelope::Message(payload) } else { Envelope::End(payload) }))
    }
}

// === impl Lines ===

impl Lines {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole line without its end, if it is there.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, TooLarge> {
        let fresh = self.buffer.get(self.searched..).unwrap_or_default();
        let Some(at) = fresh.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.buffer.len();
            return if self.searched > MESSAGE { Err(TooLarge) } else { Ok(None) };
        };
        let line = self.buffer.split_to(self.searched + at).freeze();
        self.buffer.advance(1);
        self.searched = 0;
        Ok(Some(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn envelopes_are_found_wherever_the_stream_is_cut() {
        let mut stream = envelope(b"one").to_vec();
        stream.extend_from_slice(&envelope(b""));
        stream.extend_from_slice(&[2, 0, 0, 0, 2, b'{', b'}']);
        for size in 1..=stream.len() {
            let mut envelopes = Envelopes::default();
            let mut found = Vec::new();
            for piece in stream.chunks(size) {
                envelopes.push(piece);
                while let Some(envelope) = envelopes.next().unwrap() {
                    found.push(envelope);
                }
            }
            let message = |text: &'static str| Envelope::Message(Bytes::from_static(text.as_bytes()));
            assert_eq!(found, [message("one"), message(""), Envelope::End(Bytes::from_static(b"{}"))]);
        }
    }

    #[test]
    fn a_length_from_a_liar_is_refused() {
        let mut envelopes = Envelopes::default();
        envelopes.push(&[0, 255, 255, 255, 255]);
        assert_eq!(envelopes.next(), Err(TooLarge));
    }

    #[test]
    fn lines_are_found_wherever_the_stream_is_cut() {
        let stream = b"a\n\nbc\nrest";
        for size in 1..=stream.len() {
            let mut lines = Lines::default();
            let mut found = Vec::new();
            for piece in stream.chunks(size) {
                lines.push(piece);
                while let Some(line) = lines.next().unwrap() {
                    found.push(line);
                }
            }
            assert_eq!(found, ["a", "", "bc"]);
        }
    }
}
