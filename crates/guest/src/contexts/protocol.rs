//! What guest and kernel say to each other on the kernel's descriptor 3: one JSON object a line.

use std::collections::BTreeMap;

use bytes::{Buf, Bytes, BytesMut};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Longest line of a kernel in bytes: a 64 MiB display with the words around it.
pub(crate) const MAX_FRAME: usize = (64 << 20) + (64 << 10);

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
    Ready {},
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
            Self::Ready {} | Self::Fault { .. } => None,
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

/// A line that is no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadFrame {
    #[error("a message of the kernel was dropped: it is longer than {} MiB", MAX_FRAME >> 20)]
    TooLong,
    /// What asks for an acknowledgement gets it, whatever else is wrong: its kernel waits.
    #[error("a message of the kernel was dropped: it is not one of the protocol's")]
    Malformed { ack: Option<u64> },
}

/// Cuts the socket's bytes into messages. Holds at most one that is unfinished.
#[derive(Default)]
pub(crate) struct Frames {
    buffer: BytesMut,
    /// Bytes at the buffer's start that hold no newline.
    scanned: usize,
    /// Inside a line that was too long.
    skipping: bool,
}

impl Frames {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next message or bad line, if it is there.
    pub(crate) fn next(&mut self) -> Option<Result<Message, BadFrame>> {
        loop {
            let Some(end) = self.newline() else {
                if self.buffer.len() <= MAX_FRAME {
                    return None;
                }
                self.buffer = BytesMut::new();
                self.scanned = 0;
                if std::mem::replace(&mut self.skipping, true) {
                    continue;
                }
                return Some(Err(BadFrame::TooLong));
            };
            let line = self.buffer.split_to(end);
            self.buffer.advance(1);
            self.scanned = 0;
            if self.buffer.is_empty() {
                // Gives the memory of a big message back.
                self.buffer = BytesMut::new();
            }
            if std::mem::take(&mut self.skipping) || line.trim_ascii().is_empty() {
                continue;
            }
            return Some(
                serde_json::from_slice(&line).map_err(|_| BadFrame::Malformed { ack: ack_of(&line) }),
            );
        }
    }

    fn newline(&mut self) -> Option<usize> {
        let found = self.buffer.get(self.scanned..)?.iter().position(|&b| b == b'\n');
        match found {
            Some(at) => Some(self.scanned + at),
            None => {
                self.scanned = self.buffer.len();
                None
            }
        }
    }
}

/// Skips all values but one, and so reads what a full parse refuses: a number without end, a nest without bottom.
fn ack_of(line: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    struct Asks {
        ack: u64,
    }
    serde_json::from_slice::<Asks>(line).ok().map(|asks| asks.ack)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(frames: &mut Frames) -> Vec<Result<Message, BadFrame>> {
        std::iter::from_fn(|| frames.next()).collect()
    }

    #[test]
    fn messages_are_found_however_the_bytes_are_cut() {
        let bytes = b"{\"type\":\"ready\",\"language\":\"x\"}\n\n{\"type\":\"done\",\"id\":\"1\",\"status\":\"ok\"}\n";
        for cut in 1..bytes.len() {
            let mut frames = Frames::default();
            let mut found = Vec::new();
            for part in bytes.chunks(cut) {
                frames.push(part);
                found.extend(all(&mut frames));
            }
            let expected = [Ok(Message::Ready {}), Ok(Message::Done { id: "1".to_owned() })];
            assert_eq!(found, expected, "cut at {cut}");
        }
    }

    #[test]
    fn a_bad_line_costs_only_itself() {
        let mut frames = Frames::default();
        frames.push(b"not json\n{\"type\":\"nonsense\"}\n[]\n\xff\n{\"type\":\"ready\"}\n");
        let found = all(&mut frames);
        assert_eq!(found.len(), 5);
        assert!(found[..4].iter().all(|f| *f == Err(BadFrame::Malformed { ack: None })));
        assert_eq!(found[4], Ok(Message::Ready {}));
    }

    #[test]
    fn what_cannot_be_read_is_acknowledged_all_the_same() {
        let mut frames = Frames::default();
        let endless = "9".repeat(400);
        let deep = "[".repeat(1000) + &"]".repeat(1000);
        for data in [endless, deep] {
            frames.push(
                format!("{{\"type\":\"display\",\"id\":\"1\",\"data\":{{\"a\":{data}}},\"ack\":7}}\n")
                    .as_bytes(),
            );
            assert_eq!(all(&mut frames), [Err(BadFrame::Malformed { ack: Some(7) })]);
        }
    }

    #[test]
    fn a_line_without_end_is_dropped_once_and_holds_no_memory() {
        let mut frames = Frames::default();
        let chunk = vec![b'x'; 8 << 20];
        let mut bad = 0;
        for _ in 0..20 {
            frames.push(&chunk);
            bad += all(&mut frames).len();
            assert!(frames.buffer.capacity() <= 2 * (MAX_FRAME + chunk.len()));
        }
        assert_eq!(bad, 1);
        frames.push(b"\n{\"type\":\"ready\"}\n");
        assert_eq!(all(&mut frames), [Ok(Message::Ready {})]);
    }

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
