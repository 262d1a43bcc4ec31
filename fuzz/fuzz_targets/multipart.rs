//! An upload's body: the same parts wherever the stream is cut, gzip or not.
#![no_main]

use hood_fuzz::{first_line, parameter, pieces};
use hood_guest::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((cut, rest)) = parameter(data) else { return };
    let (content_type, body) = first_line(rest);
    let Ok(content_type) = std::str::from_utf8(content_type) else { return };
    let whole = fuzz::multipart(content_type, None, [body]);
    if let Ok(files) = &whole {
        let content: usize = files.iter().map(|file| file.content.len()).sum();
        assert!(content <= body.len());
    }
    assert_eq!(fuzz::multipart(content_type, None, pieces(body, cut)), whole);
    // Of several things that are wrong with it, the cut decides which is seen first.
    let unpacked = fuzz::multipart(content_type, Some("gzip"), [body]).ok();
    assert_eq!(fuzz::multipart(content_type, Some("gzip"), pieces(body, cut)).ok(), unpacked);
});
