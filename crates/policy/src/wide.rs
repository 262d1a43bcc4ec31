//! Wildcards that mean everybody.

use crate::{Name, Pattern};

/// Names below which anybody can have one, a line each.
const SUFFIXES: &str = include_str!("../data/suffixes.txt");

/// What countries call the second level at which they register names (`co.uk`, `com.au`, `ne.jp`).
const SECOND_LEVEL: [&str; 30] = [
    "ac", "asn", "co", "com", "ed", "edu", "firm", "gen", "go", "gob", "gov", "gub", "gv", "id", "ind",
    "ltd", "me", "mil", "ne", "net", "nom", "or", "org", "plc", "res", "sch", "school", "web", "www", "info",
];

/// Whether it means names that have nothing to do with one another: everything below a top-level name, below a
/// second level at which a country registers names, or below a name where anybody gets one.
///
/// This is no copy of the public suffix list, which has ten thousand lines and changes weekly: it knows the shape of
/// the ordinary registries, and by name those hosts where data can be dropped at no cost.
pub(crate) fn is_over_wide(pattern: &Pattern) -> bool {
    match pattern {
        Pattern::Exact(_) => false,
        Pattern::Below(parent) => is_suffix(parent),
    }
}

fn is_suffix(name: &Name) -> bool {
    let text = name.as_str();
    let country = |label: &str| label.len() == 2 && label.bytes().all(|byte| byte.is_ascii_lowercase());
    match text.split('.').collect::<Vec<_>>().as_slice() {
        [_] => true,
        [second, top] if country(top) && SECOND_LEVEL.contains(second) => true,
        _ => SUFFIXES.lines().any(|line| line == text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wide(text: &str) -> bool {
        is_over_wide(&text.parse().expect(text))
    }

    #[test]
    fn wildcards_over_strangers_are_over_wide() {
        for text in
            ["*.com", "*.co.uk", "*.com.au", "*.github.io", "*.s3.amazonaws.com", "*.xn--p1ai", "*.local"]
        {
            assert!(wide(text), "{text}");
        }
        for text in
            ["com", "github.io", "*.example.com", "*.me.github.io", "*.example.co.uk", "*.bbc.uk", "*.t.co"]
        {
            assert!(!wide(text), "{text}");
        }
    }

    #[test]
    fn the_list_holds_names_in_canonical_form() {
        let lines = SUFFIXES.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        for line in lines {
            assert_eq!(line.parse::<Name>().expect(line).as_str(), line);
        }
    }
}
