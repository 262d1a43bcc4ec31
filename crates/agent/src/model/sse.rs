//! Server-sent events, as far as both providers use them: `event` and `data` lines, blank line ends an event.
//! Written after the WHATWG HTML standard, section "Interpreting an event stream".

use crate::limits::EVENT_BYTES;

/// One event of the stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// Its name; empty when none was given.
    pub(crate) name: String,
    /// Its data lines, joined by line feeds.
    pub(crate) data: String,
}

/// Turns bytes, split anywhere, into events.
#[derive(Debug, Default)]
pub(crate) struct SseParser {
    line: Vec<u8>,
    event: SseEvent,
    has_data: bool,
    /// The last byte was a carriage return: a line feed that follows belongs to it, even in the next chunk.
    after_return: bool,
    begun: bool,
}

/// An event or a line is longer than [`EVENT_BYTES`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

impl SseParser {
    /// Takes the next bytes and hands out the events that they complete. What stands after the last blank line
    /// when the stream ends is no event.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, TooLong> {
        let mut events = Vec::new();
        for &byte in bytes {
            let is_second_half = byte == b'\n' && self.after_return;
            self.after_return = byte == b'\r';
            match byte {
                b'\n' if is_second_half => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                _ if self.line.len() >= EVENT_BYTES => return Err(TooLong),
                _ => self.line.push(byte),
            }
        }
        if self.event.data.len() > EVENT_BYTES { Err(TooLong) } else { Ok(events) }
    }

    fn end_line(&mut self) -> Option<SseEvent> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let line = if self.begun { &*line } else { line.strip_prefix('\u{feff}').unwrap_or(&line) };
        self.begun = true;
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return std::mem::take(&mut self.has_data).then_some(event);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
                self.has_data = true;
            }
            "event" => value.clone_into(&mut self.event.name),
            // Comments have an empty field name; `id` and `retry` mean nothing to a stream that is not resumed.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(stream: &str, expected: &[(&str, &str)]) {
        let expected: Vec<_> = expected
            .iter()
            .map(|(name, data)| SseEvent { name: (*name).into(), data: (*data).into() })
            .collect();
        for size in 1..=stream.len() {
            let mut parser = SseParser::default();
            let chunks = stream.as_bytes().chunks(size);
            let events: Vec<_> = chunks.flat_map(|chunk| parser.push(chunk).unwrap()).collect();
            assert_eq!(events, expected, "in chunks of {size}");
        }
    }

    #[test]
    fn events_are_the_same_however_the_bytes_are_split() {
        check("data: {\"a\":1}\n\ndata: [DONE]\n\n", &[("", "{\"a\":1}"), ("", "[DONE]")]);
        check("event: ping\ndata: {}\n\n", &[("ping", "{}")]);
        check("data: при😀вет\n\n", &[("", "при😀вет")]);
    }

    #[test]
    fn all_three_line_ends_count() {
        check("data: a\r\n\r\ndata: b\r\rdata: c\n\n", &[("", "a"), ("", "b"), ("", "c")]);
        check("data: a\r\ndata: b\r\n\r\n", &[("", "a\nb")]);
    }

    #[test]
    fn comments_and_unknown_fields_are_passed_over() {
        check(": keep-alive\n\nid: 7\nretry: 10\ndata: x\n\n", &[("", "x")]);
    }

    #[test]
    fn one_space_after_the_colon_is_taken_and_no_more() {
        check("data:x\n\ndata:  y\n\ndata\n\n", &[("", "x"), ("", " y"), ("", "")]);
    }

    #[test]
    fn an_event_without_its_blank_line_is_none() {
        check("\u{feff}data: a\n\ndata: b\n", &[("", "a")]);
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let mut parser = SseParser::default();
        let chunk = vec![b'x'; EVENT_BYTES + 1];
        assert_eq!(parser.push(&chunk), Err(TooLong));
    }

    #[test]
    fn data_lines_without_end_are_refused() {
        let mut parser = SseParser::default();
        let chunk = format!("data: {}\n", "x".repeat(EVENT_BYTES / 4)).into_bytes();
        assert!((0..6).any(|_| parser.push(&chunk).is_err()));
    }
}
