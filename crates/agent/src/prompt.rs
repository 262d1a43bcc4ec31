//! What the agent says to the model of its own accord.

use crate::{
    text::grouped,
    workbench::{Entry, HOME},
};

/// The system prompt; `fenced` is for models that cannot call tools.
pub(crate) fn system(rounds: u32, fenced: bool) -> String {
    let system = include_str!("docs/system.md").replace("{rounds}", &rounds.to_string());
    if fenced { system + include_str!("docs/fenced.md") } else { system }
}

/// The first message: the question, and what lies in the sandbox.
pub(crate) fn question(question: &str, files: &[Entry]) -> String {
    if files.is_empty() {
        return format!("{question}\n\nNo files were given.");
    }
    let lines = files.iter().map(|file| {
        let name = file.path.strip_prefix(HOME).map_or(&*file.path, |name| name.trim_start_matches('/'));
        format!("\n- {name} ({} bytes)", grouped(file.size))
    });
    format!("{question}\n\nFiles in {HOME}:{}", lines.collect::<String>())
}

/// Added to the results of the last round but one.
pub(crate) const ONE_ROUND_LEFT: &str =
    "\n[One round is left. If you run more code, it is the last; you then answer without tools.]";

/// Asked when the rounds are used up.
pub(crate) const SUM_UP: &str = "The rounds are used up and no more code can be run. Answer now from what you have: what you found, with the \
     numbers that were printed, what is missing, and which files you made.";
