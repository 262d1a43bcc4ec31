//! How the targets take their input apart. Seeds are written by hand, so parameters stand in front, and texts in lines.
#![forbid(unsafe_code)]

/// The first byte, a parameter, and the rest.
pub fn parameter(data: &[u8]) -> Option<(u8, &[u8])> {
    data.split_first().map(|(first, rest)| (*first, rest))
}

/// The same bytes in the pieces in which a stream may bring them; their size depends on `parameter`.
pub fn pieces(data: &[u8], parameter: u8) -> impl Iterator<Item = &[u8]> {
    data.chunks(1 + usize::from(parameter))
}

/// The first line and what follows it.
pub fn first_line(data: &[u8]) -> (&[u8], &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    (&data[..end], data.get(end + 1..).unwrap_or_default())
}

/// The first `N` lines and what follows them, if all of it is text.
pub fn lines<const N: usize>(data: &[u8]) -> Option<([&str; N], &str)> {
    let mut rest = std::str::from_utf8(data).ok()?;
    let lines = [(); N].map(|()| {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        rest = after;
        line
    });
    Some((lines, rest))
}

/// A header's name and value from a line `name: value`.
pub fn header(line: &[u8]) -> Option<(axum::http::HeaderName, axum::http::HeaderValue)> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let value = line.get(colon + 1..)?.trim_ascii();
    Some((line[..colon].try_into().ok()?, axum::http::HeaderValue::from_bytes(value).ok()?))
}

/// Whether it is absolute, and means the same whoever reads it: no `.`, no `..`, no empty part, no NUL.
pub fn is_clean(path: &str) -> bool {
    let is_name = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
    path == "/" || path.strip_prefix('/').is_some_and(|names| names.split('/').all(is_name))
}
