//! Connect's envelopes, as they come to the guest: the same ones wherever the stream is cut.
#![no_main]

use hood_fuzz::{parameter, pieces};
use hood_guest::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((cut, stream)) = parameter(data) else { return };
    let (whole, refused) = fuzz::envelopes([stream]);
    let payloads: usize = whole.iter().map(|(_, payload)| payload.len()).sum();
    assert!(payloads + 5 * whole.len() <= stream.len());
    assert_eq!(fuzz::envelopes(pieces(stream, cut)), (whole, refused));
});
