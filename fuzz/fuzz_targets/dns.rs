//! A question about a name from inside, and what a name server says to it: the first byte is the question's length.
#![no_main]

use hood_fuzz::parameter;
use hood_gate::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((length, rest)) = parameter(data) else { return };
    let (question, said) = rest.split_at(rest.len().min(length.into()));
    fuzz::dns_exchange(question, said);
});
