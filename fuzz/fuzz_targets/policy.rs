//! A policy in JSON, and what it says about one connection.
#![no_main]

use hood_policy::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzz::policy(data));
