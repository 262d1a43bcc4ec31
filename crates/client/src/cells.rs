//! One cell of a context, as it runs.

use std::collections::BTreeMap;

use reqwest::{Method, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::client::{next, not_understood};
use crate::error::ClientError;
use crate::frames::Lines;
use crate::sandbox::{CODE_PORT, Sandbox};

const DOING: &str = "run the code";

/// The fields of a result that stand for a MIME type; all others come under their own name in `extra`.
const FIELDS: [(&str, &str); 12] = [
    ("text", "text/plain"),
    ("html", "text/html"),
    ("markdown", "text/markdown"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("jpeg", "image/jpeg"),
    ("pdf", "application/pdf"),
    ("latex", "text/latex"),
    ("json", "application/json"),
    ("javascript", "application/javascript"),
    ("data", "e2b/data"),
    ("chart", "e2b/chart"),
];

/// Something that a running cell did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CellEvent {
    /// A piece of standard output.
    Stdout(String),
    /// A piece of standard error.
    Stderr(String),
    /// Something was displayed: the same content in each MIME type that it offers, binary ones in base64.
    Result(BTreeMap<String, String>),
    /// The exception that ended it, or how its kernel died.
    Error {
        /// Such as `KeyError`.
        name: String,
        /// What it says.
        value: String,
        /// As text.
        traceback: String,
    },
}

/// A running cell. Dropping it interrupts the cell.
#[derive(Debug)]
pub struct Cells {
    sandbox: Sandbox,
    response: Response,
    lines: Lines,
    ended: bool,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    Stdout {
        text: String,
    },
    Stderr {
        text: String,
    },
    Result {
        #[serde(flatten)]
        fields: Map<String, Value>,
    },
    Error {
        name: String,
        value: String,
        #[serde(default)]
        traceback: String,
    },
    EndOfExecution,
    #[serde(other)]
    Other,
}

// === impl Sandbox ===

impl Sandbox {
    /// Runs code in the default context of a language.
    pub async fn execute(&self, code: &str, language: &str) -> Result<Cells, ClientError> {
        let request = self
            .request(CODE_PORT, Method::POST, &["execute"])
            .json(&json!({ "code": code, "language": language }));
        let response = self.client.send(DOING, request).await?;
        Ok(Cells { sandbox: self.clone(), response, lines: Lines::default(), ended: false })
    }
}

// === impl Cells ===

impl Cells {
    /// The next event; `None` when the cell has ended.
    pub async fn next(&mut self) -> Result<Option<CellEvent>, ClientError> {
        while !self.ended {
            let Some(line) = self.lines.next().map_err(|error| not_understood(DOING, error))? else {
                self.receive().await?;
                continue;
            };
            let line: Line = serde_json::from_slice(&line).map_err(|error| not_understood(DOING, error))?;
            match line {
                Line::Stdout { text } => return Ok(Some(CellEvent::Stdout(text))),
                Line::Stderr { text } => return Ok(Some(CellEvent::Stderr(text))),
                Line::Result { fields } => return Ok(Some(CellEvent::Result(mime_types(fields)))),
                Line::Error { name, value, traceback } => {
                    return Ok(Some(CellEvent::Error { name, value, traceback }));
                }
                Line::EndOfExecution => self.ended = true,
                Line::Other => {}
            }
        }
        Ok(None)
    }

    async fn receive(&mut self) -> Result<(), ClientError> {
        let error = match next(DOING, &mut self.response).await {
            Ok(Some(bytes)) => {
                self.lines.push(&bytes);
                return Ok(());
            }
            Ok(None) => ClientError::Broken { doing: DOING, source: None },
            Err(error) => error,
        };
        Err(self.sandbox.explain(error).await)
    }
}

fn mime_types(mut fields: Map<String, Value>) -> BTreeMap<String, String> {
    let mut shown = BTreeMap::new();
    for (field, mime) in FIELDS {
        if let Some(value) = fields.remove(field).filter(|value| !value.is_null()) {
            shown.insert(mime.to_owned(), text(value));
        }
    }
    if let Some(Value::Object(extra)) = fields.remove("extra") {
        shown.extend(extra.into_iter().map(|(mime, value)| (mime, text(value))));
    }
    shown
}

fn text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_back_as_mime_types() {
        let Value::Object(fields) = json!({
            "text": "7", "png": "iVBO", "json": {"a": 1}, "html": null, "is_main_result": true,
            "extra": {"text/x-odd": "odd"}
        }) else {
            panic!("an object")
        };
        let shown: Vec<_> = mime_types(fields).into_iter().collect();
        let expected = [
            ("application/json", r#"{"a":1}"#),
            ("image/png", "iVBO"),
            ("text/plain", "7"),
            ("text/x-odd", "odd"),
        ];
        assert_eq!(shown, expected.map(|(mime, text)| (mime.to_owned(), text.to_owned())));
    }

    #[test]
    fn unknown_lines_are_passed_over() {
        let line: Line = serde_json::from_str(r#"{"type":"keepalive"}"#).unwrap();
        assert!(matches!(line, Line::Other));
    }
}
