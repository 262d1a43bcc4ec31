//! What guest and kernel say to each other on the kernel's descriptor 3: one JSON object a line.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// To the kernel. An interrupt is no message but SIGINT to its process group.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Order<'a> {
    Execute {
        id: &'a str,
        code: &'a str,
        env: &'a BTreeMap<String, String>,
    },
    Reply {
        id: &'a str,
        request: &'a str,
        #[serde(flatten)]
        answer: &'a Answer,
    },
    /// The message that asked for it has its place among the lines: what is printed from now on comes after it.
    Ack {
        ack: u64,
    },
}

/// The answer to a cell's request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    Value(Value),
    Error(String),
}

/// From the kernel: hostile, since user code shares its process.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Message {
    Ready {
        /// Its number in the sandbox; forks of the nursery say it, since nobody here has started them.
        #[serde(default)]
        pid: Option<i32>,
    },
    Started {
        id: String,
        execution_count: u64,
    },
    Display {
        id: String,
        data: Map<String, Value>,
        #[serde(default)]
        main: bool,
        /// Changes an earlier display.
        #[serde(default)]
        update: bool,
        /// The kernel waits for [`Order::Ack`] with this number before it prints anything else: messages and output
        /// travel on different descriptors, and nothing but waiting tells whether output is older or newer.
        #[serde(default)]
        ack: Option<u64>,
    },
    Error {
        id: String,
        name: String,
        value: String,
        #[serde(default)]
        traceback: Traceback,
    },
    Request {
        id: String,
        request: String,
        #[serde(default = "input")]
        kind: String,
        #[serde(default)]
        prompt: String,
        #[serde(default)]
        password: bool,
    },
    Clear {
        id: String,
        #[serde(default)]
        ack: Option<u64>,
    },
    Fault {
        message: String,
    },
    Done {
        id: String,
    },
}

/// One text, or the lines that make it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Traceback {
    Text(String),
    Parts(Vec<String>),
}

impl Default for Traceback {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl Traceback {
    pub(crate) fn text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Parts(parts) => parts.concat(),
        }
    }
}

fn input() -> String {
    "input".to_owned()
}

impl Order<'_> {
    /// The line with its newline.
    pub(crate) fn encode(&self) -> Bytes {
        let mut line = serde_json::to_vec(self).expect("orders hold only strings and JSON values");
        line.push(b'\n');
        line.into()
    }
}

impl Message {
    /// The cell it belongs to; `None` when it is about the kernel itself.
    pub(crate) fn cell(&self) -> Option<&str> {
        match self {
            Self::Ready { .. } | Self::Fault { .. } => None,
            Self::Started { id, .. }
            | Self::Display { id, .. }
            | Self::Error { id, .. }
            | Self::Request { id, .. }
            | Self::Clear { id, .. }
            | Self::Done { id } => Some(id),
        }
    }

    /// Nothing that its cell printed can be older.
    pub(crate) fn is_first(&self) -> bool {
        matches!(self, Self::Started { .. })
    }

    /// The acknowledgement that it asks for.
    pub(crate) fn ack(&self) -> Option<u64> {
        match self {
            Self::Display { ack, .. } | Self::Clear { ack, .. } => *ack,
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_lines() {
        let env = BTreeMap::from([("A".to_owned(), "\"\n".to_owned())]);
        let line = Order::Execute { id: "c", code: "1\n2", env: &env }.encode();
        assert_eq!(
            line,
            "{\"type\":\"execute\",\"id\":\"c\",\"code\":\"1\\n2\",\"env\":{\"A\":\"\\\"\\n\"}}\n"
        );
        let reply = Order::Reply { id: "c", request: "r1", answer: &Answer::Error("no".to_owned()) };
        assert_eq!(reply.encode(), "{\"type\":\"reply\",\"id\":\"c\",\"request\":\"r1\",\"error\":\"no\"}\n");
    }
}
