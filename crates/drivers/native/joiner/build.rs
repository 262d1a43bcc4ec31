//! No start files and no libc: the library is loaded into whatever interpreter a template brings.

fn main() {
    println!("cargo::rustc-link-arg-cdylib=-nostdlib");
    println!("cargo::rustc-link-arg-cdylib=-nostartfiles");
    println!("cargo::rerun-if-changed=build.rs");
}
