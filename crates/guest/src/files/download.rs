//! `GET /files`: the bytes of one regular file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::{Stream, stream};
use http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use rustix::fs::OFlags;

use super::error::FilesError;
use super::range::{self, Part};
use super::request::{self, Query};
use super::signature::Operation;
use super::{CHUNK, describe, negotiate};
use crate::app::App;
use crate::paths;
use crate::reach;
use crate::sys::spawn::Identity;

pub(super) async fn download(
    State(app): State<App>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, FilesError> {
    let query = Query::parse(&uri)?;
    let account = request::admit(&app, &headers, &query, Operation::Read)?;
    let asked = query.path.as_deref().ok_or(FilesError::NoPath)?;
    let path = paths::absolute(&app, &account, asked)?;
    let accepted = negotiate::accepted(&headers);
    if !accepted.gzip && !accepted.identity {
        return Err(FilesError::NotAcceptable);
    }
    let wanted = headers.get(header::RANGE).filter(|_| accepted.identity).cloned();
    let if_range = headers.get(header::IF_RANGE).cloned();
    let name = path.rsplit('/').next().unwrap_or_default().to_owned();
    let reader = Arc::new(account.identity);
    let opened = blocking(move || {
        let opened = reader.act(|| Opened::open(&path, wanted.as_ref(), if_range.as_ref()));
        let opened = opened.map_err(|error| FilesError::from_io(error, &path))??;
        Ok::<_, FilesError>((opened, reader))
    });
    let (opened, reader) = opened.await??;
    let gzip = accepted.gzip
        && opened.range.is_none()
        && (!accepted.identity || (describe::compresses(&name) && !opened.first.is_empty()));
    opened.answer(reader, &name, gzip)
}

/// A file with its first bytes read: whatever can fail at once has not failed.
struct Opened {
    file: File,
    modified: Option<HeaderValue>,
    first: Vec<u8>,
    /// Bytes of the answer; `None` when only reading to the end will tell.
    length: Option<u64>,
    /// Of what the answer is a part: its start and the file's size.
    range: Option<(u64, u64)>,
}

impl Opened {
    fn open(
        path: &str,
        wanted: Option<&HeaderValue>,
        if_range: Option<&HeaderValue>,
    ) -> Result<Self, FilesError> {
        // Not to wait for a pipe's other end, nor to take a terminal that a program left lying there.
        let mut file = reach::find(path)
            .and_then(|handle| reach::reopen(handle, OFlags::RDONLY))
            .map_err(|error| FilesError::from_io(error, path))?;
        let found = file.metadata().map_err(|error| FilesError::from_io(error, path))?;
        if found.is_dir() {
            return Err(FilesError::Directory(path.to_owned()));
        }
        if !found.is_file() {
            return Err(FilesError::Irregular(path.to_owned()));
        }
        let modified = describe::http_date(found.mtime());
        let part = wanted
            .filter(|_| if_range.is_none_or(|stamp| modified.as_ref() == Some(stamp)))
            .and_then(|value| value.to_str().ok())
            .map_or(Part::Whole, |value| range::part(value, found.len()));
        let (length, range) = match part {
            Part::Outside => return Err(FilesError::Range(found.len())),
            Part::Whole => ((found.len() > 0).then_some(found.len()), None),
            Part::Bytes { start, length } => {
                file.seek(SeekFrom::Start(start)).map_err(|error| FilesError::from_io(error, path))?;
                (Some(length), Some((start, found.len())))
            }
        };
        let first =
            read(&mut file, length.unwrap_or(u64::MAX)).map_err(|error| FilesError::from_io(error, path))?;
        // Files of the kernel claim a size of nothing or of a page: what counts is where they end.
        let ended = (first.len() as u64) < length.unwrap_or(u64::MAX).min(CHUNK as u64);
        let length = if ended { Some(first.len() as u64) } else { length };
        Ok(Self { file, modified, first, length, range })
    }

    fn answer(self, reader: Arc<Identity>, name: &str, gzip: bool) -> Result<Response, FilesError> {
        let mut response = Response::builder()
            .header(header::CONTENT_TYPE, describe::content_type(name))
            .header(header::CONTENT_DISPOSITION, describe::disposition(name))
            .header(header::ACCEPT_RANGES, "bytes")
            .header(header::VARY, "Accept-Encoding");
        if let Some(modified) = &self.modified {
            response = response.header(header::LAST_MODIFIED, modified);
        }
        if let (Some((start, size)), Some(length)) = (self.range, self.length) {
            let end = (start + length).saturating_sub(1);
            response = response
                .status(StatusCode::PARTIAL_CONTENT)
                .header(header::CONTENT_RANGE, format!("bytes {start}-{end}/{size}"));
        }
        if gzip {
            response = response.header(header::CONTENT_ENCODING, "gzip");
        } else if let Some(length) = self.length {
            response = response.header(header::CONTENT_LENGTH, length);
        }
        let rest = self.length.map_or(u64::MAX, |length| length.saturating_sub(self.first.len() as u64));
        let source = Source { file: self.file, reader, rest, exact: self.length.is_some() };
        let body = if gzip {
            Body::from_stream(compressed(source, self.first))
        } else if rest == 0 {
            Body::from(self.first)
        } else {
            Body::from_stream(plain(source, self.first))
        };
        response.body(body).map_err(|_| FilesError::Cut)
    }
}

/// The bytes after the first.
struct Source {
    file: File,
    /// Some files of the kernel ask at each reading who reads.
    reader: Arc<Identity>,
    rest: u64,
    /// The length was promised: a file that shrinks meanwhile is an error, so that nobody takes the half for the whole.
    exact: bool,
}

impl Source {
    fn next(&mut self) -> io::Result<Vec<u8>> {
        if self.rest == 0 {
            return Ok(Vec::new());
        }
        let (file, rest) = (&mut self.file, self.rest);
        let chunk = self.reader.act(|| read(file, rest))??;
        if chunk.is_empty() && self.exact {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.rest -= chunk.len() as u64;
        Ok(chunk)
    }
}

/// Up to [`CHUNK`] bytes and `limit`, fewer only at the end of the file.
fn read(file: &mut File, limit: u64) -> io::Result<Vec<u8>> {
    let wanted = limit.min(CHUNK as u64);
    let mut chunk = Vec::with_capacity(wanted as usize);
    file.take(wanted).read_to_end(&mut chunk)?;
    Ok(chunk)
}

fn plain(source: Source, first: Vec<u8>) -> impl Stream<Item = io::Result<Bytes>> + Send {
    stream::try_unfold((Some(source), Some(first)), |(source, first)| async move {
        if let Some(first) = first {
            return Ok(Some((Bytes::from(first), (source, None))));
        }
        let Some(mut source) = source else { return Ok(None) };
        let (chunk, source) = work(move || source.next().map(|chunk| (chunk, source))).await?;
        if chunk.is_empty() { Ok(None) } else { Ok(Some((Bytes::from(chunk), (Some(source), None)))) }
    })
}

fn compressed(source: Source, first: Vec<u8>) -> impl Stream<Item = io::Result<Bytes>> + Send {
    let encoder = GzEncoder::new(Vec::new(), Compression::fast());
    stream::try_unfold(Some((source, first, encoder)), |state| async move {
        let Some((mut source, chunk, mut encoder)) = state else { return Ok(None) };
        let (out, state) = work(move || {
            encoder.write_all(&chunk)?;
            let next = source.next()?;
            if next.is_empty() {
                return Ok((encoder.finish()?, None));
            }
            let out = std::mem::take(encoder.get_mut());
            Ok((out, Some((source, next, encoder))))
        })
        .await?;
        Ok(Some((Bytes::from(out), state)))
    })
}

async fn work<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    blocking(work).await.map_err(io::Error::other)?
}

/// Runs `work` where it may wait for the disk.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, FilesError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| FilesError::Cut)
}
