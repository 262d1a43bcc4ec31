//! `LIMITS.md` is printed from the crates' tables. `HOOD_BLESS=1 cargo test -p hood --test it` writes it anew.

use std::fmt::Write as _;
use std::path::Path;

const HEAD: &str = "\
# Limits

Every count, size, rate and time has a ceiling, and each says what happens when it is met: nothing is cut silently.
This page is printed from the tables in the code and tested against them; to change it, change the table and run
`HOOD_BLESS=1 cargo test -p hood --test it`.
";

/// Name, value, what it bounds, what happens when it is met.
type Row = (&'static str, String, &'static str, &'static str);

macro_rules! rows {
    ($limits:expr) => {
        $limits.into_iter().map(|limit| (limit.name, limit.value, limit.what, limit.when_met)).collect()
    };
}

fn sections() -> Vec<(&'static str, &'static str, Vec<Row>)> {
    vec![
        (
            "Sandboxes",
            "`crates/engine/src/limits.rs`",
            rows!(hood_engine::limits::inventory().iter().cloned()),
        ),
        (
            "E2B's protocol",
            "`crates/dialects/e2b/src/limits.rs`",
            rows!(hood_dialect_e2b::limits::inventory()),
        ),
        ("Building templates", "`crates/images/src/limits.rs`", rows!(hood_images::limits::inventory())),
        ("The agent", "`crates/agent/src/limits.rs`", rows!(hood_agent::limits::inventory().iter().cloned())),
    ]
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    for (title, source, rows) in sections() {
        writeln!(page, "\n## {title}\n\n{source}\n\n| what | ceiling | when met | name |\n|---|---|---|---|")
            .expect("a string takes all");
        for (name, value, what, when_met) in rows {
            writeln!(page, "| {what} | {value} | {when_met} | `{name}` |").expect("a string takes all");
        }
    }
    page
}

#[test]
fn the_page_says_what_the_code_does() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../LIMITS.md");
    if std::env::var_os("HOOD_BLESS").is_some() {
        std::fs::write(&path, page()).expect("the repository can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page(), "LIMITS.md is out of date; run `HOOD_BLESS=1 cargo test -p hood --test it`");
}
