//! `POST /files`: one file or several.

use std::collections::{BTreeMap, HashSet};

use axum::Json;
use axum::body::{Body, BodyDataStream};
use axum::extract::State;
use bytes::Bytes;
use futures_util::StreamExt;
use http::{HeaderMap, Uri, header};
use serde::Serialize;
use tokio::time::{Instant, timeout, timeout_at};

use super::error::FilesError;
use super::gunzip::Gunzip;
use super::multipart::{MultipartError, Parts};
use super::request::{self, Query};
use super::signature::Operation;
use super::target::Target;
use crate::accounts::Account;
use crate::app::App;
use crate::filesystem::metadata;
use crate::limits::{MAX_UPLOADS, UPLOAD_DRAIN, UPLOAD_IDLE};

/// A file that was written.
#[derive(Debug, Serialize)]
pub(super) struct Written {
    path: String,
    name: String,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
}

pub(super) async fn upload(
    State(app): State<App>,
    headers: HeaderMap,
    uri: Uri,
    body: Body,
) -> Result<Json<Vec<Written>>, FilesError> {
    let query = Query::parse(&uri)?;
    let account = request::admit(&app, &headers, &query, Operation::Write)?;
    let mut body = Incoming::new(body, &headers)?;
    let metadata = metadata::from_headers(&headers)?;
    let upload = Upload { app: &app, account: &account, metadata: &metadata };
    let result = upload.store(&mut body, &headers, query.path.as_deref()).await;
    if result.is_err() {
        body.drain().await;
    }
    result.map(Json)
}

struct Upload<'a> {
    app: &'a App,
    account: &'a Account,
    metadata: &'a BTreeMap<String, String>,
}

impl Upload<'_> {
    async fn store(
        &self,
        body: &mut Incoming,
        headers: &HeaderMap,
        path: Option<&str>,
    ) -> Result<Vec<Written>, FilesError> {
        let content_type =
            headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match kind.as_str() {
            "multipart/form-data" => self.parts(Parts::new(body, content_type)?, path).await,
            "application/octet-stream" => {
                let path = request::file_path(self.app, self.account, path.ok_or(FilesError::NoPath)?)?;
                self.write(path, Source::Body(body)).await.map(|written| vec![written])
            }
            _ => Err(FilesError::ContentType),
        }
    }

    async fn parts(&self, mut parts: Parts<'_>, path: Option<&str>) -> Result<Vec<Written>, FilesError> {
        let mut written = Vec::new();
        let mut seen = HashSet::new();
        while let Some(head) = parts.next().await? {
            if head.name != "file" {
                continue;
            }
            if path.is_some() && !written.is_empty() {
                return Err(FilesError::PartCount("more"));
            }
            if written.len() >= MAX_UPLOADS {
                return Err(MultipartError::TooMany(MAX_UPLOADS).into());
            }
            let named = path.or(head.filename.as_deref()).ok_or(MultipartError::NoFileName)?;
            let target = request::file_path(self.app, self.account, named)?;
            if !seen.insert(target.clone()) {
                return Err(FilesError::Duplicate(target));
            }
            written.push(self.write(target, Source::Part(&mut parts)).await?);
        }
        match (written.is_empty(), path) {
            (true, Some(_)) => Err(FilesError::PartCount("none")),
            (true, None) => Err(MultipartError::NoFile.into()),
            (false, _) => Ok(written),
        }
    }

    async fn write(&self, path: String, mut source: Source<'_, '_>) -> Result<Written, FilesError> {
        let uploads = &self.app.watchers.uploads;
        let mut target = Target::open(uploads, &path, &self.account.identity, self.metadata).await?;
        if let Err(error) = fill(&mut target, &mut source).await {
            target.abandon().await;
            return Err(match error {
                FilesError::Aborted(why, _) => FilesError::Aborted(why, path),
                error => error,
            });
        }
        // Closed before the answer: a client that asks for events next must find the WRITE.
        drop(target);
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        Ok(Written { path, name, kind: "file", metadata: self.metadata.clone() })
    }
}

async fn fill(target: &mut Target, source: &mut Source<'_, '_>) -> Result<(), FilesError> {
    loop {
        let bytes = match source {
            Source::Body(body) => body.next().await?,
            Source::Part(parts) => parts.chunk().await?,
        };
        let Some(bytes) = bytes else { break };
        target.push(&bytes).await?;
    }
    target.finish().await
}

/// Where a file's bytes come from.
enum Source<'a, 'b> {
    Body(&'a mut Incoming),
    Part(&'a mut Parts<'b>),
}

/// The body, with its encoding taken off.
pub(super) struct Incoming {
    body: BodyDataStream,
    gunzip: Option<Gunzip>,
    /// What the client announced, and what came, both before decoding.
    announced: Option<u64>,
    received: u64,
}

impl Incoming {
    pub(super) fn new(body: Body, headers: &HeaderMap) -> Result<Self, FilesError> {
        let text = |name| headers.get(name).and_then(|value: &http::HeaderValue| value.to_str().ok());
        let encoding = text(header::CONTENT_ENCODING).unwrap_or_default().trim().to_ascii_lowercase();
        let gunzip = match encoding.as_str() {
            "" | "identity" => None,
            "gzip" | "x-gzip" => Some(Gunzip::new()),
            _ => return Err(FilesError::Encoding(encoding)),
        };
        let announced = text(header::CONTENT_LENGTH).and_then(|length| length.parse().ok());
        Ok(Self { body: body.into_data_stream(), gunzip, announced, received: 0 })
    }

    /// The next bytes; `None` at the end, which must be where the client said.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, FilesError> {
        loop {
            if let Some(gunzip) = &mut self.gunzip
                && let Some(bytes) = gunzip.next()?
            {
                // Decoding is work on the guest's only worker: let others have their turn.
                tokio::task::yield_now().await;
                return Ok(Some(bytes));
            }
            let Some(bytes) = self.receive().await? else {
                let rest = self.gunzip.take().map(|mut gunzip| gunzip.finish()).transpose()?;
                return Ok(rest.filter(|rest| !rest.is_empty()));
            };
            match &mut self.gunzip {
                Some(gunzip) => gunzip.push(bytes),
                None => return Ok(Some(bytes)),
            }
        }
    }

    async fn receive(&mut self) -> Result<Option<Bytes>, FilesError> {
        let aborted = |why: String| FilesError::Aborted(why, "the file".to_owned());
        let received = timeout(UPLOAD_IDLE, self.body.next())
            .await
            .map_err(|_| aborted(format!("nothing came for {} seconds", UPLOAD_IDLE.as_secs())))?;
        match received {
            Some(Ok(bytes)) => {
                self.received += bytes.len() as u64;
                Ok(Some(bytes))
            }
            Some(Err(error)) => Err(aborted(error.to_string())),
            None => match self.announced {
                Some(announced) if announced != self.received => {
                    Err(aborted(format!("{} bytes came, Content-Length said {announced}", self.received)))
                }
                _ => Ok(None),
            },
        }
    }

    /// Reads and forgets the rest.
    async fn drain(&mut self) {
        let until = Instant::now() + UPLOAD_DRAIN;
        while let Ok(Some(Ok(_))) = timeout_at(until, self.body.next()).await {}
    }
}
