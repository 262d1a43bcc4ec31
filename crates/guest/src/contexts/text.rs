//! Bytes of a stream to text, never cut inside a character.

/// Longest part of a character that may lack its end.
const MAX_PARTIAL: usize = 3;

/// Keeps the bytes of an unfinished character until the rest arrives.
#[derive(Default)]
pub(crate) struct Decoder {
    partial: Vec<u8>,
}

impl Decoder {
    /// The text that is complete; bytes that are no UTF-8 become U+FFFD.
    pub(crate) fn decode(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.partial);
        all.extend_from_slice(bytes);
        let keep = unfinished(&all);
        self.partial = all.split_off(all.len() - keep);
        lossy(all)
    }

    /// What is left when no more will come.
    pub(crate) fn finish(&mut self) -> String {
        lossy(std::mem::take(&mut self.partial))
    }
}

/// How many bytes at the end begin a character and do not finish it.
fn unfinished(bytes: &[u8]) -> usize {
    let tail = bytes.len().saturating_sub(MAX_PARTIAL);
    let Some(start) = bytes.iter().enumerate().skip(tail).rev().find(|(_, b)| **b & 0xC0 != 0x80) else {
        return 0;
    };
    let have = bytes.len() - start.0;
    let needs = match start.1 {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => 1,
    };
    if have < needs { have } else { 0 }
}

fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_survive_any_cut() {
        let text = "a é 漢 😀 z";
        for cut in 1..text.len() {
            let mut decoder = Decoder::default();
            let mut found = String::new();
            for part in text.as_bytes().chunks(cut) {
                found += &decoder.decode(part);
            }
            assert_eq!(found + &decoder.finish(), text, "cut at {cut}");
        }
    }

    #[test]
    fn noise_is_replaced_and_never_kept() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.decode(b"\xff\x80\x80\x80\x80a"), "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}a");
        assert_eq!(decoder.decode(b"\xe2\x82"), "");
        assert_eq!(decoder.finish(), "\u{FFFD}");
        assert_eq!(decoder.finish(), "");
    }
}
