//! Lines of a kernel's socket to messages.

use bytes::{Buf, BytesMut};
use serde::Deserialize;

use super::protocol::Message;
use crate::limits::MAX_FRAME;

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
        if found.is_none() {
            self.scanned = self.buffer.len();
        }
        found.map(|at| self.scanned + at)
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
            let expected = [Ok(Message::Ready { pid: None }), Ok(Message::Done { id: "1".to_owned() })];
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
        assert_eq!(found[4], Ok(Message::Ready { pid: None }));
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
        assert_eq!(all(&mut frames), [Ok(Message::Ready { pid: None })]);
    }
}
