//! Queries of a listing: the metadata filter, encoded twice, and the paging tokens.
#![no_main]

use hood_dialect_e2b::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|query: &str| {
    let Some(filter) = fuzz::listing(query) else { return };
    assert!((1..=100).contains(&filter.limit));
    // What was understood can be asked for in the SDKs' way, and is understood the same.
    let once: Vec<_> =
        filter.metadata.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
    let again = fuzz::listing(&format!("metadata={}", encode(&once.join("&")))).expect("a filter");
    let empty = filter.metadata.keys().all(String::is_empty);
    assert!(empty || again.metadata == filter.metadata, "{:?} {:?}", again.metadata, filter.metadata);
});

/// Twice, since each reading takes one layer off.
fn encode(text: &str) -> String {
    let encoded = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    encoded(&encoded(text))
}
