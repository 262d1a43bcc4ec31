//! Streams: envelopes in both directions.

use std::marker::PhantomData;

use axum::body::{Body, BodyDataStream};
use axum::response::Response;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use futures_util::{Stream, StreamExt};
use http::header;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::{Code, ConnectError, unary};
use crate::limits::{MAX_MESSAGE, REQUEST_END};

const HEADER: usize = 5;
const COMPRESSED: u8 = 1;
const END_OF_STREAM: u8 = 2;

/// Cuts a byte stream into envelopes. Holds at most one message.
#[derive(Default)]
pub(crate) struct Frames {
    buffer: BytesMut,
}

impl Frames {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole envelope, if it is there: `None` means more bytes are needed.
    pub(crate) fn next(&mut self) -> Result<Option<(u8, Bytes)>, ConnectError> {
        let Some((&flags, rest)) = self.buffer.split_first() else { return Ok(None) };
        let Some(length) = rest.first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        if length > MAX_MESSAGE {
            let message = format!("a message of {length} bytes; at most {MAX_MESSAGE} are possible");
            return Err(ConnectError::new(Code::ResourceExhausted, message));
        }
        if self.buffer.len() < HEADER + length {
            return Ok(None);
        }
        self.buffer.advance(HEADER);
        let payload = self.buffer.split_to(length).freeze();
        if flags & COMPRESSED != 0 {
            return Err(ConnectError::new(Code::Unimplemented, "compressed messages are not supported"));
        }
        Ok(Some((flags, payload)))
    }
}

/// The messages of a client stream, as they arrive.
pub(crate) struct Messages<T> {
    body: BodyDataStream,
    frames: Frames,
    message: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Messages<T> {
    pub(crate) fn new(body: Body) -> Self {
        Self { body: body.into_data_stream(), frames: Frames::default(), message: PhantomData }
    }

    /// The next message; `None` at the end. A client that hangs up mid-message ends the stream too.
    pub(crate) async fn next(&mut self) -> Result<Option<T>, ConnectError> {
        loop {
            if let Some((flags, payload)) = self.frames.next()? {
                if flags & END_OF_STREAM != 0 {
                    return Ok(None);
                }
                return unary::parse(&payload).map(Some);
            }
            match self.body.next().await {
                Some(Ok(bytes)) => self.frames.push(&bytes),
                Some(Err(_)) | None => return Ok(None),
            }
        }
    }
}

/// The single request message of a server stream.
///
/// What follows it, as a rule the end of the body, is read aside and thrown away: a client may send it late, and a
/// connection that is closed upon unread bytes is reset, with the end of a long answer lost.
pub(crate) async fn stream_request<T: DeserializeOwned>(body: Body) -> Result<T, ConnectError> {
    let mut messages = Messages::new(body);
    let message = messages.next().await;
    tokio::spawn(read_out(messages.body));
    message?.ok_or_else(|| ConnectError::new(Code::InvalidArgument, "the stream holds no request message"))
}

async fn read_out(mut body: BodyDataStream) {
    let all = async {
        let mut read = 0;
        while let Some(Ok(bytes)) = body.next().await {
            read += bytes.len();
            if read > MAX_MESSAGE {
                return;
            }
        }
    };
    // A request that has not ended by then ends the connection with its answer.
    timeout(REQUEST_END, all).await.unwrap_or_default();
}

/// A server stream's response: status 200, the messages, and an end frame that carries the error, if there was one.
pub(crate) fn stream_response<T, S>(messages: S) -> Response
where
    T: Serialize,
    S: Stream<Item = Result<T, ConnectError>> + Send + 'static,
{
    #[derive(Serialize)]
    struct End<'a> {
        error: &'a ConnectError,
    }
    // After an error nothing but its end frame follows; after the last message, an empty end frame.
    let frames = futures_util::stream::unfold(Some(Box::pin(messages)), |state| async move {
        let mut messages = state?;
        Some(match messages.next().await {
            Some(Ok(message)) => (envelope(0, &message), Some(messages)),
            Some(Err(error)) => (envelope(END_OF_STREAM, &End { error: &error }), None),
            None => (envelope(END_OF_STREAM, &serde_json::json!({})), None),
        })
    });
    let body = Body::from_stream(frames.map(Ok::<_, std::convert::Infallible>));
    Response::builder()
        .header(header::CONTENT_TYPE, "application/connect+json")
        .body(body)
        .expect("a constant header is valid")
}

fn envelope(flags: u8, message: &impl Serialize) -> Bytes {
    let mut frame = BytesMut::with_capacity(128);
    frame.put_u8(flags);
    frame.put_u32(0);
    let mut writer = frame.writer();
    serde_json::to_writer(&mut writer, message)
        .expect("messages hold only strings, numbers and maps of strings");
    let mut frame = writer.into_inner();
    let length = (frame.len() - HEADER) as u32;
    frame[1..HEADER].copy_from_slice(&length.to_be_bytes());
    frame.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn envelopes_are_found_however_the_bytes_are_cut() {
        let mut bytes = envelope(0, &serde_json::json!({"a": 1})).to_vec();
        bytes.extend_from_slice(&envelope(END_OF_STREAM, &serde_json::json!({})));
        for cut in 1..bytes.len() {
            let mut frames = Frames::default();
            let mut found = Vec::new();
            for part in bytes.chunks(cut) {
                frames.push(part);
                while let Some((flags, payload)) = frames.next().expect("valid") {
                    found.push((flags, payload));
                }
            }
            assert_eq!(found.len(), 2, "cut at {cut}");
            assert_eq!(found[0].1, r#"{"a":1}"#);
            assert_eq!(found[1].0, END_OF_STREAM);
        }
    }

    #[test]
    fn a_length_beyond_the_limit_is_refused_before_it_is_read() {
        let mut frames = Frames::default();
        frames.push(&[0, 255, 255, 255, 255]);
        assert_eq!(frames.next().expect_err("too long").code, Code::ResourceExhausted);
    }
}
