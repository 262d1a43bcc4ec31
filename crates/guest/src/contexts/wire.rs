//! The lines of an `/execute` answer (reference `e2b.md` 4.1).

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// MIME types that have a field of their own; all others go to `extra`.
const FIELDS: [(&str, &str); 12] = [
    ("text/plain", "text"),
    ("text/html", "html"),
    ("text/markdown", "markdown"),
    ("image/svg+xml", "svg"),
    ("image/png", "png"),
    ("image/jpeg", "jpeg"),
    ("application/pdf", "pdf"),
    ("text/latex", "latex"),
    ("application/json", "json"),
    ("application/javascript", "javascript"),
    ("e2b/data", "data"),
    ("e2b/chart", "chart"),
];

/// One line, before it is bytes.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Line {
    NumberOfExecutions {
        execution_count: u64,
    },
    Stdout {
        text: String,
        timestamp: String,
    },
    Stderr {
        text: String,
        timestamp: String,
    },
    Result {
        #[serde(flatten)]
        fields: Map<String, Value>,
        extra: Map<String, Value>,
        is_main_result: bool,
    },
    Error(CellError),
    /// Ours: the cell waits for an answer from whoever asked for `"requests": "wait"`.
    Request {
        id: String,
        #[serde(flatten)]
        request: Request,
    },
    Keepalive,
    EndOfExecution,
}

/// Why a cell failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct CellError {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) traceback: String,
}

/// What a cell asks of the outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Request {
    #[serde(rename = "request")]
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) prompt: String,
    pub(crate) password: bool,
}

impl CellError {
    /// Of the guest's own, which has no traceback.
    pub(crate) fn new(name: &str, value: String) -> Self {
        Self { name: name.to_owned(), value, traceback: String::new() }
    }
}

impl Line {
    /// The line with its newline.
    pub(crate) fn encode(&self) -> Bytes {
        let mut line = serde_json::to_vec(self).expect("lines hold only strings, numbers and JSON values");
        line.push(b'\n');
        line.into()
    }
}

/// A result's MIME bundle, sorted into fields. Members that are null are as good as absent.
pub(crate) fn result(data: Map<String, Value>, main: bool) -> Line {
    let mut fields = Map::new();
    let mut extra = Map::new();
    for (mime, value) in data {
        if value.is_null() {
            continue;
        }
        match FIELDS.iter().find(|(known, _)| *known == mime) {
            Some((_, "text")) => fields.insert("text".to_owned(), unquoted(value)),
            Some((_, field)) => fields.insert((*field).to_owned(), value),
            None => extra.insert(mime, value),
        };
    }
    Line::Result { fields, extra, is_main_result: main }
}

/// `'abc'` is shown as `abc`: E2B's clients compare the text of a string result with the string itself.
fn unquoted(value: Value) -> Value {
    match value {
        Value::String(text) => {
            let inner = ['\'', '"'].iter().find_map(|&q| text.strip_prefix(q)?.strip_suffix(q));
            Value::String(inner.map_or_else(|| text.clone(), str::to_owned))
        }
        other => other,
    }
}

/// Now, as clients parse it.
pub(crate) fn timestamp() -> String {
    OffsetDateTime::now_utc().format(&Rfc3339).expect("the year has four digits")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(data: Value, expected: Value) {
        let Value::Object(data) = data else { panic!("an object") };
        let line = result(data, true).encode();
        assert_eq!(serde_json::from_slice::<Value>(&line).expect("JSON"), expected);
    }

    #[test]
    fn mime_types_become_fields_and_the_rest_is_extra() {
        check(
            json!({"text/plain": "'abc'", "image/png": "iVBO", "e2b/data": {"a": [1]}, "text/x-odd": 7}),
            json!({"type": "result", "text": "abc", "png": "iVBO", "data": {"a": [1]},
                   "extra": {"text/x-odd": 7}, "is_main_result": true}),
        );
    }

    #[test]
    fn nulls_are_left_out_and_only_matching_quotes_go() {
        check(
            json!({"text/plain": "'abc\"", "text/html": null}),
            json!({"type": "result", "text": "'abc\"", "extra": {}, "is_main_result": true}),
        );
        check(
            json!({"text/plain": "'"}),
            json!({"type": "result", "text": "'", "extra": {}, "is_main_result": true}),
        );
    }

    #[test]
    fn plain_lines_are_as_clients_expect() {
        assert_eq!(Line::EndOfExecution.encode(), "{\"type\":\"end_of_execution\"}\n");
        assert_eq!(
            Line::NumberOfExecutions { execution_count: 3 }.encode(),
            "{\"type\":\"number_of_executions\",\"execution_count\":3}\n"
        );
    }
}
