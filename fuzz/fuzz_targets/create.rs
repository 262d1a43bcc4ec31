//! The body of a create call, into the engine's words.
#![no_main]

use hood_dialect_e2b::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let Some(new) = fuzz::create(body) else { return };
    assert!(new.timeout.as_secs() > 0);
    if let Some(asked) = new.resources {
        assert!(asked.cpu.is_none_or(|cpu| cpu.0 <= 1_000_000_000));
    }
});
