//! Every ceiling of a build, declared once: the constants, and the table from which `LIMITS.md` is printed.

use std::time::Duration;

hood_limits::limits! {
    STEP_TIME: Duration = Duration::from_secs(45 * 60), "time for one step", "its processes are killed and the build fails";
    FREE_MIN: u64 = 3 << 30, bytes, "least room on the data directory's filesystem for a build that would make a layer", "the build is refused";
    OUTPUT_LINES: usize = 20, "lines of a failed command that its error keeps", "the first ones are left out";
    LINE_BYTES: usize = 500, "bytes of one line of a command that are kept and shown", "the rest of the line is replaced by an ellipsis";
    LINES_WAITING: usize = 256, "lines of a command that wait for a slow progress display", "the command waits";
    MANIFEST_BYTES: u64 = 1 << 20, bytes, "a manifest", "it is not read";
}
