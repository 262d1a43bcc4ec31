//! The path resolver: a working directory, a home, and the path of a request.
#![no_main]

use hood_fuzz::{is_clean, lines};
use hood_guest::fuzz;
use hood_guest::limits::MAX_PATH;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some(([base, home], path)) = lines(data) else { return };
    let Some(found) = fuzz::resolve(base, home, path) else { return };
    assert!(is_clean(&found), "{found:?}");
    assert!(found.len() < MAX_PATH);
    assert_eq!(fuzz::resolve("/elsewhere", "/elsewhere", &found).as_deref(), Some(found.as_str()));
});
