//! The control socket: a hostile guest's events as the host reads them, the host's messages as the guest does.
#![no_main]

use hood_guest::fuzz;
use hood_wire::{HostMessage, MAX_EVENT_BYTES, decode_event, encode_event};
use libfuzzer_sys::fuzz_target;

/// Requests that are under way when the host speaks.
const REQUESTS: [u64; 3] = [0, 1, 2];

fuzz_target!(|data: &[u8]| {
    let lines = || data.split(|byte| *byte == b'\n');
    for line in lines() {
        if let Some(event) = decode_event(line) {
            let again = encode_event(&event);
            assert!(again.len() <= MAX_EVENT_BYTES);
            assert_eq!(decode_event(again.trim_ascii_end()), Some(event));
        }
        if let Ok(message) = serde_json::from_slice::<HostMessage>(line) {
            let again = serde_json::to_vec(&message).expect("a message is strings and numbers");
            assert_eq!(serde_json::from_slice::<HostMessage>(&again).ok(), Some(message));
        }
    }
    fuzz::host_lines(&REQUESTS, lines());
});
