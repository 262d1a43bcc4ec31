//! Requests to `filesystem.Filesystem`, and where the paths in them lead.
#![no_main]

use hood_fuzz::{is_clean, parameter};
use hood_guest::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((kind, message)) = parameter(data) else { return };
    for path in fuzz::filesystem_request(kind, message).into_iter().flatten() {
        assert!(fuzz::resolve("/home/user", "/home/user", &path).is_none_or(|path| is_clean(&path)));
    }
});
