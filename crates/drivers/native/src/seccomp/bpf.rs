//! Classic BPF as seccomp runs it: the five instruction shapes that the compiler needs.

/// `struct sock_filter`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Instruction {
    pub(crate) code: u16,
    pub(crate) jump_true: u8,
    pub(crate) jump_false: u8,
    pub(crate) operand: u32,
}

/// Offsets in `struct seccomp_data`.
pub(super) const NUMBER: u32 = 0;
pub(super) const ARCH: u32 = 4;

/// Offset of the low half of argument `n` on a little-endian machine; the high half follows.
pub(super) const fn argument_low(n: u8) -> u32 {
    16 + 8 * n as u32
}

pub(super) const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
pub(super) const JUMP: u16 = 0x05; // BPF_JMP | BPF_JA
pub(super) const IF_EQUAL: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
pub(super) const IF_AT_LEAST: u16 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
pub(super) const IF_BITS: u16 = 0x45; // BPF_JMP | BPF_JSET | BPF_K
pub(super) const RETURN: u16 = 0x06; // BPF_RET | BPF_K

impl Instruction {
    pub(super) const fn load(offset: u32) -> Self {
        Self { code: LOAD, jump_true: 0, jump_false: 0, operand: offset }
    }

    pub(super) const fn jump(by: u32) -> Self {
        Self { code: JUMP, jump_true: 0, jump_false: 0, operand: by }
    }

    pub(super) const fn branch(code: u16, operand: u32, jump_true: u8, jump_false: u8) -> Self {
        Self { code, jump_true, jump_false, operand }
    }

    pub(super) const fn ret(value: u32) -> Self {
        Self { code: RETURN, jump_true: 0, jump_false: 0, operand: value }
    }

    /// The eight bytes of `struct sock_filter`.
    pub(crate) fn to_bytes(self) -> [u8; 8] {
        let [a, b] = self.code.to_ne_bytes();
        let [k0, k1, k2, k3] = self.operand.to_ne_bytes();
        [a, b, self.jump_true, self.jump_false, k0, k1, k2, k3]
    }
}
