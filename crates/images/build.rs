//! Lists the repository's `kernels/` folder, so that the `hood` binary carries it and needs no checkout at run time.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// What a kernel does not need inside a sandbox.
const SKIPPED: &[&str] = &["__pycache__", "tests", "README.md"];

fn main() -> io::Result<()> {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it for build scripts"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it for build scripts"));
    let kernels = manifest.join("../../kernels").canonicalize()?;

    let mut files = Vec::new();
    walk(&kernels, &mut files)?;
    files.sort();

    let mut table = String::from("&[\n");
    for file in &files {
        let inside = file.strip_prefix(&kernels).expect("walked from there");
        let (inside, file) = (inside.display().to_string(), file.display().to_string());
        writeln!(table, "    ({inside:?}, include_bytes!({file:?})),").expect("a String takes every write");
    }
    table.push(']');
    fs::write(out.join("kernels.rs"), table)?;
    println!("cargo::rerun-if-changed={}", kernels.display());
    println!("cargo::rerun-if-changed=build.rs");
    Ok(())
}

fn walk(dir: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') || SKIPPED.contains(&name.as_ref()) || name.ends_with(".pyc") {
            continue;
        }
        if entry.file_type()?.is_dir() {
            walk(&entry.path(), files)?;
        } else {
            files.push(entry.path());
        }
    }
    Ok(())
}
