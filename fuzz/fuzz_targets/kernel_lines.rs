//! A kernel's socket: the same messages wherever the bytes are cut, and one line for the client of each.
#![no_main]

use hood_fuzz::{first_line, parameter, pieces};
use hood_guest::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((cut, stream)) = parameter(data) else { return };
    assert_eq!(fuzz::kernel_lines(pieces(stream, cut)), fuzz::kernel_lines([stream]));
    let (language, manifest) = first_line(stream);
    fuzz::manifest(manifest, &String::from_utf8_lossy(language));
});
