//! Randomness that repeats.

use std::sync::atomic::{AtomicU64, Ordering};

use hood_engine::ports::Entropy;

/// The same bytes in every run, never twice in one.
#[derive(Debug, Default)]
pub struct FixedEntropy(AtomicU64);

impl Entropy for FixedEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let word = mix(self.0.fetch_add(1, Ordering::Relaxed)).to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
}

/// Spreads neighbouring numbers far apart (the finalizer of SplitMix64).
fn mix(n: u64) -> u64 {
    let n = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}
