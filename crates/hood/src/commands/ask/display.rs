//! What happens during a run, on standard error: a moving line on a terminal, plain lines elsewhere.

use std::path::Path;
use std::time::Duration;

use hood_agent::{Event, Report};
use indicatif::{ProgressBar, ProgressStyle};

use crate::terminal::{Paint, Printer, escape};

/// Redrawn this often.
const TICK: Duration = Duration::from_millis(120);
/// Characters of one line; the rest is left out with an ellipsis.
const LINE: usize = 160;

/// Shows events as they come.
pub(super) struct Display {
    printer: Printer,
    bar: Option<ProgressBar>,
}

// === impl Display ===

impl Display {
    pub(super) fn new(printer: Printer) -> Self {
        let bar = printer.may_draw().then(|| {
            let bar = ProgressBar::new_spinner();
            let style =
                ProgressStyle::with_template("{spinner:.green} {prefix} {elapsed:.dim} {wide_msg:.dim}");
            bar.set_style(style.expect("a fixed template"));
            bar.enable_steady_tick(TICK);
            bar
        });
        Self { printer, bar }
    }

    pub(super) fn show(&mut self, event: Event) {
        match event {
            Event::Round { n, of } => {
                self.line(Paint::Bold, &format!("round {n} of {of}"), "");
                self.wait("the model thinks");
            }
            Event::Thinking { delta } | Event::Said { delta } => self.last_words(&delta),
            Event::Retry { why, after } => {
                self.line(
                    Paint::Yellow,
                    "retry",
                    &format!("in {:.1} s: {}", after.as_secs_f64(), short(&why)),
                );
            }
            Event::Note { text } => self.line(Paint::Yellow, "note", &short(&text)),
            Event::ToolStart { description, code } => {
                let title = if description.trim().is_empty() { &code } else { &description };
                self.line(Paint::Bold, "run", &short(title));
                self.wait("the code runs");
            }
            Event::Stdout { text } | Event::Stderr { text } => self.last_words(&text),
            Event::Chart { name } => self.line(Paint::Green, "chart", &short(&name)),
            Event::CellDone { duration, error } => {
                let took = format!("{:.1} s", duration.as_secs_f64());
                match error {
                    None => self.line(Paint::Green, "done", &took),
                    Some(error) => self.line(Paint::Red, "failed", &format!("{took}: {}", short(&error))),
                }
                self.wait("the model thinks");
            }
            // It is printed at the end, as data.
            Event::Answer { .. } => {}
            Event::Saved { path } => self.line(Paint::Green, "saved", &short(&path)),
        }
    }

    /// The last line: where everything is.
    pub(super) fn end(&mut self, report: &Report, out: &Path) {
        let (rounds, took) = (report.rounds, report.duration.as_secs_f64());
        let tokens = report.usage.input_tokens + report.usage.output_tokens;
        let what =
            format!("{rounds} rounds, {tokens} tokens, {took:.1} s; everything is in {}", out.display());
        self.line(Paint::Bold, "ended", &what);
        if report.skipped > 0 {
            let what = format!("{} charts or files; `run.json` says why", report.skipped);
            self.line(Paint::Yellow, "left out", &what);
        }
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn line(&self, paint: Paint, word: &str, text: &str) {
        let word = self.printer.paint_note(paint, &format!("{word:<8}"));
        let print = || self.printer.note(format!("{word} {text}").trim_end());
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    fn wait(&self, what: &'static str) {
        if let Some(bar) = &self.bar {
            bar.set_prefix(what);
            bar.set_message("");
            bar.reset_elapsed();
        }
    }

    /// The newest line of what comes in pieces.
    fn last_words(&self, text: &str) {
        let line = text.lines().rev().find(|line| !line.trim().is_empty());
        if let (Some(bar), Some(line)) = (&self.bar, line) {
            bar.set_message(short(line));
        }
    }
}

/// One line, harmless to a terminal.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut line: String = match line.char_indices().nth(LINE) {
        Some((at, _)) => line.get(..at).map(|cut| format!("{cut}…")).unwrap_or_default(),
        None => line,
    };
    if let std::borrow::Cow::Owned(escaped) = escape(&line) {
        line = escaped;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_model_says_cannot_command_the_terminal() {
        assert_eq!(short("a\n  b\u{1b}[2Jc"), "a b\\u{1b}[2Jc");
        assert_eq!(short(&"я".repeat(500)).chars().count(), LINE + 1);
    }
}
