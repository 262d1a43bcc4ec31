//! `Content-Encoding: gzip` of an upload, taken off as the bytes pass.
//!
//! There is no limit on how much the bytes may grow but the sandbox's disk: they go straight there. Memory is bounded,
//! since gzip makes at most about a thousand bytes of one, and [`SLICE`] bytes are decoded at a time.

use std::io::Write;

use bytes::Bytes;
use flate2::write::MultiGzDecoder;

use super::error::FilesError;

/// Bytes decoded at once.
const SLICE: usize = 2048;

/// Decodes what is pushed, in pieces.
pub(super) struct Gunzip {
    decoder: MultiGzDecoder<Vec<u8>>,
    waiting: Bytes,
}

impl Gunzip {
    pub(super) fn new() -> Self {
        Self { decoder: MultiGzDecoder::new(Vec::new()), waiting: Bytes::new() }
    }

    /// More of the body. What was pushed before must have been taken.
    pub(super) fn push(&mut self, bytes: Bytes) {
        self.waiting = bytes;
    }

    /// The next decoded piece; `None` when all that was pushed is decoded.
    pub(super) fn next(&mut self) -> Result<Option<Bytes>, FilesError> {
        while !self.waiting.is_empty() {
            let slice = self.waiting.split_to(self.waiting.len().min(SLICE));
            self.decoder.write_all(&slice).map_err(FilesError::BadGzip)?;
            let out = std::mem::take(self.decoder.get_mut());
            if !out.is_empty() {
                return Ok(Some(Bytes::from(out)));
            }
        }
        Ok(None)
    }

    /// The last piece. A stream that was cut is an error.
    pub(super) fn finish(&mut self) -> Result<Bytes, FilesError> {
        self.decoder.try_finish().map_err(FilesError::BadGzip)?;
        Ok(Bytes::from(std::mem::take(self.decoder.get_mut())))
    }
}
