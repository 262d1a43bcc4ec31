//! The head of the first request of a connection.
#![no_main]

use hood_gate::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzz::http_head(data));
