//! What root inside a sandbox may do.

/// Docker's fourteen (reference `walls.md` 2.4), all of them powerless outside. Bit `n` is capability number `n`.
pub const PAYLOAD_CAPABILITIES: u64 = bits(&[
    0,  // CHOWN
    1,  // DAC_OVERRIDE
    3,  // FOWNER
    4,  // FSETID
    5,  // KILL
    6,  // SETGID
    7,  // SETUID
    8,  // SETPCAP
    10, // NET_BIND_SERVICE
    13, // NET_RAW: without it `ping` already fails at exec
    18, // SYS_CHROOT
    27, // MKNOD
    29, // AUDIT_WRITE
    31, // SETFCAP
]);

/// What the guest keeps beside: it starts processes as other accounts and loads their filters, and it stays out of
/// reach of root inside because it can do more.
pub const GUEST_CAPABILITIES: u64 = PAYLOAD_CAPABILITIES
    | bits(&[
        19, // SYS_PTRACE
        21, // SYS_ADMIN
        24, // SYS_RESOURCE
    ]);

const fn bits(numbers: &[u32]) -> u64 {
    let mut set = 0;
    let mut i = 0;
    while i < numbers.len() {
        set |= 1 << numbers[i];
        i += 1;
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guest_can_do_more_than_its_payload() {
        assert_eq!(PAYLOAD_CAPABILITIES.count_ones(), 14);
        assert_eq!(GUEST_CAPABILITIES & PAYLOAD_CAPABILITIES, PAYLOAD_CAPABILITIES);
        assert_ne!(GUEST_CAPABILITIES, PAYLOAD_CAPABILITIES);
    }
}
