//! A host that echoes requests would show a program inside the secret that the gate has just put in: what an answer
//! holds of it is blotted out on the way back.
//!
//! This is a second wall, not the first: the first is that secrets go only to hosts that the owner named. Only exact
//! copies are found. A host that encodes what it echoes (base64, compression in spite of `accept-encoding: identity`,
//! escapes), sends it in pieces on request (ranges), keeps it for later, or talks on after an upgrade is not stopped.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue};
use hyper::body::{Body, Frame, SizeHint};
use memchr::memmem;

use crate::limits::SHORTEST_SCRUBBED;
use crate::secrets::SecretValue;

/// Stands for each byte of a secret, so that lengths stay right.
const BLOT: u8 = b'*';

/// Finds secrets in a stream of bytes.
#[derive(Debug)]
pub(super) struct Scrubber {
    secrets: Vec<SecretValue>,
    /// The end of what came, which may be the beginning of a secret.
    held: BytesMut,
}

/// A body without the secrets.
pub(super) struct Scrubbed<B> {
    body: B,
    scrubber: Scrubber,
    /// What comes after the last bytes.
    trailers: Option<HeaderMap>,
    ended: bool,
}

// === impl Scrubber ===

impl Scrubber {
    /// `None` where there is nothing to look for. Shorter values would be found where they are not.
    pub(super) fn new(mut secrets: Vec<SecretValue>) -> Option<Self> {
        secrets.retain(|secret| secret.expose().len() >= SHORTEST_SCRUBBED);
        // The longer first: one may hold another.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.expose().len()));
        (!secrets.is_empty()).then(|| Self { secrets, held: BytesMut::new() })
    }

    /// Values of headers, or of trailers.
    pub(super) fn headers(&self, headers: &mut HeaderMap) {
        for value in headers.values_mut() {
            let mut bytes = value.as_bytes().to_vec();
            if self.blot(&mut bytes)
                && let Ok(blotted) = HeaderValue::from_bytes(&bytes)
            {
                *value = blotted;
            }
        }
    }

    /// What can be passed on now.
    fn push(&mut self, chunk: Bytes) -> Bytes {
        if self.held.is_empty() && !self.concerns(&chunk) {
            return chunk;
        }
        let mut bytes = std::mem::take(&mut self.held);
        bytes.extend_from_slice(&chunk);
        self.blot(&mut bytes);
        let keep = self.open_end(&bytes);
        self.held = bytes.split_off(bytes.len() - keep);
        bytes.freeze()
    }

    /// What was held back, at the end.
    fn rest(&mut self) -> Bytes {
        std::mem::take(&mut self.held).freeze()
    }

    fn concerns(&self, bytes: &[u8]) -> bool {
        self.open_end(bytes) > 0
            || self.secrets.iter().any(|secret| memmem::find(bytes, secret.expose().as_bytes()).is_some())
    }

    /// Whether there was anything.
    fn blot(&self, bytes: &mut [u8]) -> bool {
        let mut found = false;
        for secret in &self.secrets {
            let secret = secret.expose().as_bytes();
            let mut from = 0;
            while let Some(at) = memmem::find(&bytes[from..], secret) {
                let at = from + at;
                from = at + secret.len();
                bytes[at..from].fill(BLOT);
                found = true;
            }
        }
        found
    }

    /// How many bytes at the end may be the beginning of a secret.
    fn open_end(&self, bytes: &[u8]) -> usize {
        let longest = |secret: &SecretValue| {
            let secret = secret.expose().as_bytes();
            let most = (secret.len() - 1).min(bytes.len());
            (1..=most).rev().find(|n| bytes.ends_with(&secret[..*n])).unwrap_or(0)
        };
        self.secrets.iter().map(longest).max().unwrap_or(0)
    }
}

// === impl Scrubbed ===

impl<B> Scrubbed<B> {
    pub(super) fn new(body: B, scrubber: Scrubber) -> Self {
        Self { body, scrubber, trailers: None, ended: false }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Scrubbed<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        loop {
            if self.ended {
                return Poll::Ready(self.trailers.take().map(|trailers| Ok(Frame::trailers(trailers))));
            }
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(chunk) => {
                        let out = self.scrubber.push(chunk);
                        if !out.is_empty() {
                            return Poll::Ready(Some(Ok(Frame::data(out))));
                        }
                        continue;
                    }
                    Err(frame) => {
                        let mut trailers = frame.into_trailers().unwrap_or_default();
                        self.scrubber.headers(&mut trailers);
                        self.trailers = Some(trailers);
                    }
                },
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => {}
            }
            self.ended = true;
            let rest = self.scrubber.rest();
            if !rest.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(rest))));
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.scrubber.held.is_empty() && self.trailers.is_none() && (self.ended || self.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let held = self.scrubber.held.len() as u64;
        let inner = self.body.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower() + held);
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper + held);
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scrubber(secrets: &[&str]) -> Option<Scrubber> {
        Scrubber::new(secrets.iter().map(|text| SecretValue::new((*text).to_owned())).collect())
    }

    fn through(secrets: &[&str], chunks: &[&str]) -> Vec<String> {
        let mut scrubber = scrubber(secrets).expect("something to look for");
        let mut out: Vec<_> =
            chunks.iter().map(|chunk| scrubber.push(Bytes::copy_from_slice(chunk.as_bytes()))).collect();
        out.push(scrubber.rest());
        out.iter().map(|bytes| String::from_utf8(bytes.to_vec()).expect("text")).collect()
    }

    #[test]
    fn a_secret_is_found_however_it_is_cut() {
        let text = "before sk-abcdef after sk-abcdef";
        for first in 0..text.len() {
            for second in first..text.len() {
                let out = through(&["sk-abcdef"], &[&text[..first], &text[first..second], &text[second..]])
                    .concat();
                assert_eq!(out, "before ********* after *********", "{first} {second}");
            }
        }
    }

    #[test]
    fn only_what_may_be_a_beginning_is_held_back() {
        assert_eq!(
            through(&["sk-abcdef"], &["data: 1\n", "data: sk", "y\n"]),
            ["data: 1\n", "data: ", "sky\n", ""]
        );
        assert_eq!(through(&["sk-abcdef"], &["sk-abc"]), ["", "sk-abc"]);
    }

    #[test]
    fn several_are_found_also_one_in_the_other() {
        assert_eq!(
            through(&["secret", "my secret too"], &["my secret too, secret"]).concat(),
            "*************, ******"
        );
        assert!(scrubber(&["abc"]).is_none(), "too short to look for");
    }

    #[test]
    fn headers_keep_their_length() {
        let mut headers = HeaderMap::new();
        headers.insert("x-echo", HeaderValue::from_static("Bearer sk-abcdef"));
        scrubber(&["sk-abcdef"]).unwrap().headers(&mut headers);
        assert_eq!(headers["x-echo"], "Bearer *********");
    }
}
