//! One run, from the question to the saved answer.
//!
//! ```text
//! upload → [ turn → run its calls ]* → answer → fetch what is new → run.json → close
//! ```
//! Whatever goes wrong after the upload ends the loop, not the run: the charts, the files and the record of what
//! was achieved are kept, and [`Report::outcome`] says how it ended. A sandbox that died is never replaced by a
//! new one in silence: variables would be gone without the model knowing.

mod calls;
mod harvest;
mod outcome;
mod session;

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;

pub use outcome::{Failure, Outcome, Report};

use crate::{
    Event, Events, Model, Out, OutError, Workbench, WorkbenchError,
    limits::{MAX_ROUNDS, ROUNDS},
    names::Names,
    prompt,
    record::{FileRecord, Run, VERSION},
    workbench::{Entry, HOME},
};
use calls::Calls;
use harvest::Harvest;
use session::Session;

/// What is asked.
#[derive(Debug, Clone)]
pub struct Question {
    /// In the user's words.
    pub text: String,
    /// Files for the sandbox.
    pub files: Vec<Upload>,
    /// Rounds at most; [`Question::new`] sets the usual number, and more than [`MAX_ROUNDS`] count as that.
    pub rounds: u32,
}

/// A file for the sandbox.
#[derive(Debug, Clone)]
pub struct Upload {
    /// The user's name for it; only the last component counts.
    pub name: String,
    /// Its content; the caller keeps it below [`crate::UPLOAD_BYTES`].
    pub bytes: Bytes,
}

impl Question {
    /// A question with the usual number of rounds.
    pub fn new(text: impl Into<String>, files: Vec<Upload>) -> Self {
        Self { text: text.into(), files, rounds: ROUNDS }
    }
}

/// Answers `question` with `model` and `bench`, fills `out`, and closes the sandbox. The error is for a host that
/// cannot be written to; everything else is an [`Outcome`]. Dropping the future leaves the sandbox to its
/// deadline or to whoever else closes it.
pub async fn ask(
    question: &Question,
    model: &dyn Model,
    bench: &dyn Workbench,
    out: &Out,
    on: Events<'_>,
) -> Result<Report, OutError> {
    let begun = Instant::now();
    let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let rounds = question.rounds.clamp(1, MAX_ROUNDS);

    let (mut session, mut harvest) =
        (Session::new(model, Calls::new(bench, out), rounds), Harvest::default());
    let mut uploads = Vec::new();
    let outcome = match upload(bench, &question.files, &mut uploads).await {
        Err(error) => Outcome::Failed(Failure::Sandbox(error)),
        Ok(before) => {
            let outcome = session.converse(prompt::question(&question.text, &before), on).await?;
            // A sandbox that has ended or does not answer has no files to give.
            if !matches!(outcome, Outcome::Failed(Failure::Sandbox(_))) {
                harvest.fetch(bench, &before, out, on).await;
            }
            outcome
        }
    };
    if let Err(error) = bench.close().await {
        tracing::warn!(error = %error, "the sandbox was not closed and is left to its deadline");
    }

    let answer = session.answer.as_deref().map(|text| model.without_key(text));
    if let Some(text) = &answer {
        on(Event::Answer { text: text.clone() });
        let note = outcome.note().map_or_else(String::new, |note| format!("> {note}\n\n"));
        save(out, "answer.md", format!("{note}{}\n", text.trim_end()).as_bytes(), on).await?;
    }
    let duration = begun.elapsed();
    harvest.skipped.append(&mut session.calls.skipped);
    let run = Run {
        version: VERSION,
        question: &question.text,
        outcome: outcome.record(),
        model: model.name(),
        endpoint: model.endpoint(),
        calling: session.calling(),
        started,
        duration_ms: duration.as_millis() as u64,
        usage: session.usage,
        uploads: &uploads,
        rounds: &session.rounds,
        answer: answer.as_deref(),
        charts: &session.calls.charts,
        files: &harvest.files,
        skipped: &harvest.skipped,
        system: &session.system,
        messages: &session.messages,
    };
    let json = serde_json::to_string_pretty(&run).expect("strings, numbers and maps with string keys");
    save(out, "run.json", model.without_key(&json).as_bytes(), on).await?;

    Ok(Report {
        outcome,
        answer,
        rounds: session.rounds.len() as u32,
        charts: session.calls.charts,
        files: harvest.files.into_iter().map(|file| file.name).collect(),
        skipped: harvest.skipped.len(),
        usage: session.usage,
        duration,
    })
}

async fn save(out: &Out, name: &str, bytes: &[u8], on: Events<'_>) -> Result<(), OutError> {
    out.write(name, bytes).await?;
    on(Event::Saved { path: name.to_owned() });
    Ok(())
}

/// Puts the files into the sandbox, makes the folder for results, and tells what lies there before any code of
/// the model has run.
async fn upload(
    bench: &dyn Workbench,
    files: &[Upload],
    uploads: &mut Vec<FileRecord>,
) -> Result<Vec<Entry>, WorkbenchError> {
    let mut names = Names::default();
    for file in files {
        let name = names.for_upload(&file.name);
        let path = format!("{HOME}/{name}");
        bench.put(&path, file.bytes.clone()).await?;
        uploads.push(FileRecord { name, path, bytes: file.bytes.len() as u64 });
    }
    // Models forget to make it.
    bench.run("__import__('os').makedirs('output', exist_ok=True)", &mut |_| ()).await?;
    let mut before = bench.list(HOME).await?;
    // A template may bring dotfiles; they are no files that the user gave.
    before.retain(|entry| !entry.path[HOME.len().min(entry.path.len())..].contains("/."));
    Ok(before)
}

#[cfg(test)]
mod tests;
