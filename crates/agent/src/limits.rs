//! Every ceiling of the agent, with what happens when it is met.

use std::time::Duration;

/// Rounds of a run when the caller names no number. A round is one turn of the model with its tool calls;
/// when they are used up the model is asked once more, without tools, to say what was achieved.
pub const ROUNDS: u32 = 8;
/// The most rounds a caller may ask for; more is refused.
pub const MAX_ROUNDS: u32 = 64;
/// Tool calls run of one turn. The rest are answered with a note that they were not run.
pub(crate) const CALLS_PER_TURN: usize = 16;
/// Bytes of code in one call; longer is answered with an error that the model can mend.
pub(crate) const CODE_BYTES: usize = 256 << 10;

/// Bytes of one cell's stdout that the model reads; the middle is left out and the count said.
pub(crate) const STDOUT_BYTES: usize = 16 << 10;
/// The same for stderr.
pub(crate) const STDERR_BYTES: usize = 4 << 10;
/// The same for the text of all results of a cell.
pub(crate) const RESULT_BYTES: usize = 8 << 10;
/// The same for a traceback.
pub(crate) const TRACEBACK_BYTES: usize = 6 << 10;
/// Bytes of one cell's stdout and stderr kept in `run.json`, each; the middle is left out and the count said.
pub(crate) const RECORD_BYTES: usize = 256 << 10;

/// Bytes of one uploaded file; larger is refused before a sandbox is made.
pub const UPLOAD_BYTES: u64 = 256 << 20;
/// Charts saved of one run; the rest are named in `run.json` as skipped, and the model is told.
pub(crate) const CHARTS: usize = 64;
/// Bytes of one chart; larger is skipped likewise.
pub(crate) const CHART_BYTES: usize = 20 << 20;
/// Files fetched from the sandbox at the end; the rest are named as skipped.
pub(crate) const FILES: usize = 200;
/// Bytes of one such file; larger is skipped.
pub(crate) const FILE_BYTES: u64 = 64 << 20;
/// Bytes of all such files together; what would go beyond is skipped.
pub(crate) const FILES_BYTES: u64 = 256 << 20;
/// Bytes of one component of a saved file's name; the stem is shortened.
pub(crate) const NAME_BYTES: usize = 120;
/// Folders that a saved file may lie in; deeper ones are folded into the last.
pub(crate) const NAME_DEPTH: usize = 8;

/// Attempts at one turn, the first included.
pub(crate) const ATTEMPTS: u32 = 5;
/// The first pause of the back-off; it doubles, and half of it is drawn by chance.
pub(crate) const BACKOFF_FIRST: Duration = Duration::from_millis(500);
/// The longest pause that the back-off reaches by itself.
pub(crate) const BACKOFF_LONGEST: Duration = Duration::from_secs(20);
/// The longest `Retry-After` that is waited for; a longer one ends the run with what was said.
pub(crate) const RETRY_AFTER_LONGEST: Duration = Duration::from_secs(60);
/// Time to connect to the model's endpoint.
pub(crate) const CONNECT: Duration = Duration::from_secs(10);
/// Time between two pieces of a stream. Reasoning models may think for a minute before the first.
pub(crate) const IDLE: Duration = Duration::from_secs(180);
/// Time for one turn, pauses and further attempts included.
pub(crate) const TURN: Duration = Duration::from_secs(900);
/// Tokens that Anthropic's endpoint may answer with; it wants a number in every request.
pub(crate) const ANSWER_TOKENS: u32 = 16_000;
/// Bytes of one server-sent event, and of an answer that came whole; more is not understood.
pub(crate) const EVENT_BYTES: usize = 16 << 20;
/// Bytes read of an endpoint's error.
pub(crate) const ERROR_BYTES: usize = 64 << 10;
/// Bytes of an endpoint's own words in our messages.
pub(crate) const SAID_BYTES: usize = 600;
