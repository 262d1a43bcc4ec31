//! What is new or changed in the workspace after the program, and fetching it.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use anyhow::{Context as _, Result};
use hood_client::{ClientError, Entry, EntryKind, Sandbox};
use serde::Serialize;

use super::names::Names;
use super::out::OutDir;
use crate::limits::{RUN_BYTES, RUN_FILES, RUN_LEVELS};
use crate::terminal::{Printer, escape};

/// What a file was before the program ran.
type Stamp = (u64, String);

/// The workspace as it was.
#[derive(Debug)]
pub(super) struct Harvest<'a> {
    sandbox: &'a Sandbox,
    workspace: &'a str,
    before: HashMap<String, Stamp>,
}

/// A file that was fetched.
#[derive(Debug, Serialize)]
pub(super) struct Fetched {
    /// In the workspace.
    pub(super) name: String,
    /// On the host.
    pub(super) path: String,
    pub(super) bytes: u64,
}

// === impl Harvest ===

impl<'a> Harvest<'a> {
    /// Before the program runs, after its files are there.
    pub(super) async fn begin(sandbox: &'a Sandbox, workspace: &'a str) -> Result<Self> {
        let before = files(sandbox, workspace).await?;
        let before =
            before.into_iter().map(|entry| (entry.path, (entry.size, entry.modified_time))).collect();
        Ok(Self { sandbox, workspace, before })
    }

    /// Saves what is new. A file that cannot be fetched is said and left; one that cannot be written ends it.
    pub(super) async fn fetch(self, printer: Printer, out: &Path) -> Result<Vec<Fetched>> {
        let mut names = Names::default();
        let mut room = RUN_BYTES;
        let mut fetched: Vec<Fetched> = Vec::new();
        let mut dir = None;
        let mut left = 0;
        for entry in files(self.sandbox, self.workspace).await? {
            let stamp = (entry.size, entry.modified_time);
            if self.before.get(&entry.path) == Some(&stamp) {
                continue;
            }
            let Some(name) = names.for_path(self.workspace, &entry.path) else { continue };
            if fetched.len() >= RUN_FILES {
                left += 1;
                continue;
            }
            // Made only when there is something for it.
            let dir = match &mut dir {
                Some(dir) => dir,
                none => none.insert(OutDir::open(out)?),
            };
            match self.save(dir, &entry.path, &name, room).await? {
                Ok(bytes) => {
                    room -= bytes;
                    fetched.push(Fetched { path: dir.shown(&name), name, bytes });
                }
                Err(why) => printer.warning(&format!("`{}` was not saved: {}", escape(&name), escape(&why))),
            }
        }
        if left > 0 {
            printer.warning(&format!("{left} files were not saved: {RUN_FILES} are the limit of a run"));
        }
        Ok(fetched)
    }

    /// The inner error is the sandbox's, the outer one the host's.
    async fn save(&self, dir: &OutDir, path: &str, name: &str, room: u64) -> Result<Result<u64, String>> {
        let mut download = match self.sandbox.get(path).await {
            Ok(download) => download,
            Err(error) => return refused(error),
        };
        let mut file = dir.create(name)?;
        let mut written = 0;
        loop {
            match download.next().await {
                Ok(Some(bytes)) => {
                    written += bytes.len() as u64;
                    if written > room {
                        file.discard();
                        return Ok(Err(format!("{} MiB are the limit of a run", RUN_BYTES >> 20)));
                    }
                    file.file
                        .write_all(&bytes)
                        .with_context(|| format!("cannot write `{}`", dir.shown(name)))?;
                }
                Ok(None) => break,
                Err(error) => {
                    file.discard();
                    return refused(error);
                }
            }
        }
        file.keep()?;
        Ok(Ok(written))
    }
}

/// With the sandbox gone there is nothing more to fetch; otherwise it is this file's trouble.
fn refused<T>(error: ClientError) -> Result<Result<T, String>> {
    match error {
        ClientError::Gone { .. } | ClientError::NoServer { .. } => Err(error.into()),
        other => Ok(Err(other.to_string())),
    }
}

async fn files(sandbox: &Sandbox, workspace: &str) -> Result<Vec<Entry>> {
    let mut entries = sandbox.list(workspace, RUN_LEVELS).await.context("cannot look into the workspace")?;
    // What a link leads to is found where it lies, or is none of ours.
    entries.retain(|entry| entry.kind == EntryKind::File && entry.symlink_target.is_none());
    Ok(entries)
}
