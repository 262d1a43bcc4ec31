//! Times as clients read and write them.

use hood_engine::Record;
use serde::{Serialize, Serializer};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A time as RFC 3339 with whole microseconds: Python keeps no more, and sends it back as a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct When(pub(crate) OffsetDateTime);

impl Serialize for When {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let micros = self.0.microsecond();
        let time = self.0.replace_microsecond(micros).map_err(serde::ser::Error::custom)?;
        serializer.serialize_str(&time.format(&Rfc3339).map_err(serde::ser::Error::custom)?)
    }
}

/// Parses RFC 3339. A `+` that a client forgot to encode arrives as a space.
pub(crate) fn parse_time(text: &str) -> Option<OffsetDateTime> {
    OffsetDateTime::parse(&text.replace(' ', "+"), &Rfc3339).ok()
}

/// When a sandbox started and when it will end.
pub(crate) fn span(record: &Record) -> (When, When) {
    (When(record.started_at), When(record.deadline))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_are_cut_and_the_text_is_stable() {
        let time = parse_time("2026-08-21T10:00:00.123456789Z").expect("a time");
        assert_eq!(serde_json::to_string(&When(time)).expect("JSON"), r#""2026-08-21T10:00:00.123456Z""#);
        assert_eq!(parse_time("2026-08-21T10:00:00 00:00"), parse_time("2026-08-21T10:00:00Z"));
        assert_eq!(parse_time("yesterday"), None);
    }
}
