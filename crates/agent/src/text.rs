//! Text that is too long or too colourful for a reader.

use std::borrow::Cow;

/// At most `limit` bytes of `text`, and a sentence in the middle that says how many are left out.
pub(crate) fn cut_middle(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit {
        return Cow::Borrowed(text);
    }
    // The end of an output (totals, the last frame of a traceback) tells as much as its beginning.
    let head = boundary(text, limit / 2);
    let tail = boundary(text, text.len() - limit / 2);
    let left_out = tail - head;
    Cow::Owned(format!(
        "{}\n[truncated: {left_out} of {} bytes left out here]\n{}",
        &text[..head],
        text.len(),
        &text[tail..]
    ))
}

/// At most `limit` bytes from the beginning, on one line.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.len() > limit {
        line.truncate(boundary(&line, limit));
        line.push('…');
    }
    line
}

/// The last place at or before `at` where `text` may be split.
pub(crate) fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// Without terminal escape sequences: tracebacks come coloured, and colours are noise to a model.
pub(crate) fn without_colours(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        if char != '\u{1b}' {
            plain.push(char);
        } else if chars.next() == Some('[') {
            // A control sequence ends with the first byte in `@` to `~`.
            chars.by_ref().find(|end| ('@'..='~').contains(end));
        }
    }
    Cow::Owned(plain)
}

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_text_is_left_alone() {
        assert!(matches!(cut_middle("short", 5), Cow::Borrowed("short")));
    }

    #[test]
    fn a_cut_says_how_much_is_missing_and_keeps_both_ends() {
        let text = format!("begin{}end", "x".repeat(1000));
        let cut = cut_middle(&text, 100);
        assert!(cut.starts_with("begin") && cut.ends_with("end"));
        assert!(cut.contains("[truncated: 908 of 1008 bytes left out here]"), "{cut}");
    }

    #[test]
    fn a_cut_never_splits_a_character() {
        let text = "й".repeat(100);
        for limit in 0..50 {
            let cut = cut_middle(&text, limit);
            assert!(cut.contains("[truncated: "));
        }
    }

    #[test]
    fn colours_go_and_words_stay() {
        assert_eq!(without_colours("\u{1b}[0;31mKeyError\u{1b}[0m: 'a'"), "KeyError: 'a'");
        assert_eq!(without_colours("ends in \u{1b}["), "ends in ");
    }

    #[test]
    fn numbers_are_grouped_by_three() {
        assert_eq!(["7", "1,000", "45,000,123"], [7, 1000, 45_000_123].map(grouped).as_slice());
    }

    #[test]
    fn one_line_joins_and_shortens() {
        assert_eq!(one_line("a\n b\tc", 10), "a b c");
        assert_eq!(one_line("abcdef", 3), "abc…");
    }
}
