//! Every ceiling of the agent, declared once: the constants, and the table from which `LIMITS.md` is printed.

use std::time::Duration;

hood_limits::limits! {
    ROUNDS: u32 = 8, "rounds of a run when nothing else is said (a round is a turn of the model with its calls)", "the model is asked for a summary, without tools", "`hood ask --rounds`";
    MAX_ROUNDS: u32 = 64, "rounds that may be asked for", "more is refused";
    CALLS_PER_TURN: usize = 16, "tool calls run of one turn", "the others are answered as not run";
    CODE_BYTES: usize = 256 << 10, bytes, "code in one call", "it is not run, and the model is told";

    STDOUT_BYTES: usize = 16 << 10, bytes, "one cell's stdout that the model reads", "the middle is left out and counted";
    STDERR_BYTES: usize = 4 << 10, bytes, "one cell's stderr that the model reads", "the middle is left out and counted";
    RESULT_BYTES: usize = 8 << 10, bytes, "one cell's results that the model reads", "the middle is left out and counted";
    TRACEBACK_BYTES: usize = 6 << 10, bytes, "a traceback that the model reads", "the middle is left out and counted";
    RECORD_BYTES: usize = 256 << 10, bytes, "one cell's stdout, and of its stderr, in `run.json`", "the middle is left out and counted";

    UPLOAD_BYTES: u64 = 256 << 20, bytes, "one file given to a question", "the question is refused";
    CHARTS: usize = 64, "charts saved of one run", "the others are named as skipped";
    CHART_BYTES: usize = 20 << 20, bytes, "one chart", "it is named as skipped";
    FILES: usize = 200, "files fetched from the sandbox at the end of a run", "the others are named as skipped";
    FILE_BYTES: u64 = 64 << 20, bytes, "one fetched file", "it is named as skipped";
    FILES_BYTES: u64 = 256 << 20, bytes, "all fetched files", "what goes beyond is named as skipped";
    NAME_BYTES: usize = 120, bytes, "one part of a saved file's name", "it is shortened, its ending kept";
    NAME_DEPTH: usize = 8, "folders and name of a saved file", "deeper folders become one";

    ATTEMPTS: u32 = 5, "attempts at one turn of the model", "the run ends with the last error";
    BACKOFF_FIRST: Duration = Duration::from_millis(500), "first pause between attempts; it doubles, and up to half of it is taken off by chance", "the next attempt";
    BACKOFF_LONGEST: Duration = Duration::from_secs(20), "longest pause of the back-off", "it grows no more";
    RETRY_AFTER_LONGEST: Duration = Duration::from_secs(60), "longest `Retry-After` that is waited for", "the run ends with what the endpoint said";
    CONNECT: Duration = Duration::from_secs(10), "time to connect to the model's endpoint", "the attempt has failed";
    IDLE: Duration = Duration::from_secs(180), "time between two pieces of a model's answer", "the attempt has failed", "`HOOD_MODEL_IDLE_SECONDS`";
    TURN: Duration = Duration::from_secs(900), "time for one turn, all attempts included", "the run ends", "`HOOD_MODEL_TURN_SECONDS`";
    ANSWER_TOKENS: u32 = 16_000, "tokens of one answer from Anthropic's endpoint", "the answer is marked as cut";
    EVENT_BYTES: usize = 16 << 20, bytes, "one event of a stream, and of an answer that comes whole", "the run ends: not understood";
    ERROR_BYTES: usize = 64 << 10, bytes, "what is read of an endpoint's error", "the rest is not read";
    SAID_BYTES: usize = 600, bytes, "an endpoint's own words in a message", "they are cut, marked with `…`";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_every_ceiling_with_its_value() {
        let rounds = &inventory()[0];
        assert_eq!((rounds.name, rounds.value.as_str()), ("ROUNDS", "8"));
        assert!(inventory().iter().any(|limit| limit.value == "500 ms"));
    }
}
