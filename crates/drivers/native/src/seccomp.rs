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
pub(crate) use profile::{Nested, Profile, ProfileError, Who};

/// Instructions that the kernel loads at most (`BPF_MAXINSNS`).
const MAX_INSTRUCTIONS: usize = 4096;

/// The programs of the guest or of its payload, compiled once.
pub(crate) struct Programs {
    closed: Vec<Instruction>,
    open: Vec<Instruction>,
}

impl Programs {
    /// From the data in this crate.
    pub(crate) fn of(who: Who) -> Result<Self, ProfileError> {
        let program = |nested| loadable(&Profile::shipped(who, nested)?);
        Ok(Self { closed: program(Nested::Closed)?, open: program(Nested::Open)? })
    }

    /// The one for a template that opens nested user namespaces, or for one that does not.
    pub(crate) fn get(&self, nested_user_namespaces: bool) -> &[Instruction] {
        if nested_user_namespaces { &self.open } else { &self.closed }
    }

    /// The same as the bytes that the kernel takes.
    pub(crate) fn bytes(&self, nested_user_namespaces: bool) -> Vec<u8> {
        self.get(nested_user_namespaces).iter().flat_map(|instruction| instruction.to_bytes()).collect()
    }
}

/// The program, if the kernel would load it.
fn loadable(profile: &Profile) -> Result<Vec<Instruction>, ProfileError> {
    let program = compile(profile);
    if program.len() > MAX_INSTRUCTIONS { Err(ProfileError::TooLong(program.len())) } else { Ok(program) }
}
