//! The bounds of a build, and what happens when one is met.

use std::time::Duration;

/// One step may take this long; then its processes are killed and the build fails.
pub const STEP_TIME: Duration = Duration::from_secs(45 * 60);
/// A build that would make a layer is refused with less room than this on the data directory's filesystem.
pub const FREE_MIN: u64 = 3 * 1024 * 1024 * 1024;
/// Lines of a failed command that its error keeps: the last ones.
pub const OUTPUT_LINES: usize = 20;
/// Bytes of one line of a command that are kept and shown; the rest of the line is replaced by an ellipsis.
pub const LINE_BYTES: usize = 500;
/// Lines of a command that may wait for a slow progress display; then the command waits.
pub const LINES_WAITING: usize = 256;
/// A manifest larger than this is not read.
pub const MANIFEST_BYTES: u64 = 1024 * 1024;
