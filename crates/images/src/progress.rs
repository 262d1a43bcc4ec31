//! What a build tells while it runs.

use std::time::Duration;

use crate::store::Manifest;

/// Receives the progress of a build. Calls come from one thread, in order.
pub trait Progress {
    /// Another build holds the store; ours waits until it has ended.
    fn waiting(&self) {}
    /// Step `n` of `of` (from 1) begins.
    fn step(&self, n: usize, of: usize, title: &str);
    /// The step that began has been done before; its layer is used again.
    fn cached(&self) {}
    /// A line that the step printed: text of other programs, to be escaped before it meets a terminal.
    fn line(&self, text: &str);
    /// The step that began is done, and its layer has this size.
    fn layer(&self, _bytes: u64, _took: Duration) {}
    /// The template can be used.
    fn done(&self, _manifest: &Manifest) {}
}

/// Tells nobody.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {
    fn step(&self, _n: usize, _of: usize, _title: &str) {}
    fn line(&self, _text: &str) {}
}
