//! The first flight of a TLS client, as it comes in records of any size.
#![no_main]

use hood_gate::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzz::client_hello(data));
