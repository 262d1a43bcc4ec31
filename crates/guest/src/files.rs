//! File contents: `GET` and `POST /files` (reference `e2b.md` 1.6 and 3.4).
//!
//! Bodies stream in both directions, whatever their size, through buffers of [`CHUNK`] bytes that are read and written
//! where waiting for a disk harms nobody.
//!
//! Reading order: [`request`] (who asks for which path), [`download`] with [`range`], [`negotiate`] and [`describe`],
//! then [`upload`] with [`multipart`], [`gunzip`], [`target`] and [`content`].

mod content;
mod describe;
mod download;
mod error;
#[cfg(fuzzing)]
pub(crate) mod fuzz;
mod gunzip;
mod multipart;
mod negotiate;
mod range;
mod request;
mod signature;
mod target;
#[cfg(test)]
mod tests;
mod upload;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::get;

use crate::app::App;

/// Bytes read or written at once.
const CHUNK: usize = 512 << 10;

/// The routes of file contents. What limits an upload is the sandbox's disk.
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/files", get(download::download).post(upload::upload))
        .layer(DefaultBodyLimit::disable())
}
