//! Headers that say what a file is: its type by its name, its own name, its time.

use http::HeaderValue;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use time::OffsetDateTime;

/// Types of the files that agents' code reads and writes most; anything else is bytes.
const TYPES: &[(&str, &str)] = &[
    ("css", "text/css; charset=utf-8"),
    ("csv", "text/csv; charset=utf-8"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("gif", "image/gif"),
    ("gz", "application/gzip"),
    ("htm", "text/html; charset=utf-8"),
    ("html", "text/html; charset=utf-8"),
    ("ipynb", "application/json"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript; charset=utf-8"),
    ("json", "application/json"),
    ("log", "text/plain; charset=utf-8"),
    ("md", "text/markdown; charset=utf-8"),
    ("mjs", "text/javascript; charset=utf-8"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("parquet", "application/vnd.apache.parquet"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("py", "text/x-python; charset=utf-8"),
    ("sh", "text/x-shellscript; charset=utf-8"),
    ("svg", "image/svg+xml"),
    ("tar", "application/x-tar"),
    ("tsv", "text/tab-separated-values; charset=utf-8"),
    ("txt", "text/plain; charset=utf-8"),
    ("wasm", "application/wasm"),
    ("wav", "audio/wav"),
    ("webm", "video/webm"),
    ("webp", "image/webp"),
    ("woff2", "font/woff2"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("xml", "text/xml; charset=utf-8"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("zip", "application/zip"),
];

/// Types that gzip makes no smaller.
const COMPRESSED: &[&str] = &[
    "docx", "gif", "gz", "jpeg", "jpg", "mp3", "mp4", "parquet", "pdf", "png", "pptx", "webm", "webp",
    "woff2", "xlsx", "zip",
];

/// What RFC 8187 lets stand unescaped in a parameter.
const UNESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'!')
    .remove(b'#')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b'-')
    .remove(b'.')
    .remove(b'^')
    .remove(b'_')
    .remove(b'`')
    .remove(b'|')
    .remove(b'~');

fn extension(name: &str) -> String {
    name.rsplit_once('.').map_or("", |(_, extension)| extension).to_ascii_lowercase()
}

/// The type, guessed from the name.
pub(super) fn content_type(name: &str) -> &'static str {
    let extension = extension(name);
    TYPES
        .binary_search_by(|(known, _)| (*known).cmp(extension.as_str()))
        .ok()
        .and_then(|at| TYPES.get(at))
        .map_or("application/octet-stream", |(_, kind)| *kind)
}

/// Whether compressing a file of that name may help.
pub(super) fn compresses(name: &str) -> bool {
    COMPRESSED.binary_search(&extension(name).as_str()).is_err()
}

/// `inline`, with the name as it is (RFC 8187) and, for old clients, as ASCII.
pub(super) fn disposition(name: &str) -> HeaderValue {
    let ascii: String = name
        .chars()
        .map(|c| if c == '"' || c == '\\' || !(' '..='~').contains(&c) { '_' } else { c })
        .collect();
    let mut value = format!("inline; filename=\"{ascii}\"");
    if ascii != name {
        value.push_str(&format!("; filename*=UTF-8''{}", utf8_percent_encode(name, UNESCAPED)));
    }
    HeaderValue::from_str(&value).expect("printable ASCII is a header value")
}

/// As HTTP writes times; `None` for a year that it cannot write.
pub(super) fn http_date(seconds: i64) -> Option<HeaderValue> {
    const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let moment = OffsetDateTime::from_unix_timestamp(seconds).ok()?;
    let day = DAYS.get(usize::from(moment.weekday().number_days_from_monday()))?;
    let month = MONTHS.get(usize::from(u8::from(moment.month())) - 1)?;
    let (hour, minute, second) = moment.to_hms();
    let year = u16::try_from(moment.year()).ok()?;
    let text = format!("{day}, {:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT", moment.day());
    HeaderValue::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_sorted() {
        assert!(TYPES.is_sorted_by_key(|(extension, _)| *extension));
        assert!(COMPRESSED.is_sorted());
    }

    #[test]
    fn names_and_times_are_written_as_http_wants() {
        assert_eq!(content_type("a.CSV"), "text/csv; charset=utf-8");
        assert_eq!(content_type("Makefile"), "application/octet-stream");
        assert_eq!(disposition("a b.txt"), "inline; filename=\"a b.txt\"");
        assert_eq!(disposition("é\"\n"), "inline; filename=\"___\"; filename*=UTF-8''%C3%A9%22%0A");
        assert_eq!(http_date(784_111_777).unwrap(), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(http_date(i64::MAX), None);
    }
}
