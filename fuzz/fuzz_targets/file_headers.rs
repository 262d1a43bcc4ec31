//! Headers of `/files`: the range, the encodings, the metadata. A size, then a header a line.
#![no_main]

use axum::http::{HeaderMap, header as names};
use hood_fuzz::{first_line, header};
use hood_guest::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let (size, rest) = first_line(data);
    let size = std::str::from_utf8(size).ok().and_then(|size| size.parse().ok()).unwrap_or(u64::MAX);
    let headers: HeaderMap = rest.split(|byte| *byte == b'\n').filter_map(header).collect();
    let range = headers.get(names::RANGE).and_then(|value| value.to_str().ok());
    if let Some((start, length)) = range.and_then(|value| fuzz::range(value, size)) {
        assert!(length > 0 && start.checked_add(length).is_some_and(|end| end <= size), "{start} {length}");
    }
    fuzz::encodings(&headers);
    if let Some(metadata) = fuzz::metadata(&headers) {
        assert!(
            metadata
                .iter()
                .all(|(key, value)| !key.is_empty() && value.bytes().all(|b| (b' '..=b'~').contains(&b)))
        );
    }
});
