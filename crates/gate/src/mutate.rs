//! The seeds of a fuzz target with noise in them: what can be fuzzed in every run of the tests, without a sanitizer.
//!
//! A second each, or as many as `HOOD_MUTATE_SECONDS` says; `cargo xtask test` says sixty.

use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// How often a trial asks what time it is.
const BETWEEN: usize = 256;

/// Gives `target` the seeds of that name, changed at random, until the time is over.
pub(crate) fn mutate(name: &str, target: impl Fn(&[u8])) {
    let folder = format!("{}/../../fuzz/corpus/{name}", env!("CARGO_MANIFEST_DIR"));
    let seeds: Vec<Vec<u8>> = std::fs::read_dir(&folder)
        .expect("the seeds lie there")
        .map(|entry| std::fs::read(entry.expect("an entry").path()).expect("a seed"))
        .collect();
    assert!(!seeds.is_empty());
    let seconds = std::env::var("HOOD_MUTATE_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let end = Instant::now() + Duration::from_secs(seconds);
    // Always the same way: a failure comes again.
    let mut random = StdRng::seed_from_u64(7);
    let mut runs = 0_u64;
    while Instant::now() < end {
        for _ in 0..BETWEEN {
            target(&changed(&seeds, &mut random));
            runs += 1;
        }
    }
    println!("{name}: {runs} inputs");
}

fn changed(seeds: &[Vec<u8>], random: &mut StdRng) -> Vec<u8> {
    let mut bytes = seeds[random.random_range(0..seeds.len())].clone();
    for _ in 0..random.random_range(0..8) {
        let at = random.random_range(0..=bytes.len());
        match random.random_range(0..6) {
            0 if at < bytes.len() => bytes[at] = random.random(),
            1 if at < bytes.len() => bytes[at] ^= 1 << random.random_range(0..8),
            2 => bytes.insert(at, random.random()),
            3 if at < bytes.len() => drop(bytes.remove(at)),
            4 => bytes.truncate(at),
            5 => {
                let other = &seeds[random.random_range(0..seeds.len())];
                let from = random.random_range(0..=other.len());
                bytes.splice(at..at, other[from..].iter().copied().take(64));
            }
            _ => {}
        }
    }
    bytes
}
