//! Code in fenced blocks: how models without tools say what they want run.

/// The Python in `text`: the content of each block fenced as `python` or `py`, in order. A block whose closing
/// fence is missing ends with the text.
pub(crate) fn code_blocks(text: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for line in text.lines() {
        let fence = fence_of(line);
        match (&mut open, fence) {
            (None, Some((width, language))) => {
                let is_python = matches!(language.to_ascii_lowercase().as_str(), "python" | "py" | "python3");
                open = Some(Block { width, is_python, code: String::new() });
            }
            (Some(block), Some((width, ""))) if width >= block.width => blocks.extend(open.take()),
            (Some(block), _) => {
                block.code.push_str(line);
                block.code.push('\n');
            }
            (None, None) => {}
        }
    }
    blocks.extend(open);
    blocks
        .into_iter()
        .filter(|block| block.is_python && !block.code.trim().is_empty())
        .map(|b| b.code)
        .collect()
}

struct Block {
    width: usize,
    is_python: bool,
    code: String,
}

/// The width and the language of a fence. Up to three spaces may stand before it; more is indented text.
fn fence_of(line: &str) -> Option<(usize, &str)> {
    let inner = line.trim_start_matches(' ');
    let rest = inner.trim_start_matches('`');
    let width = inner.len() - rest.len();
    let language = rest.trim();
    let is_fence = width >= 3 && line.len() - inner.len() <= 3 && !language.contains('`');
    is_fence.then(|| (width, language.split_whitespace().next().unwrap_or("")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(code_blocks(text), expected);
    }

    #[test]
    fn python_is_found_and_other_languages_are_not() {
        check("I load it:\n```python\nx = 1\n```\nand\n```json\n{}\n```\n```py\ny\n```", &["x = 1\n", "y\n"]);
        check("no code, `inline` only", &[]);
        check("```\nplain\n```", &[]);
    }

    #[test]
    fn a_longer_fence_holds_a_shorter_one() {
        check("````python\ns = '''\n```\n'''\n````", &["s = '''\n```\n'''\n"]);
    }

    #[test]
    fn a_block_left_open_ends_with_the_text() {
        check("```python\nprint(1)", &["print(1)\n"]);
    }

    #[test]
    fn empty_blocks_do_not_count() {
        check("```python\n\n```", &[]);
    }
}
