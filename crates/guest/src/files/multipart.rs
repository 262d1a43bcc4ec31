//! `multipart/form-data`, as it streams by.
//!
//! Written here rather than taken from a library for two promises: memory stays bounded whatever arrives, and file
//! names arrive exactly, since they are paths.

use bytes::{Bytes, BytesMut};
use memchr::memmem::Finder;
use percent_encoding::percent_decode_str;

use super::error::FilesError;
use super::upload::Incoming;
use crate::limits::{MAX_BOUNDARY, MAX_PART_HEAD};

/// The body is not what its content type says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum MultipartError {
    #[error("the Content-Type of a multipart body names its boundary, of at most {MAX_BOUNDARY} characters")]
    Boundary,
    #[error("the multipart body ends before its last boundary")]
    Truncated,
    #[error("a part of the multipart body has more than {MAX_PART_HEAD} bytes of headers")]
    LongHead,
    #[error("a part of the multipart body has no readable Content-Disposition")]
    Disposition,
    #[error("a part named `file` has no file name, and the query has no `path`")]
    NoFileName,
    #[error("the multipart body has no part named `file`")]
    NoFile,
    #[error("the multipart body has more than {0} files: send several requests")]
    TooMany(usize),
}

/// What a part says of itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) name: String,
    pub(super) filename: Option<String>,
}

/// The parts of a body, one after the other.
pub(super) struct Parts<'a> {
    body: &'a mut Incoming,
    buffer: BytesMut,
    delimiter: Finder<'static>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Before,
    InPart,
    /// The delimiter is read, what follows it is not.
    Between,
    AtHead,
    After,
}

impl<'a> Parts<'a> {
    pub(super) fn new(body: &'a mut Incoming, content_type: &str) -> Result<Self, MultipartError> {
        let boundary = boundary(content_type).ok_or(MultipartError::Boundary)?;
        let delimiter = Finder::new(&format!("\r\n--{boundary}")).into_owned();
        // The first delimiter begins the body, without the line break that the others have.
        Ok(Self { body, buffer: BytesMut::from("\r\n"), delimiter, state: State::Before })
    }

    /// The next part, after whatever is left of this one.
    pub(super) async fn next(&mut self) -> Result<Option<Head>, FilesError> {
        while self.state == State::InPart {
            self.chunk().await?;
        }
        if self.state == State::Before {
            self.skip_preamble().await?;
        }
        if self.state == State::Between {
            self.look_on().await?;
        }
        if self.state == State::After {
            return Ok(None);
        }
        loop {
            if let Some(end) = memchr::memmem::find(&self.buffer, b"\r\n\r\n") {
                if end > MAX_PART_HEAD {
                    return Err(MultipartError::LongHead.into());
                }
                let head = self.buffer.split_to(end + 4);
                self.state = State::InPart;
                return Ok(Some(parse_head(&head)?));
            }
            if self.buffer.len() > MAX_PART_HEAD {
                return Err(MultipartError::LongHead.into());
            }
            self.fill().await?;
        }
    }

    /// The next bytes of this part; `None` at its end.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, FilesError> {
        loop {
            match self.state {
                State::InPart => {}
                State::Between => {
                    self.look_on().await?;
                    return Ok(None);
                }
                State::Before | State::AtHead | State::After => return Ok(None),
            }
            if let Some(at) = self.delimiter.find(&self.buffer) {
                let bytes = self.buffer.split_to(at).freeze();
                drop(self.buffer.split_to(self.delimiter.needle().len()));
                self.state = State::Between;
                if bytes.is_empty() {
                    continue;
                }
                return Ok(Some(bytes));
            }
            // The tail may be the beginning of a delimiter.
            let safe = self.buffer.len().saturating_sub(self.delimiter.needle().len() - 1);
            if safe > 0 {
                return Ok(Some(self.buffer.split_to(safe).freeze()));
            }
            self.fill().await?;
        }
    }

    /// Past a delimiter: another part, or the end. What follows the end means nothing, but only the body's own end shows
    /// whether it is whole, as gzip's checksum stands there; so the last part is not over before.
    async fn look_on(&mut self) -> Result<(), FilesError> {
        while self.buffer.len() < 2 {
            self.fill().await?;
        }
        if !self.buffer.starts_with(b"--") {
            self.state = State::AtHead;
            return Ok(());
        }
        while self.body.next().await?.is_some() {}
        self.state = State::After;
        Ok(())
    }

    async fn skip_preamble(&mut self) -> Result<(), FilesError> {
        loop {
            if let Some(at) = self.delimiter.find(&self.buffer) {
                drop(self.buffer.split_to(at + self.delimiter.needle().len()));
                self.state = State::Between;
                return Ok(());
            }
            if self.buffer.len() > MAX_PART_HEAD {
                return Err(MultipartError::Truncated.into());
            }
            self.fill().await?;
        }
    }

    async fn fill(&mut self) -> Result<(), FilesError> {
        let bytes = self.body.next().await?.ok_or(MultipartError::Truncated)?;
        self.buffer.extend_from_slice(&bytes);
        Ok(())
    }
}

fn boundary(content_type: &str) -> Option<String> {
    let boundary = parameters(content_type).find(|(key, _)| key == "boundary")?.1;
    let usual = |c: char| (' '..='~').contains(&c);
    (!boundary.is_empty() && boundary.len() <= MAX_BOUNDARY && boundary.chars().all(usual))
        .then_some(boundary)
}

fn parse_head(head: &[u8]) -> Result<Head, MultipartError> {
    let text = std::str::from_utf8(head).map_err(|_| MultipartError::Disposition)?;
    let value = text
        .split("\r\n")
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("content-disposition"))
        .ok_or(MultipartError::Disposition)?
        .1;
    let mut head = Head::default();
    let mut extended = None;
    for (key, value) in parameters(value) {
        match key.as_str() {
            "name" => head.name = value,
            "filename" => head.filename = Some(unescape_html(&value)),
            "filename*" => extended = rfc_8187(&value),
            _ => {}
        }
    }
    head.filename = extended.or(head.filename);
    Ok(head)
}

/// The parameters after a header's first word, keys in lower case, quotes taken off.
fn parameters(value: &str) -> impl Iterator<Item = (String, String)> + '_ {
    let mut rest = value.split_once(';').map_or("", |(_, rest)| rest);
    std::iter::from_fn(move || {
        let (key, after) = rest.split_once('=')?;
        let key = key.trim_start_matches([';', ' ', '\t']).trim().to_ascii_lowercase();
        let value;
        (value, rest) = if let Some(quoted) = after.trim_start().strip_prefix('"') {
            quoted_string(quoted)
        } else {
            let (token, rest) = after.split_once(';').unwrap_or((after, ""));
            (token.trim().to_owned(), rest)
        };
        Some((key, value))
    })
}

/// Up to the closing quote. A backslash escapes a quote or a backslash; before anything else it stands for itself, as
/// browsers send it.
fn quoted_string(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (value, text.get(at + 1..).unwrap_or_default()),
            '\\' => match chars.next_if(|(_, next)| matches!(next, '"' | '\\')) {
                Some((_, escaped)) => value.push(escaped),
                None => value.push('\\'),
            },
            c => value.push(c),
        }
    }
    (value, "")
}

/// The three escapes of HTML's multipart encoding, which every client in use writes; other percent signs are part of
/// the name.
fn unescape_html(name: &str) -> String {
    let mut name = name.replace("%22", "\"");
    for (escape, c) in [("%0A", "\n"), ("%0a", "\n"), ("%0D", "\r"), ("%0d", "\r")] {
        name = name.replace(escape, c);
    }
    name
}

fn rfc_8187(value: &str) -> Option<String> {
    let (charset, rest) = value.split_once('\'')?;
    let (_, encoded) = rest.split_once('\'')?;
    charset
        .eq_ignore_ascii_case("utf-8")
        .then(|| percent_decode_str(encoded).decode_utf8().ok())
        .flatten()
        .map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(disposition: &str, filename: &str) {
        let head =
            format!("\r\nContent-Disposition: form-data; name=\"file\"; {disposition}\r\nX: y\r\n\r\n");
        let expected = Head { name: "file".into(), filename: Some(filename.into()) };
        assert_eq!(parse_head(head.as_bytes()), Ok(expected), "{disposition}");
    }

    #[test]
    fn file_names_are_exact() {
        check("filename=\"a/b c.txt\"", "a/b c.txt");
        check("filename=plain.txt", "plain.txt");
        check("filename=\"é😀;x=y\"", "é😀;x=y");
        check("filename=\"%2e%2e%2f%41\"", "%2e%2e%2f%41");
        check("filename=\"q%22n%0Ar\"", "q\"n\nr");
        check(r#"filename="q\"b\\c\d""#, r#"q"b\c\d"#);
        check("filename=\"x\"; filename*=UTF-8''na%C3%AFve%20f", "naïve f");
        check("filename=\"-rf\"", "-rf");
    }

    #[test]
    fn a_boundary_is_found_or_refused() {
        assert_eq!(boundary("multipart/form-data; boundary=abc").as_deref(), Some("abc"));
        assert_eq!(boundary("multipart/form-data; charset=x; Boundary=\"a b\"").as_deref(), Some("a b"));
        assert_eq!(boundary("multipart/form-data"), None);
        assert_eq!(boundary(&format!("multipart/form-data; boundary={}", "x".repeat(71))), None);
    }
}
