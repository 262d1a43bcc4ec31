//! Output that is cut anywhere, also inside a character.
#![no_main]

use hood_fuzz::{parameter, pieces};
use hood_guest::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((cut, bytes)) = parameter(data) else { return };
    assert_eq!(fuzz::context_text(pieces(bytes, cut)), String::from_utf8_lossy(bytes));
    let whole = fuzz::whole(bytes);
    assert!(bytes.len() - whole <= 3);
    if let Err(error) = std::str::from_utf8(bytes) {
        // All that is cut off at the end is held back, and nothing else.
        let expected = if error.error_len().is_none() { error.valid_up_to() } else { whole };
        assert_eq!(whole, expected);
    } else {
        assert_eq!(whole, bytes.len());
    }
});
