//! Classic BPF, run here: for tests, which must know what the kernel would say.

use super::bpf::{
    ARCH, IF_AT_LEAST, IF_BITS, IF_EQUAL, Instruction, JUMP, LOAD, NUMBER, RETURN, argument_low,
};

/// A system call as a filter sees it (`struct seccomp_data` without the instruction pointer).
pub(super) struct Call {
    pub(super) arch: u32,
    pub(super) number: u32,
    pub(super) args: [u64; 6],
}

/// What the program returns. Panics where the kernel would have refused to load it.
pub(super) fn run(program: &[Instruction], call: &Call) -> u32 {
    let (mut at, mut accumulator) = (0usize, 0u32);
    loop {
        let i = program[at];
        at += 1;
        let holds = match i.code {
            LOAD => {
                accumulator = word(call, i.operand);
                continue;
            }
            JUMP => {
                at += i.operand as usize;
                continue;
            }
            RETURN => return i.operand,
            IF_EQUAL => accumulator == i.operand,
            IF_AT_LEAST => accumulator >= i.operand,
            IF_BITS => accumulator & i.operand != 0,
            other => panic!("instruction {other:#x}"),
        };
        at += usize::from(if holds { i.jump_true } else { i.jump_false });
    }
}

fn word(call: &Call, offset: u32) -> u32 {
    match offset {
        NUMBER => call.number,
        ARCH => call.arch,
        _ => {
            let past = offset - argument_low(0);
            let argument = call.args[(past / 8) as usize];
            if past.is_multiple_of(8) { argument as u32 } else { (argument >> 32) as u32 }
        }
    }
}
