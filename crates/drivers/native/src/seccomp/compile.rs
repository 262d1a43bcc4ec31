//! From the table to a program: a search tree over ranges of numbers that share an answer.

use super::bpf::{ARCH, IF_AT_LEAST, IF_BITS, IF_EQUAL, Instruction, NUMBER, argument_low};
use super::profile::{Action, Condition, ENOSYS, EPERM, Profile, Rule};

pub(super) const AUDIT_ARCH_X86_64: u32 = 0xc000_003e;
const X32_BIT: u32 = 0x4000_0000;
const KILL_PROCESS: u32 = 0x8000_0000;
const ALLOW: u32 = 0x7fff_0000;
const ERRNO: u32 = 0x0005_0000;

/// The program. Every path through it ends in a return, and it holds no loop, as the kernel demands.
pub(crate) fn compile(profile: &Profile) -> Vec<Instruction> {
    let mut program = vec![
        Instruction::load(ARCH),
        Instruction::branch(IF_EQUAL, AUDIT_ARCH_X86_64, 1, 0),
        Instruction::ret(KILL_PROCESS),
        Instruction::load(NUMBER),
        // Both the x32 bit and numbers from the future: this kernel "does not have" them.
        Instruction::branch(IF_AT_LEAST, (profile.newest + 1).min(X32_BIT), 0, 1),
        Instruction::ret(verdict(Action::Errno(ENOSYS))),
    ];
    program.extend(tree(&ranges(profile)));
    program
}

/// A run of numbers from `first` up to the next range, all answered alike.
struct Range<'a> {
    first: u32,
    rule: &'a Rule,
}

/// Numbers in the gaps of the table are no calls at all: they share the answer of refused ones.
fn ranges(profile: &Profile) -> Vec<Range<'_>> {
    static REFUSED: Rule = Rule { clauses: Vec::new(), otherwise: Action::Errno(EPERM) };
    let mut ranges: Vec<Range<'_>> = Vec::new();
    for number in 0..=profile.newest {
        let rule = profile.rules.get(&number).unwrap_or(&REFUSED);
        if ranges.last().is_none_or(|last| last.rule != rule) {
            ranges.push(Range { first: number, rule });
        }
    }
    ranges
}

fn tree(ranges: &[Range<'_>]) -> Vec<Instruction> {
    if let [range] = ranges {
        return leaf(range.rule);
    }
    let (low, high) = ranges.split_at(ranges.len() / 2);
    let Some(pivot) = high.first().map(|range| range.first) else { return Vec::new() };
    let (low, high) = (tree(low), tree(high));
    let mut code = Vec::with_capacity(low.len() + high.len() + 2);
    if let Ok(over) = u8::try_from(low.len()) {
        code.push(Instruction::branch(IF_AT_LEAST, pivot, over, 0));
    } else {
        // A conditional jump reaches 255 instructions; beyond that an unconditional one helps.
        code.push(Instruction::branch(IF_AT_LEAST, pivot, 0, 1));
        code.push(Instruction::jump(low.len() as u32));
    }
    code.extend(low);
    code.extend(high);
    code
}

fn leaf(rule: &Rule) -> Vec<Instruction> {
    let mut code = Vec::new();
    for (conditions, action) in &rule.clauses {
        // Back to front: each test must know how far it is to the end of its clause.
        let mut clause = vec![Instruction::ret(verdict(*action))];
        for condition in conditions.iter().rev() {
            // The profile bounds a clause so that this fits.
            let mut test = test(condition, clause.len() as u8);
            test.extend(clause);
            clause = test;
        }
        code.extend(clause);
    }
    code.push(Instruction::ret(verdict(rule.otherwise)));
    code
}

/// Instructions of a clause with these conditions.
pub(super) fn clause_length(conditions: &[Condition]) -> usize {
    conditions.iter().map(|condition| test(condition, 0).len()).sum::<usize>() + 1
}

/// Falls through when the condition holds, and jumps over `rest` instructions when it does not.
fn test(condition: &Condition, rest: u8) -> Vec<Instruction> {
    match condition {
        Condition::Bits(argument, bits) => {
            vec![Instruction::load(argument_low(*argument)), Instruction::branch(IF_BITS, *bits, 0, rest)]
        }
        Condition::Set(argument) => vec![
            Instruction::load(argument_low(*argument)),
            Instruction::branch(IF_EQUAL, 0, 0, 2),
            Instruction::load(argument_low(*argument) + 4),
            Instruction::branch(IF_EQUAL, 0, rest, 0),
        ],
        Condition::Is(argument, values) => {
            let mut code = vec![Instruction::load(argument_low(*argument))];
            for (i, value) in values.iter().enumerate() {
                let left = (values.len() - 1 - i) as u8;
                let miss = if left == 0 { rest } else { 0 };
                code.push(Instruction::branch(IF_EQUAL, *value, left, miss));
            }
            code
        }
    }
}

pub(super) const fn verdict(action: Action) -> u32 {
    match action {
        Action::Allow => ALLOW,
        Action::Errno(errno) => ERRNO | errno as u32,
    }
}

#[cfg(test)]
mod tests;
