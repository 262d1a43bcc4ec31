//! `LIMITS.md` is printed from the crates' tables. `HOOD_BLESS=1 cargo test -p hood --test it` writes it anew.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use hood_limits::Limit;

/// The program's own file: no library offers it.
#[path = "../../src/limits.rs"]
mod of_the_program;

const HEAD: &str = "\
# Limits

Every count, size, rate and time has a ceiling, and each says who may change it and what happens when it is met:
nothing is cut silently. What one sandbox may use is also shown by `hood sandbox show`.

This page is printed from the tables in the code and tested against them; to change it, change the table and run
`HOOD_BLESS=1 cargo test -p hood --test it`. `tests/limits` reads it and meets each ceiling that
can be met from outside in seconds.
";

/// A part of the page: its title, where its table lies, its rows.
type Section = (&'static str, &'static str, Vec<Limit>);

fn sections() -> Vec<Section> {
    vec![
        ("Sandboxes", "crates/engine/src/limits.rs", hood_engine::limits::inventory()),
        ("Walls", "crates/drivers/native/src/limits.rs", hood_driver_native::limits::inventory()),
        ("The gate", "crates/gate/src/limits.rs", hood_gate::limits::inventory()),
        ("Network policies", "crates/policy/src/limits.rs", hood_policy::limits::inventory()),
        ("Inside a sandbox", "crates/guest/src/limits.rs", hood_guest::limits::inventory()),
        ("E2B's protocol", "crates/dialects/e2b/src/limits.rs", hood_dialect_e2b::limits::inventory()),
        ("The store", "crates/store/src/limits.rs", hood_store::limits::inventory()),
        ("The server and the command line", "crates/hood/src/limits.rs", of_the_program::inventory()),
        ("The client of the command line", "crates/client/src/limits.rs", hood_client::limits::inventory()),
        ("Building templates", "crates/images/src/limits.rs", hood_images::limits::inventory()),
        ("The agent", "crates/agent/src/limits.rs", hood_agent::limits::inventory()),
    ]
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    for (title, source, rows) in sections() {
        section(&mut page, title, source);
        for Limit { name, value, what, when_met, who } in rows {
            row(&mut page, [what, &value, when_met, who, name]);
        }
    }
    let source = "kernels/python/hood_kernel/limits.py";
    section(&mut page, "The Python kernel", source);
    for [name, value, what, when_met] in python_rows(&read(source)) {
        row(&mut page, [&what, &value, &when_met, hood_limits::NOBODY, &name]);
    }
    page
}

fn section(page: &mut String, title: &str, source: &str) {
    let head = "| what | ceiling | when met | who may change it | name |\n|---|---|---|---|---|";
    writeln!(page, "\n## {title}\n\n`{source}`\n\n{head}").expect("a string takes all");
}

fn row(page: &mut String, [what, value, when_met, who, name]: [&str; 5]) {
    writeln!(page, "| {what} | {value} | {when_met} | {who} | `{name}` |").expect("a string takes all");
}

/// Of a file whose constants have comments of the form `#: What it bounds. When met: what happens.` above them.
fn python_rows(text: &str) -> Vec<[String; 4]> {
    let (mut rows, mut comment) = (Vec::new(), String::new());
    for line in text.lines() {
        if let Some(more) = line.strip_prefix("#: ") {
            comment = if comment.is_empty() { more.to_owned() } else { format!("{comment} {more}") };
        } else if let Some((name, value)) = line.split_once(" = ")
            && let Some((what, met)) = comment.split_once(". When met: ")
        {
            let value = value.replace(" * MIB", " MiB");
            rows.push([name, &value, &uncapitalized(what), met.trim_end_matches('.')].map(str::to_owned));
        } else {
            comment.clear();
        }
    }
    rows
}

fn uncapitalized(text: &str) -> String {
    text.chars().take(1).flat_map(char::to_lowercase).chain(text.chars().skip(1)).collect()
}

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_page_says_what_the_code_does() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../LIMITS.md");
    if std::env::var_os("HOOD_BLESS").is_some() {
        fs::write(&path, page()).expect("the repository can be written");
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page(), "LIMITS.md is out of date; run `HOOD_BLESS=1 cargo test -p hood --test it`");
}

#[test]
fn a_name_stands_once_in_its_section() {
    for (title, _, rows) in sections() {
        let mut names: Vec<_> = rows.iter().map(|row| row.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), rows.len(), "{title}");
    }
}
