//! Builds the guest as a static program, so that it can be embedded: `hood` is one file.
//!
//! The guest needs flags of its own (static, small), which one cargo run cannot give to one package, hence the nested
//! run in a target directory of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const TARGET: &str = "x86_64-unknown-linux-gnu";

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo")).join("../..");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo")).join("hood-guest");
    for path in [
        "crates/guest/src",
        "crates/guest/Cargo.toml",
        "crates/wire/src",
        "crates/wire/Cargo.toml",
        "crates/limits/src",
        "crates/limits/Cargo.toml",
        "Cargo.lock",
    ] {
        println!("cargo::rerun-if-changed={}", root.join(path).display());
    }
    println!("cargo::rerun-if-env-changed=HOOD_GUEST_BIN");
    let built = match env::var_os("HOOD_GUEST_BIN") {
        Some(given) => PathBuf::from(given),
        None => build(&root),
    };
    fs::copy(&built, &out).unwrap_or_else(|error| panic!("copying {}: {error}", built.display()));
    println!("cargo::rustc-env=HOOD_GUEST={}", out.display());
    println!("cargo::rerun-if-changed={}", root.join("crates/drivers/native/joiner/src").display());
    println!("cargo::rustc-env=HOOD_JOINER={}", build_joiner(&root).display());
}

/// The library that a nursery's forks step into sandboxes with; a workspace of its own.
fn build_joiner(root: &Path) -> PathBuf {
    let target_dir = root.canonicalize().expect("the repository is there").join("target/guest");
    let status = Command::new(env::var_os("CARGO").expect("set by cargo"))
        .current_dir(root.join("crates/drivers/native/joiner"))
        .args(["build", "--quiet", "--locked", "--release", "--target-dir"])
        .arg(&target_dir)
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .status()
        .expect("cargo runs");
    assert!(status.success(), "building the joiner failed");
    target_dir.join("release/libhood_joiner.so")
}

fn build(root: &Path) -> PathBuf {
    // Shared by all profiles of `hood`: the guest is always built in its own.
    let target_dir = root.join("target/guest");
    let status = Command::new(env::var_os("CARGO").expect("set by cargo"))
        .current_dir(root)
        .args([
            "build",
            "--quiet",
            "--locked",
            "--package",
            "hood-guest",
            "--profile",
            "guest",
            "--target",
            TARGET,
        ])
        .arg("--target-dir")
        .arg(&target_dir)
        // Settings of the outer run (clippy's wrapper, its flags) are not meant for the guest.
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env("RUSTFLAGS", "-C target-feature=+crt-static")
        .status()
        .expect("cargo runs");
    assert!(status.success(), "building the guest failed");
    target_dir.join(TARGET).join("guest/hood-guest")
}
