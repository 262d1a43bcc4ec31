//! Text of a sandbox or a model must not command the terminal that shows it.

use std::borrow::Cow;

/// One line: everything that moves the cursor, colours, rings or turns the direction of text is shown as what it is.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_dangerous) {
        return Cow::Borrowed(text);
    }
    let shown = text.chars().fold(String::with_capacity(text.len() + 16), |mut shown, char| {
        match char {
            '\t' => shown.push(' '),
            char if is_dangerous(char) => shown.extend(char.escape_default()),
            char => shown.push(char),
        }
        shown
    });
    Cow::Owned(shown)
}

/// The same for several lines, which stay lines.
pub(crate) fn escape_lines(text: &str) -> String {
    text.split('\n').map(escape).collect::<Vec<_>>().join("\n")
}

/// Whether a terminal would do more than draw it.
pub(crate) fn is_dangerous(char: char) -> bool {
    // Marks of direction make `gpj.exe` look like `exe.jpg`.
    let turns = matches!(char, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    char.is_control() || turns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_commands_a_terminal_is_shown_as_text() {
        assert_eq!(escape("\u{1b}]0;title\u{7}a\r\nb\u{9b}1m"), "\\u{1b}]0;title\\u{7}a\\r\\nb\\u{9b}1m");
        assert_eq!(escape("\u{202e}gpj.exe"), "\\u{202e}gpj.exe");
        assert!(matches!(escape("Казань 東京 🙂"), Cow::Borrowed(_)));
    }

    #[test]
    fn lines_stay_lines() {
        assert_eq!(escape_lines("a\n\u{1b}b\n"), "a\n\\u{1b}b\n");
    }
}
