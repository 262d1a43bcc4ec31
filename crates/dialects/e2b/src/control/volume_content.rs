//! The files of a volume, behind the volume's own token (reference 2.6).

use std::io;
use std::sync::Arc;

use axum::Json;
use axum::body::Body as HttpBody;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use hood_engine::Volume;
use hood_engine::files::{Entry, Files, Given};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;
use tokio::io::AsyncWriteExt;
use tokio_util::io::ReaderStream;

use crate::app::App;
use crate::extract::{Body, Query, shown};
use crate::limits;
use crate::reply::Reply;
use crate::wire::Stat;

/// What is made through the API belongs to the account that runs things in our templates, unless it says otherwise.
const OWNER: u32 = 1000;
const FILE_MODE: u32 = 0o644;
const FOLDER_MODE: u32 = 0o755;

/// An error in the words of this half of the protocol, where the code is a text.
pub(super) struct Failed(Reply);

#[derive(Serialize)]
struct Shape<'a> {
    code: String,
    message: &'a str,
}

/// What a PATCH changes.
#[derive(Debug, Deserialize)]
pub(super) struct Change {
    uid: Option<u32>,
    gid: Option<u32>,
    mode: Option<u32>,
}

type Named = Path<String>;

pub(super) async fn stat(
    State(app): State<App>,
    Path(id): Named,
    headers: HeaderMap,
    query: Query,
) -> Result<Json<Stat>, Failed> {
    let (folder, path) = (open(&app, &id, &headers).await?, path(&query)?);
    Ok(Json(blocking(path, move |path| folder.stat(path)).await?.into()))
}

pub(super) async fn change(
    State(app): State<App>,
    Path(id): Named,
    headers: HeaderMap,
    query: Query,
    body: Body<Change>,
) -> Result<Json<Stat>, Failed> {
    let (folder, path) = (open(&app, &id, &headers).await?, path(&query)?);
    let Change { uid, gid, mode } = body.value;
    let given = checked(Given { uid, gid, mode })?;
    Ok(Json(blocking(path, move |path| folder.change(path, given)).await?.into()))
}

pub(super) async fn remove(
    State(app): State<App>,
    Path(id): Named,
    headers: HeaderMap,
    query: Query,
) -> Result<StatusCode, Failed> {
    let (folder, path) = (open(&app, &id, &headers).await?, path(&query)?);
    blocking(path, move |path| folder.remove(path)).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn list(
    State(app): State<App>,
    Path(id): Named,
    headers: HeaderMap,
    query: Query,
) -> Result<Json<Vec<Stat>>, Failed> {
    let (folder, path) = (open(&app, &id, &headers).await?, path(&query)?);
    let depth = query.number("depth", 1, limits::VOLUME_DEPTH as i64)?.unwrap_or(1) as usize;
    let entries = blocking(path, move |path| folder.list(path, depth, limits::VOLUME_ENTRIES)).await?;
    Ok(Json(entries.into_iter().map(Stat::from).collect()))
}

pub(super) async fn make_folder(
    State(app): State<App>,
    Path(id): Named,
    headers: HeaderMap,
    query: Query,
) -> Result<(StatusCode, Json<Stat>), Failed> {
    let (folder, path) = (open(&app, &id, &headers).await?, path(&query)?);
    let (given, force) = (given(&query, FOLDER_MODE)?, flag(&query, "force")?);
    let made = blocking(path, move |path| folder.make_folder(path, given, force)).await?;
    Ok((StatusCode::CREATED, Json(made.into())))
}

pub(super) async fn read(
    State(app): State<App>,
    Path(id): Named,
    headers: HeaderMap,
    query: Query,
) -> Result<Response, Failed> {
    let (folder, path) = (open(&app, &id, &headers).await?, path(&query)?);
    let (file, size) = blocking(path, move |path| folder.read(path)).await?;
    let file = tokio::fs::File::from_std(file);
    // Not more than was promised: somebody may be writing it.
    let body = ReaderStream::with_capacity(tokio::io::AsyncReadExt::take(file, size), limits::VOLUME_PIECE);
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
        (header::CONTENT_LENGTH, size.to_string()),
    ];
    Ok((headers, HttpBody::from_stream(body)).into_response())
}

pub(super) async fn write(
    State(app): State<App>,
    Path(id): Named,
    headers: HeaderMap,
    query: Query,
    request: Request,
) -> Result<(StatusCode, Json<Stat>), Failed> {
    let (folder, path) = (open(&app, &id, &headers).await?, path(&query)?);
    let (given, force) = (given(&query, FILE_MODE)?, flag(&query, "force")?);
    let upload = blocking(path.clone(), move |path| folder.write(path, given, force)).await?;
    let file = upload.file().map_err(|error| explained(&error, &path))?;
    fill(file, request.into_body(), &path).await?;
    let made = blocking(path, move |_| upload.finish()).await?;
    Ok((StatusCode::CREATED, Json(made.into())))
}

/// What breaks off leaves nothing: the file has no name yet.
async fn fill(file: std::fs::File, body: HttpBody, path: &str) -> Result<(), Failed> {
    let mut file = tokio::fs::File::from_std(file);
    let mut pieces = body.into_data_stream();
    loop {
        let piece = tokio::time::timeout(limits::VOLUME_SILENCE, pieces.next()).await;
        let piece = piece.map_err(|_| {
            let secs = limits::VOLUME_SILENCE.as_secs();
            Reply::new(StatusCode::REQUEST_TIMEOUT, format!("nothing of the file came for {secs} s"))
        })?;
        let Some(piece) = piece else { break };
        let piece = piece.map_err(|error| Reply::invalid(format!("the file broke off: {error}")))?;
        file.write_all(&piece).await.map_err(|error| explained(&error, path))?;
    }
    Ok(file.flush().await.map_err(|error| explained(&error, path))?)
}

/// The files of a volume, for who has its token. Whether there is such a volume nobody else learns.
async fn open(app: &App, id: &str, headers: &HeaderMap) -> Result<Arc<dyn Files>, Failed> {
    let token = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = token.and_then(|value| value.strip_prefix("Bearer ")).map(str::trim).unwrap_or_default();
    let opens = |volume: &Volume| bool::from(volume.token.0.as_bytes().ct_eq(token.as_bytes()));
    let volume = app.engine.volume(id).filter(|volume| opens(volume)).ok_or_else(|| {
        Reply::new(
            StatusCode::UNAUTHORIZED,
            "the volume's token is missing or wrong; it comes with the volume from `GET /volumes/{id}`",
        )
    })?;
    Ok(app.engine.open_volume(&volume.id).await.map_err(Reply::from)?)
}

async fn blocking<T: Send + 'static>(
    path: String,
    work: impl FnOnce(&str) -> io::Result<T> + Send + 'static,
) -> Result<T, Failed> {
    let done = tokio::task::spawn_blocking(move || work(&path).map_err(|error| explained(&error, &path)));
    match done.await {
        Ok(result) => result.map_err(Failed),
        Err(panicked) => Err(Reply::internal("reaching a volume", &panicked).into()),
    }
}

fn explained(error: &io::Error, path: &str) -> Reply {
    use io::ErrorKind as K;
    let path = shown(path);
    let told = |status, what: &str| Reply::new(status, format!("`{path}` {what}"));
    match error.kind() {
        K::NotFound => told(StatusCode::NOT_FOUND, "is not in the volume"),
        K::AlreadyExists => told(StatusCode::CONFLICT, "is there already; `force` replaces a file"),
        K::IsADirectory => told(StatusCode::CONFLICT, "is a directory"),
        K::NotADirectory => told(StatusCode::CONFLICT, "is not a directory, or lies in what is none"),
        K::InvalidInput | K::InvalidFilename => {
            told(StatusCode::BAD_REQUEST, "cannot be used: it is no file or directory, or no path")
        }
        K::FileTooLarge => told(StatusCode::BAD_REQUEST, &format!("has too much in it: {error}")),
        K::StorageFull | K::QuotaExceeded => {
            told(StatusCode::INSUFFICIENT_STORAGE, "does not fit: the volume is full")
        }
        K::ResourceBusy => told(StatusCode::CONFLICT, "changes while it is looked up; try again"),
        _ => Reply::internal("reaching a volume", error),
    }
}

fn path(query: &Query) -> Result<String, Reply> {
    let path = query.get("path").ok_or_else(|| Reply::invalid("`path` is missing"))?;
    if path.len() > limits::VOLUME_PATH || path.contains('\0') {
        let most = limits::VOLUME_PATH;
        return Err(Reply::invalid(format!("`path` must have at most {most} bytes and no NUL")));
    }
    Ok(path.to_owned())
}

fn given(query: &Query, mode: u32) -> Result<Given, Reply> {
    let number = |name| query.number(name, 0, u32::MAX.into());
    let or = |number: Option<i64>, default: u32| Some(number.map_or(default, |n| n as u32));
    checked(Given {
        uid: or(number("uid")?, OWNER),
        gid: or(number("gid")?, OWNER),
        mode: or(number("mode")?, mode),
    })
}

/// Only ids that sandboxes have: any other would belong to somebody on the host. Files that raise who runs them have no
/// place where sandboxes meet.
fn checked(given: Given) -> Result<Given, Reply> {
    for (name, id) in [("uid", given.uid), ("gid", given.gid)] {
        if id.is_some_and(|id| id >= limits::VOLUME_IDS) {
            return Err(Reply::invalid(format!("`{name}` must be below {}", limits::VOLUME_IDS)));
        }
    }
    if given.mode.is_some_and(|mode| mode > 0o1777) {
        return Err(Reply::invalid("`mode` must be permission bits, without set-user-id and set-group-id"));
    }
    Ok(given)
}

fn flag(query: &Query, name: &str) -> Result<bool, Reply> {
    match query.get(name) {
        None => Ok(false),
        Some(text) => text.to_ascii_lowercase().parse().map_err(|_| {
            Reply::invalid(format!("`{name}` must be `true` or `false`, not `{}`", shown(text)))
        }),
    }
}

impl From<Reply> for Failed {
    fn from(reply: Reply) -> Self {
        Self(reply)
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        let Reply { status, message, .. } = self.0;
        (status, Json(Shape { code: status.as_u16().to_string(), message: &message })).into_response()
    }
}

impl From<Entry> for Stat {
    fn from(entry: Entry) -> Self {
        Self::of(&entry)
    }
}
