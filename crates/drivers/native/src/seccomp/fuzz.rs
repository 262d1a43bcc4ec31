//! Filters from other data than ours, compiled and run.

use super::bpf::{IF_AT_LEAST, IF_BITS, IF_EQUAL, Instruction, JUMP, LOAD, RETURN};
use super::compile::{AUDIT_ARCH_X86_64, verdict};
use super::interpreter::{Call, run};
use super::profile::{Action, Condition, ENOSYS, EPERM, Nested, Profile, Rule, Who};
use super::{MAX_INSTRUCTIONS, loadable};

/// Size of `struct seccomp_data`: loads are from within it.
const DATA: u32 = 64;

/// A system call.
#[derive(Debug, Clone, Copy)]
pub struct Ask {
    /// Its number.
    pub number: u32,
    /// Its arguments.
    pub args: [u64; 6],
}

/// Reads `text` as filter data. What is accepted must compile to a program that the kernel loads, and that answers
/// these calls as the data says. False if the text is refused.
pub fn holds(text: &str, is_guest: bool, asks: &[Ask]) -> bool {
    let who = if is_guest { Who::Guest } else { Who::Payload };
    [Nested::Closed, Nested::Open].into_iter().all(|nested| holds_for(text, who, nested, asks))
}

fn holds_for(text: &str, who: Who, nested: Nested, asks: &[Ask]) -> bool {
    let Ok(profile) = Profile::parse(text, who, nested) else { return false };
    let Ok(program) = loadable(&profile) else { return false };
    loads(&program);
    for ask in asks {
        let call = Call { arch: AUDIT_ARCH_X86_64, number: ask.number, args: ask.args };
        assert_eq!(run(&program, &call), verdict(meant(&profile, ask)), "{ask:x?}");
    }
    true
}

/// The checks of the kernel: its size, known instructions, and no jump past the end. Jumps only lead forward, so every
/// path ends in the last instruction or before.
fn loads(program: &[Instruction]) {
    assert!(program.len() <= MAX_INSTRUCTIONS, "{} instructions", program.len());
    assert!(program.last().is_some_and(|last| last.code == RETURN), "ends without a return");
    for (at, i) in program.iter().enumerate() {
        let over = match i.code {
            LOAD => {
                assert!(i.operand < DATA && i.operand.is_multiple_of(4), "loads {}", i.operand);
                0
            }
            RETURN => 0,
            JUMP => i.operand as usize,
            IF_EQUAL | IF_AT_LEAST | IF_BITS => usize::from(i.jump_true.max(i.jump_false)),
            other => panic!("instruction {other:#x}"),
        };
        assert!(i.code == RETURN || at + 1 + over < program.len(), "instruction {at} leads past the end");
    }
}

fn meant(profile: &Profile, ask: &Ask) -> Action {
    if ask.number > profile.newest {
        return Action::Errno(ENOSYS);
    }
    let Some(Rule { clauses, otherwise }) = profile.rules.get(&ask.number) else {
        return Action::Errno(EPERM);
    };
    let found =
        clauses.iter().find(|(conditions, _)| conditions.iter().all(|condition| is_met(condition, ask)));
    found.map_or(*otherwise, |(_, action)| *action)
}

fn is_met(condition: &Condition, ask: &Ask) -> bool {
    let argument = |n: u8| ask.args[usize::from(n)];
    match condition {
        Condition::Is(n, values) => values.contains(&(argument(*n) as u32)),
        Condition::Bits(n, bits) => argument(*n) as u32 & bits != 0,
        Condition::Set(n) => argument(*n) != 0,
    }
}
