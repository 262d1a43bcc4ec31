//! Requests to `process.Process`, alone and in envelopes.
#![no_main]

use hood_fuzz::parameter;
use hood_guest::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((kind, message)) = parameter(data) else { return };
    fuzz::process_request(kind, message);
    for (_, payload) in fuzz::envelopes([message]).0 {
        fuzz::process_request(kind, &payload);
    }
});
