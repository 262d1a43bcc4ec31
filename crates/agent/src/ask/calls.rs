//! One call of the tool: the cell that it runs, the charts that it shows, what the model is told of it.

use std::time::{Duration, Instant};

use base64::{Engine, prelude::BASE64_STANDARD};

use crate::{
    CellEvent, Event, Events, Out, OutError, Workbench, WorkbenchError,
    limits::{CHART_BYTES, CHARTS, RECORD_BYTES},
    model::ToolCall,
    record::{CallRecord, SkippedRecord},
    text::{cut_middle, grouped, one_line, without_colours},
    tool::{self, Kept, Task},
    workbench::{Cell, Shown},
};

/// Runs calls in the sandbox and keeps the charts that they show.
pub(super) struct Calls<'a> {
    bench: &'a dyn Workbench,
    out: &'a Out,
    pub(super) charts: Vec<String>,
    pub(super) skipped: Vec<SkippedRecord>,
}

/// What came of a call.
pub(super) struct Ran {
    pub(super) record: CallRecord,
}

impl<'a> Calls<'a> {
    pub(super) fn new(bench: &'a dyn Workbench, out: &'a Out) -> Self {
        Self { bench, out, charts: Vec::new(), skipped: Vec::new() }
    }

    /// Runs a call. What the model can mend is a result; the inner error means that the sandbox is of no more
    /// use, the outer one that the host cannot be written to.
    pub(super) async fn run(
        &mut self,
        call: &ToolCall,
        on: Events<'_>,
    ) -> Result<Result<Ran, WorkbenchError>, OutError> {
        let task = match Task::read(call) {
            Ok(task) => task,
            Err(why) => {
                on(Event::Note { text: format!("a call was not run: {}", one_line(&why, 200)) });
                return Ok(Ok(Ran::not(call, why)));
            }
        };
        on(Event::ToolStart { description: task.description.clone(), code: task.code.clone() });
        let begun = Instant::now();
        let ran = self
            .bench
            .run(&task.code, &mut |event| match event {
                CellEvent::Stdout(text) => on(Event::Stdout { text }),
                CellEvent::Stderr(text) => on(Event::Stderr { text }),
            })
            .await;
        let duration = begun.elapsed();
        match ran {
            Ok(cell) => {
                let mut kept = Vec::new();
                for shown in &cell.results {
                    kept.push(self.keep(shown, on).await?);
                }
                let error = cell.error.as_ref().map(|raised| format!("{}: {}", raised.name, raised.value));
                on(Event::CellDone { duration, error: error.map(|error| one_line(&error, 200)) });
                Ok(Ok(Ran::cell(call, task, cell, kept, duration)))
            }
            Err(error) => {
                on(Event::CellDone { duration, error: Some(error.to_string()) });
                if matches!(error, WorkbenchError::TimedOut { .. }) {
                    Ok(Ok(Ran::timed_out(call, task, &error, duration)))
                } else {
                    Ok(Err(error))
                }
            }
        }
    }

    /// Saves a chart as soon as it is shown: a run that fails later has it.
    async fn keep(&mut self, shown: &Shown, on: Events<'_>) -> Result<Kept, OutError> {
        let Some((mime, ending, content)) = tool::chart_of(shown) else {
            return Ok(Kept::Text(tool::text_of(shown)));
        };
        let name = format!("charts/chart-{}.{ending}", self.charts.len() + 1);
        let bytes = match self.chart_bytes(mime, content) {
            Ok(bytes) => bytes,
            Err(why) => {
                self.skipped.push(SkippedRecord { path: name, why: why.clone() });
                return Ok(Kept::Skipped { mime, why });
            }
        };
        self.out.write(&name, &bytes).await?;
        self.charts.push(name.clone());
        on(Event::Chart { name: name.clone() });
        Ok(Kept::Chart { mime, name })
    }

    fn chart_bytes(&self, mime: &str, content: &str) -> Result<Vec<u8>, String> {
        if self.charts.len() >= CHARTS {
            return Err(format!("{CHARTS} charts are the limit of a run"));
        }
        if content.len() / 4 * 3 > CHART_BYTES {
            return Err(format!("a chart may have {} bytes", grouped(CHART_BYTES as u64)));
        }
        if matches!(mime, "image/svg+xml" | "text/html") {
            return Ok(content.as_bytes().to_vec());
        }
        let packed: String = content.split_ascii_whitespace().collect();
        BASE64_STANDARD.decode(packed).map_err(|error| format!("it is no base64 ({error})"))
    }
}

// === impl Ran ===

impl Ran {
    /// A call that was not run, and why.
    pub(super) fn not(call: &ToolCall, why: String) -> Self {
        let text = |name: &str| call.input.get(name).and_then(|text| text.as_str()).unwrap_or("").to_owned();
        let task = Task { code: text("code"), description: text("description") };
        Self::of(call, task, CallRecord { told: format!("error: {why}"), ..CallRecord::default() })
    }

    fn cell(call: &ToolCall, task: Task, cell: Cell, kept: Vec<Kept>, duration: Duration) -> Self {
        let told = tool::render(&cell, &kept);
        let charts = kept.into_iter().filter_map(Kept::into_name).collect();
        let record = CallRecord {
            ran: true,
            ok: cell.error.is_none(),
            duration_ms: duration.as_millis() as u64,
            stdout: cut_middle(&cell.stdout, RECORD_BYTES).into_owned(),
            stderr: cut_middle(&without_colours(&cell.stderr), RECORD_BYTES).into_owned(),
            error: cell.error.map(|mut error| {
                error.traceback = without_colours(&error.traceback).into_owned();
                error
            }),
            charts,
            told,
            ..CallRecord::default()
        };
        Self::of(call, task, record)
    }

    fn timed_out(call: &ToolCall, task: Task, error: &WorkbenchError, duration: Duration) -> Self {
        let told = format!("error: {error}. Variables are kept; files may be half written.");
        let duration_ms = duration.as_millis() as u64;
        Self::of(call, task, CallRecord { ran: true, duration_ms, told, ..CallRecord::default() })
    }

    fn of(call: &ToolCall, task: Task, record: CallRecord) -> Self {
        let Task { code, description } = task;
        Self { record: CallRecord { id: call.id.clone(), code, description, ..record } }
    }
}

impl Kept {
    fn into_name(self) -> Option<String> {
        if let Self::Chart { name, .. } = self { Some(name) } else { None }
    }
}
