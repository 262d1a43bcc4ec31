//! The compiled program, run by the interpreter, against the table it came from.

use super::super::interpreter::{Call, run};
use super::super::profile::{Nested, Who};
use super::*;

const I386: u32 = 0x4000_0003;

fn call(number: u32, args: &[u64]) -> Call {
    let mut all = [0; 6];
    all[..args.len()].copy_from_slice(args);
    Call { arch: AUDIT_ARCH_X86_64, number, args: all }
}

fn errno(n: u32) -> u32 {
    ERRNO | n
}

#[track_caller]
fn check(call: &Call, expected: u32) {
    let program = compile(&Profile::shipped(Who::Payload, Nested::Closed).expect("valid data"));
    assert_eq!(run(&program, call), expected, "call {} {:x?}", call.number, call.args);
}

#[test]
fn every_number_gets_its_plain_answer() {
    let each = [Nested::Closed, Nested::Open].map(|nested| [(Who::Guest, nested), (Who::Payload, nested)]);
    for (who, nested) in each.into_iter().flatten() {
        let profile = Profile::shipped(who, nested).expect("valid data");
        let program = compile(&profile);
        for number in 0..=profile.newest + 50 {
            let expected = match profile.rules.get(&number) {
                Some(rule) if rule.clauses.is_empty() => verdict(rule.otherwise),
                Some(_) => continue,
                None if number > profile.newest => errno(38),
                None => errno(1),
            };
            assert_eq!(run(&program, &call(number, &[])), expected, "{who:?} {nested:?} {number}");
        }
    }
}

#[test]
fn other_instruction_sets_do_not_get_around_it() {
    check(&Call { arch: I386, ..call(20, &[]) }, KILL_PROCESS);
    check(&call(X32_BIT | 0x27, &[]), errno(38));
}

#[test]
fn namespaces_cannot_be_made() {
    check(&call(56, &[0x1000_0011]), errno(1)); // clone(CLONE_NEWUSER)
    check(&call(56, &[17]), ALLOW);
    check(&call(272, &[0x0002_0000]), errno(1)); // unshare(CLONE_NEWNS)
    check(&call(272, &[0x200]), ALLOW); // unshare(CLONE_FS)
    check(&call(435, &[]), errno(38)); // clone3
}

#[test]
fn high_bits_do_not_hide_an_argument() {
    check(&call(16, &[0, 0x5412 | 1 << 32]), errno(1)); // TIOCSTI
    check(&call(16, &[0, 0x5401]), ALLOW);
    check(&call(41, &[0x28 | 1 << 32, 1, 0]), errno(97)); // AF_VSOCK
}

#[test]
fn sockets_are_of_the_usual_kinds() {
    check(&call(41, &[1, 1, 0]), ALLOW);
    check(&call(41, &[2, 1, 6]), ALLOW);
    check(&call(41, &[10, 2, 17]), ALLOW);
    check(&call(41, &[2, 1, 132]), errno(93)); // SCTP
    check(&call(41, &[16, 3, 0]), ALLOW);
    check(&call(41, &[16, 3, 15]), errno(93));
    check(&call(41, &[38, 5, 0]), errno(97)); // AF_ALG
}

#[test]
fn core_limits_are_pretended() {
    check(&call(302, &[0, 4, 0x7fff_0000_0000, 0]), errno(0));
    check(&call(302, &[0, 4, 0, 0x7fff]), ALLOW);
    check(&call(302, &[0, 7, 0x7fff, 0]), ALLOW);
    check(&call(160, &[4]), errno(0));
}

#[test]
fn the_program_fits_the_kernel() {
    let program = compile(&Profile::shipped(Who::Payload, Nested::Closed).expect("valid data"));
    assert!(program.len() < 400, "{} instructions", program.len());
}
