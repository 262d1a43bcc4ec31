//! Where a piece of text may be cut.

/// How many bytes at the front of `bytes` can go out without cutting a character in two: all of them, or all but the
/// start of one at the very end (at most three bytes). What is not UTF-8 at all is never held back.
pub(super) fn whole(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let at = bytes.len() - back;
        let needed = match bytes.get(at) {
            Some(0xC2..=0xDF) => 2,
            Some(0xE0..=0xEF) => 3,
            Some(0xF0..=0xF4) => 4,
            // A continuation: its start is further back.
            Some(0x80..=0xBF) => continue,
            _ => return bytes.len(),
        };
        return if needed > back { at } else { bytes.len() };
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cut_of_any_text_splits_a_character() {
        let text = "aé€😀 \u{7ff}\u{800}\u{ffff}\u{10000}\u{10ffff}z";
        for end in 0..=text.len() {
            let cut = whole(&text.as_bytes()[..end]);
            assert!(text.is_char_boundary(cut), "cut at {cut} of {end}");
            assert!(end - cut <= 3);
            assert!(!text.is_char_boundary(end) || cut == end, "held back a whole character at {end}");
        }
    }

    #[test]
    fn noise_is_held_back_by_three_bytes_at_most() {
        let mut seed = 1u32;
        for _ in 0..10_000 {
            let bytes: Vec<u8> = (0..8)
                .map(|_| {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (seed >> 24) as u8
                })
                .collect();
            assert!(bytes.len() - whole(&bytes) <= 3);
        }
        assert_eq!(whole(&[0x80; 8]), 8);
        assert_eq!(whole(&[0xFF, 0xC0]), 2);
        assert_eq!(whole(b""), 0);
    }
}
