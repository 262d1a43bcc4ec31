//! The agent's port to a sandbox, over the client.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use hood_agent::{Cell, CellError, CellEvent, CellEvents, Entry, Shown, Workbench, WorkbenchError};
use hood_client::{Cells, ClientError, EntryKind, Sandbox};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// How long the sandbox may live after the last thing that was asked of it: longer than a model thinks.
pub(super) const LIFE: Duration = Duration::from_secs(1800);
/// Levels of folders that are listed; what lies deeper is not found.
const DEPTH: u32 = 32;
/// Bytes of each output of a cell that are kept; what goes beyond is left out, and said.
const OUTPUT: usize = 4 << 20;
/// Bytes of one file that is read; the agent asks for none that is listed with more.
const FILE: usize = 128 << 20;
/// Follows output that was cut.
const CUT: &str = "\n[the rest of the output was left out]\n";

/// One sandbox, in which each step of code may take a while.
#[derive(Debug)]
pub(super) struct Bench {
    sandbox: Sandbox,
    step: Duration,
}

// === impl Bench ===

impl Bench {
    pub(super) fn new(sandbox: Sandbox, step: Duration) -> Self {
        Self { sandbox, step }
    }

    /// Asked before each step: a run of many rounds is longer than any life that is given at once.
    async fn live_on(&self) -> Result<(), WorkbenchError> {
        let life = LIFE.max(self.step * 2);
        let extended = self.sandbox.client().extend(self.sandbox.id(), life).await;
        extended.map_err(|error| match error {
            ClientError::Refused { status: 404, message, .. } => WorkbenchError::Ended { why: message },
            other => failed("keeping the sandbox alive", other),
        })
    }
}

#[async_trait]
impl Workbench for Bench {
    async fn put(&self, path: &str, bytes: Bytes) -> Result<(), WorkbenchError> {
        self.sandbox
            .put(path, bytes)
            .await
            .map(drop)
            .map_err(|error| of_file(path, "uploading a file", error))
    }

    async fn run(&self, code: &str, on: CellEvents<'_>) -> Result<Cell, WorkbenchError> {
        self.live_on().await?;
        // Giving up the stream interrupts the cell; the context answers again after that.
        match tokio::time::timeout(self.step, self.cell(code, on)).await {
            Ok(cell) => cell.map_err(|error| failed("running the code", error)),
            Err(_elapsed) => Err(WorkbenchError::TimedOut { limit: self.step }),
        }
    }

    async fn list(&self, dir: &str) -> Result<Vec<Entry>, WorkbenchError> {
        self.live_on().await?;
        let found =
            self.sandbox.list(dir, DEPTH).await.map_err(|error| of_file(dir, "listing files", error))?;
        let files =
            found.into_iter().filter(|entry| entry.kind == EntryKind::File && entry.symlink_target.is_none());
        Ok(files
            .map(|entry| Entry {
                modified: nanoseconds(&entry.modified_time),
                path: entry.path,
                size: entry.size,
            })
            .collect())
    }

    async fn get(&self, path: &str) -> Result<Bytes, WorkbenchError> {
        let doing = "downloading a file";
        let mut download = self.sandbox.get(path).await.map_err(|error| of_file(path, doing, error))?;
        let mut whole = Vec::new();
        while let Some(bytes) = download.next().await.map_err(|error| of_file(path, doing, error))? {
            if whole.len() + bytes.len() > FILE {
                let why = format!("it is larger than {} MiB", FILE >> 20);
                return Err(WorkbenchError::File { path: path.to_owned(), why });
            }
            whole.extend_from_slice(&bytes);
        }
        Ok(whole.into())
    }

    async fn close(&self) -> Result<(), WorkbenchError> {
        self.sandbox.kill().await.map(drop).map_err(|error| failed("ending the sandbox", error))
    }
}

impl Bench {
    async fn cell(&self, code: &str, on: CellEvents<'_>) -> Result<Cell, ClientError> {
        let mut cells: Cells = self.sandbox.execute(code, "python").await?;
        let mut cell = Cell::default();
        while let Some(event) = cells.next().await? {
            match event {
                hood_client::CellEvent::Stdout(text) => {
                    if keep(&mut cell.stdout, &text) {
                        on(CellEvent::Stdout(text));
                    }
                }
                hood_client::CellEvent::Stderr(text) => {
                    if keep(&mut cell.stderr, &text) {
                        on(CellEvent::Stderr(text));
                    }
                }
                hood_client::CellEvent::Result(shown) => cell.results.push(Shown(shown)),
                hood_client::CellEvent::Error { name, value, traceback } => {
                    cell.error.get_or_insert(CellError { name, value, traceback });
                }
            }
        }
        Ok(cell)
    }
}

/// Adds it if there is room; whether there was.
fn keep(kept: &mut String, text: &str) -> bool {
    if kept.len() + text.len() <= OUTPUT {
        kept.push_str(text);
        return true;
    }
    if !kept.ends_with(CUT) {
        kept.push_str(CUT);
    }
    false
}

fn of_file(path: &str, doing: &'static str, error: ClientError) -> WorkbenchError {
    match error {
        ClientError::Refused { message, .. } | ClientError::Failed { message, .. } => {
            WorkbenchError::File { path: path.to_owned(), why: message }
        }
        other => failed(doing, other),
    }
}

fn failed(doing: &'static str, error: ClientError) -> WorkbenchError {
    match error {
        ClientError::Gone { why, .. } => {
            WorkbenchError::Ended { why: why.unwrap_or_else(|| "the server knows it no more".to_owned()) }
        }
        other => WorkbenchError::Unreachable { doing, source: Box::new(other) },
    }
}

/// Zero for what is no time: such a file counts as changed when its size does.
fn nanoseconds(moment: &str) -> i64 {
    OffsetDateTime::parse(moment, &Rfc3339).map_or(0, |moment| moment.unix_timestamp_nanos() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_without_end_is_cut_once() {
        let mut kept = String::new();
        let half = "x".repeat(OUTPUT / 2);
        assert_eq!(
            [keep(&mut kept, &half), keep(&mut kept, &half), keep(&mut kept, "y")],
            [true, true, false]
        );
        assert!(!keep(&mut kept, "z"));
        assert_eq!(kept.len(), OUTPUT + CUT.len());
    }

    #[test]
    fn a_refused_file_is_that_files_trouble() {
        let full = ClientError::Refused { doing: "x", status: 507, message: "full".into() };
        assert_eq!(of_file("/a", "uploading", full).to_string(), "the sandbox refused the file `/a`: full");
        let gone = ClientError::Gone { id: "i".into(), why: Some("it was killed".into()) };
        assert_eq!(of_file("/a", "uploading", gone).to_string(), "the sandbox has ended: it was killed");
    }

    #[test]
    fn later_is_more() {
        assert!(
            nanoseconds("2026-01-01T00:00:00.000000002Z") > nanoseconds("2026-01-01T00:00:00.000000001Z")
        );
        assert_eq!(nanoseconds("soon"), 0);
    }
}
