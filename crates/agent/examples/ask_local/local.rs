//! A workbench that is a temporary directory and a child process.

use std::{io, path::Path, process::Stdio, time::UNIX_EPOCH};

use async_trait::async_trait;
use bytes::Bytes;
use hood_agent::{
    Cell, CellError, CellEvent, CellEvents, Entry, Shown, Workbench, WorkbenchError, workbench::HOME,
};
use serde::Deserialize;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::Mutex,
};

/// The directory that stands for `/home/user`, and the interpreter in it.
pub(crate) struct LocalBench {
    home: tempfile::TempDir,
    kernel: Mutex<Kernel>,
}

struct Kernel {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Stdout(String),
    Stderr(String),
    Done { results: Vec<std::collections::BTreeMap<String, String>>, error: Option<Raised> },
}

#[derive(Deserialize)]
struct Raised {
    name: String,
    value: String,
    traceback: String,
}

impl LocalBench {
    /// Starts the interpreter. Its environment is cleared: nothing of the caller's may be seen by the code.
    pub(crate) fn start() -> io::Result<Self> {
        let home = tempfile::tempdir()?;
        let python = std::env::var("HOOD_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let mut child = Command::new(python)
            .args(["-u", "-c", include_str!("bridge.py")])
            .current_dir(home.path())
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let input = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let kernel = Mutex::new(Kernel { child, input, output: BufReader::new(output).lines() });
        Ok(Self { home, kernel })
    }

    fn host_path(&self, path: &str) -> std::path::PathBuf {
        self.home.path().join(path.strip_prefix(HOME).unwrap_or(path).trim_start_matches('/'))
    }
}

#[async_trait]
impl Workbench for LocalBench {
    async fn put(&self, path: &str, bytes: Bytes) -> Result<(), WorkbenchError> {
        tokio::fs::write(self.host_path(path), bytes).await.map_err(|error| refused(path, &error))
    }

    async fn run(&self, code: &str, on: CellEvents<'_>) -> Result<Cell, WorkbenchError> {
        let mut kernel = self.kernel.lock().await;
        let request = format!("{}\n", serde_json::json!({"code": code}));
        kernel.input.write_all(request.as_bytes()).await.map_err(|error| ended(&error))?;
        let mut cell = Cell::default();
        while let Some(line) = kernel.output.next_line().await.map_err(|error| ended(&error))? {
            let line = serde_json::from_str(&line).map_err(|source| WorkbenchError::Unreachable {
                doing: "running a cell",
                source: Box::new(source),
            })?;
            match line {
                Line::Stdout(text) => {
                    cell.stdout.push_str(&text);
                    on(CellEvent::Stdout(text));
                }
                Line::Stderr(text) => {
                    cell.stderr.push_str(&text);
                    on(CellEvent::Stderr(text));
                }
                Line::Done { results, error } => {
                    cell.results = results.into_iter().map(Shown).collect();
                    cell.error =
                        error.map(|Raised { name, value, traceback }| CellError { name, value, traceback });
                    return Ok(cell);
                }
            }
        }
        Err(WorkbenchError::Ended { why: "the interpreter is gone".into() })
    }

    async fn list(&self, dir: &str) -> Result<Vec<Entry>, WorkbenchError> {
        let mut entries = Vec::new();
        walk(&self.host_path(dir), dir, &mut entries).map_err(|error| refused(dir, &error))?;
        Ok(entries)
    }

    async fn get(&self, path: &str) -> Result<Bytes, WorkbenchError> {
        tokio::fs::read(self.host_path(path)).await.map(Bytes::from).map_err(|error| refused(path, &error))
    }

    async fn close(&self) -> Result<(), WorkbenchError> {
        self.kernel.lock().await.child.kill().await.map_err(|error| ended(&error))
    }
}

fn walk(folder: &Path, shown: &str, entries: &mut Vec<Entry>) -> io::Result<()> {
    for entry in folder.read_dir()? {
        let entry = entry?;
        let shown = format!("{shown}/{}", entry.file_name().to_string_lossy());
        let metadata = entry.metadata()?;
        if metadata.is_dir() {
            walk(&entry.path(), &shown, entries)?;
        } else if metadata.is_file() {
            let since = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
            entries.push(Entry { path: shown, size: metadata.len(), modified: since.as_nanos() as i64 });
        }
    }
    Ok(())
}

fn refused(path: &str, error: &io::Error) -> WorkbenchError {
    WorkbenchError::File { path: path.to_owned(), why: error.to_string() }
}

fn ended(error: &io::Error) -> WorkbenchError {
    WorkbenchError::Ended { why: error.to_string() }
}
