//! The Connect protocol, JSON codec: what E2B's SDKs speak to envd (reference `e2b.md` 3.1).
//!
//! Unary calls are `POST` with a JSON body; streams carry envelopes of `flags(1) length(4, big endian) payload`, and
//! end with an envelope of flag 2 that holds `{}` or `{"error":{…}}`. Unknown request fields are ignored, as protobuf's
//! JSON mapping asks.

mod codec;
mod envelope;
mod error;
mod unary;

pub(crate) use codec::require_json;
#[cfg(any(test, fuzzing))]
pub(crate) use envelope::Frames;
pub(crate) use envelope::{Messages, stream_request, stream_response};
pub(crate) use error::{Code, ConnectError};
#[cfg(fuzzing)]
pub(crate) use unary::parse;
pub(crate) use unary::{Json, Unary};
