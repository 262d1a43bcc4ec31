//! Requests to `/files`, as far as their reading goes.

use std::collections::BTreeMap;
use std::convert::Infallible;

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Uri, header};
use tokio::runtime::{Builder, Runtime};

use super::error::FilesError;
use super::multipart::Parts;
use super::negotiate;
use super::range::{self, Part};
use super::request::{self, Query};
use super::signature::{self, Operation};
use super::upload::Incoming;

thread_local! {
    /// Reading a part waits with a limit, which needs a clock.
    static RUNTIME: Runtime = Builder::new_current_thread().enable_time().build().expect("a clock");
}

/// A part of a body.
#[derive(Debug, PartialEq, Eq)]
pub struct File {
    /// The form field.
    pub field: String,
    /// Its file name.
    pub name: Option<String>,
    /// What it holds.
    pub content: Vec<u8>,
}

/// The parts of a body that arrives in these pieces; or why it was refused.
pub fn multipart<'a>(
    content_type: &str,
    encoding: Option<&'static str>,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Vec<File>, String> {
    let pieces: Vec<_> =
        pieces.into_iter().map(|piece| Ok::<_, Infallible>(Bytes::copy_from_slice(piece))).collect();
    let body = Body::from_stream(futures_util::stream::iter(pieces));
    let mut headers = HeaderMap::new();
    if let Some(encoding) = encoding {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    let read = async {
        let mut incoming = Incoming::new(body, &headers)?;
        let mut parts = Parts::new(&mut incoming, content_type)?;
        let mut files = Vec::new();
        while let Some(head) = parts.next().await? {
            let mut content = Vec::new();
            while let Some(bytes) = parts.chunk().await? {
                content.extend_from_slice(&bytes);
            }
            files.push(File { field: head.name, name: head.filename, content });
        }
        Ok::<_, FilesError>(files)
    };
    RUNTIME.with(|runtime| runtime.block_on(read)).map_err(|error| error.to_string())
}

/// What the guest makes of a link: that its signature is this token's, whether expired or not.
pub fn is_signed(uri: &Uri, is_write: bool, token: &str) -> bool {
    let Ok(query) = Query::parse(uri) else { return false };
    matches!(request::check_signature(token, &query, operation(is_write)), Ok(()) | Err(FilesError::Expired))
}

/// A signature as the SDKs make it.
pub fn sign(path: &str, is_write: bool, user: &str, token: &str, expiration: Option<&str>) -> String {
    signature::of(path, operation(is_write), user, token, expiration)
}

fn operation(is_write: bool) -> Operation {
    if is_write { Operation::Write } else { Operation::Read }
}

/// The first byte and the number of bytes that a `Range` header asks of a file of that size.
pub fn range(value: &str, size: u64) -> Option<(u64, u64)> {
    match range::part(value, size) {
        Part::Bytes { start, length } => Some((start, length)),
        Part::Whole | Part::Outside => None,
    }
}

/// Whether gzip, and whether plain bytes are accepted by these headers.
pub fn encodings(headers: &HeaderMap) -> (bool, bool) {
    let accepted = negotiate::accepted(headers);
    (accepted.gzip, accepted.identity)
}

/// The metadata that an upload's headers ask for.
pub fn metadata(headers: &HeaderMap) -> Option<BTreeMap<String, String>> {
    crate::filesystem::metadata::from_headers(headers).ok()
}
