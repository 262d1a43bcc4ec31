//! The system call filter: data in `data/seccomp.toml`, compiled to classic BPF by us.
//!
//! Our own compiler because the install cost counts: a search tree of about 250 instructions loads in a fifth of the
//! time of the list of 700 that list compilers emit (reference `walls.md` 4), and every command pays it.

mod bpf;
mod compile;
#[cfg(fuzzing)]
pub mod fuzz;
#[cfg(any(test, fuzzing))]
mod interpreter;
mod profile;

pub(crate) use bpf::Instruction;
pub(crate) use compile::compile;
pub(crate) use profile::{Profile, ProfileError, Who};

/// Instructions that the kernel loads at most (`BPF_MAXINSNS`).
const MAX_INSTRUCTIONS: usize = 4096;

/// The program of `who` as the bytes that the kernel and the guest take.
pub(crate) fn program(who: Who) -> Result<Vec<Instruction>, ProfileError> {
    loadable(&Profile::shipped(who)?)
}

/// The program, if the kernel would load it.
fn loadable(profile: &Profile) -> Result<Vec<Instruction>, ProfileError> {
    let program = compile(profile);
    if program.len() > MAX_INSTRUCTIONS { Err(ProfileError::TooLong(program.len())) } else { Ok(program) }
}
