//! The program: all of it is the library's, so that what reads hostile bytes can be fuzzed.
#![deny(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    hood_guest::run()
}
