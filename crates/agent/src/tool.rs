//! `execute_python`: the one tool, what a call of it asks for, and what the model reads of a cell.

use serde_json::{Value, json};

use crate::{
    limits,
    model::ToolCall,
    text::{cut_middle, without_colours},
    workbench::{Cell, Shown},
};

/// The tool's name.
pub(crate) const NAME: &str = "execute_python";
/// What the model is told of it.
pub(crate) const DESCRIPTION: &str = "Runs Python code in a stateful sandbox and returns its output, the value of its last expression, \
     the names of the charts it showed, or the traceback of its error.";

/// Its arguments, as a JSON schema.
pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "code": {"type": "string", "description": "The Python code to run."},
            "description": {"type": "string", "description": "What it does, in a few words for the user's log."},
        },
        "required": ["code", "description"],
    })
}

/// What a call wants run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Task {
    pub(crate) code: String,
    pub(crate) description: String,
}

impl Task {
    /// Reads a call's arguments; the error is for the model to mend.
    pub(crate) fn read(call: &ToolCall) -> Result<Self, String> {
        if call.name != NAME {
            return Err(format!("There is no tool `{}`; the only one is `{NAME}`.", call.name));
        }
        if let Some(why) = &call.malformed {
            return Err(format!(
                "The arguments were not valid JSON ({why}), so nothing was run. Send the call again; if the code was \
                 very long, split it into several calls."
            ));
        }
        let Some(code) = call.input.get("code").and_then(Value::as_str) else {
            return Err("The argument `code` is missing or no string, so nothing was run.".to_owned());
        };
        if code.len() > limits::CODE_BYTES {
            return Err(format!(
                "The code has {} bytes, the limit is {}; nothing was run. Split it.",
                code.len(),
                limits::CODE_BYTES
            ));
        }
        let description = call.input.get("description").and_then(Value::as_str).unwrap_or("Running code");
        Ok(Self { code: code.to_owned(), description: description.to_owned() })
    }
}

/// What became of one displayed thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kept {
    /// It is text.
    Text(String),
    /// It was saved as a chart.
    Chart { mime: &'static str, name: String },
    /// It was a chart, and was not saved.
    Skipped { mime: &'static str, why: String },
}

/// A cell as text for the model.
pub(crate) fn render(cell: &Cell, kept: &[Kept]) -> String {
    let mut parts = Vec::new();
    if !cell.stdout.is_empty() {
        parts.push(format!("stdout:\n{}", cut_middle(cell.stdout.trim_end(), limits::STDOUT_BYTES)));
    }
    if !cell.stderr.is_empty() {
        parts.push(format!(
            "stderr:\n{}",
            cut_middle(without_colours(&cell.stderr).trim_end(), limits::STDERR_BYTES)
        ));
    }
    let texts: Vec<_> = kept.iter().filter_map(Kept::text).collect();
    if !texts.is_empty() {
        parts.push(format!("result:\n{}", cut_middle(&texts.join("\n"), limits::RESULT_BYTES)));
    }
    parts.extend(kept.iter().filter_map(Kept::note));
    if let Some(error) = &cell.error {
        let traceback = without_colours(&error.traceback);
        let traceback = cut_middle(traceback.trim_end(), limits::TRACEBACK_BYTES);
        parts.push(format!("error: {}: {}\n{traceback}", error.name, error.value).trim_end().to_owned());
    }
    if parts.is_empty() { "[no output]".to_owned() } else { parts.join("\n") }
}

impl Kept {
    fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    fn note(&self) -> Option<String> {
        match self {
            Self::Text(_) => None,
            Self::Chart { mime, name } => Some(format!("[{mime} saved as {name}]")),
            Self::Skipped { mime, why } => Some(format!("[{mime} not saved: {why}]")),
        }
    }
}

/// The chart in a displayed thing: its type, the ending of its file, its content as it was sent.
pub(crate) fn chart_of(shown: &Shown) -> Option<(&'static str, &'static str, &str)> {
    const TYPES: [(&str, &str); 5] = [
        ("image/png", "png"),
        ("image/svg+xml", "svg"),
        ("image/jpeg", "jpeg"),
        ("application/pdf", "pdf"),
        ("text/html", "html"),
    ];
    TYPES.into_iter().find_map(|(mime, ending)| {
        let content = shown.0.get(mime)?;
        // A table is HTML too; only what draws itself, as plotly's figures do, is a chart.
        let is_chart = mime != "text/html" || content.contains("<script");
        is_chart.then_some((mime, ending, content.as_str()))
    })
}

/// The text in a displayed thing that is no chart.
pub(crate) fn text_of(shown: &Shown) -> String {
    ["text/plain", "text/markdown", "text/latex", "application/json", "text/html"]
        .into_iter()
        .find_map(|mime| shown.0.get(mime))
        .cloned()
        .unwrap_or_else(|| format!("[{}]", shown.0.keys().cloned().collect::<Vec<_>>().join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workbench::CellError;

    fn shown(pairs: &[(&str, &str)]) -> Shown {
        Shown(pairs.iter().map(|(mime, content)| ((*mime).to_owned(), (*content).to_owned())).collect())
    }

    #[test]
    fn the_model_reads_output_results_charts_and_errors() {
        let cell = Cell {
            stdout: "42\n".into(),
            stderr: "warning\n".into(),
            results: Vec::new(),
            error: Some(CellError {
                name: "KeyError".into(),
                value: "'amount'".into(),
                traceback: "\u{1b}[31mTraceback\u{1b}[0m\nKeyError: 'amount'".into(),
            }),
        };
        let kept = [
            Kept::Text("3 rows".into()),
            Kept::Chart { mime: "image/png", name: "charts/chart-1.png".into() },
            Kept::Skipped { mime: "image/png", why: "64 charts are the limit".into() },
        ];
        let expected = "stdout:\n42\nstderr:\nwarning\nresult:\n3 rows\n[image/png saved as charts/chart-1.png]\n\
            [image/png not saved: 64 charts are the limit]\n\
            error: KeyError: 'amount'\nTraceback\nKeyError: 'amount'";
        assert_eq!(render(&cell, &kept), expected);
        assert_eq!(render(&Cell::default(), &[]), "[no output]");
    }

    #[test]
    fn long_output_is_cut_and_says_so() {
        let cell = Cell { stdout: "x".repeat(1 << 20), ..Cell::default() };
        let text = render(&cell, &[]);
        assert!(text.len() < limits::STDOUT_BYTES + 200);
        assert!(text.contains("[truncated: "));
    }

    #[test]
    fn a_table_is_text_and_a_figure_is_a_chart() {
        let table = shown(&[("text/html", "<table>"), ("text/plain", "a b")]);
        assert_eq!((chart_of(&table), text_of(&table)), (None, "a b".to_owned()));
        let figure = shown(&[("text/html", "<div><script>"), ("text/plain", "Figure")]);
        assert_eq!(chart_of(&figure), Some(("text/html", "html", "<div><script>")));
        let both = shown(&[("image/svg+xml", "<svg>"), ("image/png", "aGk=")]);
        assert_eq!(chart_of(&both), Some(("image/png", "png", "aGk=")));
        assert_eq!(text_of(&shown(&[("application/x", "")])), "[application/x]");
    }

    #[test]
    fn what_is_wrong_with_a_call_is_said_to_the_model() {
        let read =
            |name: &str, arguments: &str| Task::read(&ToolCall::parse("a".into(), name.into(), arguments));
        assert!(read("shell", "{}").unwrap_err().contains("no tool `shell`"));
        assert!(read(NAME, "{\"code\": \"pr").unwrap_err().contains("not valid JSON"));
        assert!(read(NAME, "[1]").unwrap_err().contains("expected an object"));
        assert!(read(NAME, "{\"code\": 1}").unwrap_err().contains("`code` is missing"));
        let task = Task { code: "1".into(), description: "Running code".into() };
        assert_eq!(read(NAME, "{\"code\": \"1\"}"), Ok(task));
    }
}
