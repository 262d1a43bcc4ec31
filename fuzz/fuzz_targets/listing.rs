//! Queries of a listing: the metadata filter, encoded twice, and the paging tokens.
#![no_main]

use hood_dialect_e2b::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|query: &str| {
    let Some(filter) = fuzz::listing(query) else { return };
    assert!((1..=100).contains(&filter.limit));
    // What was understood can be asked for in the SDKs' way, and is understood the same.
    let twice = |text: &str| encode(&encode(text));
    let pairs: Vec<_> =
        filter.metadata.iter().map(|(name, value)| format!("{}={}", twice(name), twice(value))).collect();
    let again = fuzz::listing(&format!("metadata={}", encode(&pairs.join("&")))).expect("a filter");
    assert_eq!(again.metadata, filter.metadata);
});

fn encode(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
