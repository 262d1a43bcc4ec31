//! How a build is shown: drawn on a terminal, in plain lines elsewhere.

use std::cell::RefCell;
use std::time::Duration;

use hood_images::{Manifest, Progress};
use indicatif::{ProgressBar, ProgressStyle};

use crate::terminal::{Paint, Printer, escape};

/// Redrawn this often.
const TICK: Duration = Duration::from_millis(120);

/// A line that moves, above it the steps that are done.
pub(super) struct Drawn {
    printer: Printer,
    step: RefCell<Option<Step>>,
}

struct Step {
    title: String,
    bar: ProgressBar,
}

/// Lines.
pub(super) struct Plain(pub(super) Printer);

// === impl Drawn ===

impl Drawn {
    pub(super) fn new(printer: Printer) -> Self {
        Self { printer, step: RefCell::new(None) }
    }

    fn end(&self, mark: &str, paint: Paint, note: &str) {
        if let Some(step) = self.step.borrow_mut().take() {
            step.bar.finish_and_clear();
            let mark = self.printer.paint_note(paint, mark);
            let note = self.printer.paint_note(Paint::Dim, note);
            self.printer.note(&format!("{mark} {} {note}", step.title));
        }
    }
}

impl Progress for Drawn {
    fn waiting(&self) {
        self.printer.note("another build is running; waiting for it");
    }

    fn step(&self, n: usize, of: usize, title: &str) {
        let bar = ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("{spinner:.green} {prefix} {elapsed:.dim} {wide_msg:.dim}");
        bar.set_style(style.expect("a fixed template"));
        let title = format!("[{n}/{of}] {}", escape(title));
        bar.set_prefix(title.clone());
        bar.enable_steady_tick(TICK);
        *self.step.borrow_mut() = Some(Step { title, bar });
    }

    fn cached(&self) {
        self.end("=", Paint::Dim, "is there already");
    }

    fn line(&self, text: &str) {
        if let Some(step) = &*self.step.borrow() {
            step.bar.set_message(escape(text).into_owned());
        }
    }

    fn layer(&self, bytes: u64, took: Duration) {
        self.end("✓", Paint::Green, &size_and_time(bytes, took));
    }

    fn done(&self, manifest: &Manifest) {
        self.printer.note(&summary(manifest));
    }
}

/// A build that fails leaves its step; the line must not stay on the screen.
impl Drop for Drawn {
    fn drop(&mut self) {
        self.end("✗", Paint::Red, "failed");
    }
}

// === impl Plain ===

impl Progress for Plain {
    fn waiting(&self) {
        self.0.note("another build is running; waiting for it");
    }

    fn step(&self, n: usize, of: usize, title: &str) {
        self.0.note(&format!("[{n}/{of}] {}", escape(title)));
    }

    fn cached(&self) {
        self.0.note("      is there already");
    }

    fn line(&self, text: &str) {
        self.0.note(&format!("      {}", escape(text)));
    }

    fn layer(&self, bytes: u64, took: Duration) {
        self.0.note(&format!("      {}", size_and_time(bytes, took)));
    }

    fn done(&self, manifest: &Manifest) {
        self.0.note(&summary(manifest));
    }
}

fn size_and_time(bytes: u64, took: Duration) -> String {
    format!("{} MiB in {:.1} s", bytes >> 20, took.as_secs_f64())
}

fn summary(manifest: &Manifest) -> String {
    format!(
        "template `{}` is ready: {} layers, {} MiB",
        manifest.name,
        manifest.layers.len(),
        manifest.bytes >> 20
    )
}
