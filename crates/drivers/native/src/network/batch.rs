//! Netlink messages: how rules are told to the kernel, and how its answer is read. Numbers: `linux/netlink.h`,
//! `linux/netfilter/nfnetlink.h`, `linux/netfilter/nf_tables.h`.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{RecvFlags, SendFlags};

use super::rule::{Chain, Expression, Load, Refusal, Ruleset};

const REQUEST: u16 = 1;
const ACK: u16 = 4;
pub(super) const CREATE: u16 = 0x400;
const APPEND: u16 = 0x800;

const NETFILTER_TABLES: u16 = 10 << 8;
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
const NEW_TABLE: u16 = NETFILTER_TABLES;
const NEW_CHAIN: u16 = NETFILTER_TABLES | 3;
const NEW_RULE: u16 = NETFILTER_TABLES | 6;

/// Both IP families.
const INET: u8 = 1;
/// Packets that programs send.
const HOOK_OUTPUT: u32 = 3;
/// Registers of 16 bytes.
const FIRST: u32 = 1;
const SECOND: u32 = 2;

const NESTED: u16 = 0x8000;
const HEADER: usize = 16;

/// Messages in the making, one after the other.
#[derive(Default)]
pub(super) struct Writer {
    bytes: Vec<u8>,
    count: u32,
    open: Vec<usize>,
}

impl Writer {
    /// A message of this kind, whose fixed part is `fixed`.
    pub(super) fn message(&mut self, kind: u16, flags: u16, fixed: &[u8], body: impl FnOnce(&mut Self)) {
        self.count += 1;
        let start = self.bytes.len();
        self.bytes.extend(0_u32.to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend((flags | REQUEST).to_ne_bytes());
        self.bytes.extend(self.count.to_ne_bytes());
        self.bytes.extend(0_u32.to_ne_bytes());
        self.bytes.extend(fixed);
        body(self);
        let size = u32::try_from(self.bytes.len() - start).unwrap_or(u32::MAX);
        self.overwrite(start, &size.to_ne_bytes());
        self.open.push(start);
    }

    /// An attribute; all values are in network order where the kernel wants them so.
    pub(super) fn attribute(&mut self, kind: u16, value: &[u8]) {
        let size = u16::try_from(value.len() + 4).unwrap_or(u16::MAX);
        self.bytes.extend(size.to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    pub(super) fn number(&mut self, kind: u16, value: u32) {
        self.attribute(kind, &value.to_be_bytes());
    }

    fn text(&mut self, kind: u16, text: &str) {
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(0);
        self.attribute(kind, &bytes);
    }

    fn nest(&mut self, kind: u16, body: impl FnOnce(&mut Self)) {
        let start = self.bytes.len();
        self.attribute(kind | NESTED, &[]);
        body(self);
        let size = u16::try_from(self.bytes.len() - start).unwrap_or(u16::MAX);
        self.overwrite(start, &size.to_ne_bytes());
    }

    fn overwrite(&mut self, at: usize, with: &[u8]) {
        if let Some(place) = self.bytes.get_mut(at..at + with.len()) {
            place.copy_from_slice(with);
        }
    }

    /// The kernel answers to the `back`th message from the end, and to every one that fails.
    pub(super) fn finish(mut self, back: usize) -> Vec<u8> {
        let asks = self.open.len().checked_sub(back).and_then(|i| self.open.get(i)).copied();
        if let Some(at) = asks {
            let flags =
                self.bytes.get(at + 6..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u16::from_ne_bytes);
            self.overwrite(at + 6, &(flags | ACK).to_ne_bytes());
        }
        self.bytes
    }
}

/// One transaction that loads all of it.
pub(super) fn ruleset(set: &Ruleset) -> Vec<u8> {
    let mut writer = Writer::default();
    let [high, low] = (NETFILTER_TABLES >> 8).to_be_bytes();
    writer.message(BATCH_BEGIN, 0, &[0, 0, high, low], |_| {});
    writer.message(NEW_TABLE, CREATE, &[INET, 0, 0, 0], |w| w.text(1, &set.table));
    for chain in &set.chains {
        writer.message(NEW_CHAIN, CREATE, &[INET, 0, 0, 0], |w| self::chain(w, &set.table, chain));
    }
    for chain in &set.chains {
        for rule in &chain.rules {
            writer.message(NEW_RULE, CREATE | APPEND, &[INET, 0, 0, 0], |w| {
                w.text(1, &set.table);
                w.text(2, &chain.name);
                w.nest(4, |w| rule.iter().for_each(|expression| self::expression(w, expression)));
            });
        }
    }
    writer.message(BATCH_END, 0, &[0, 0, high, low], |_| {});
    // The last rule: the end of a batch is never answered.
    writer.finish(2)
}

fn chain(w: &mut Writer, table: &str, chain: &Chain) {
    w.text(1, table);
    w.text(3, &chain.name);
    w.nest(4, |w| {
        w.number(1, HOOK_OUTPUT);
        w.number(2, chain.priority.cast_unsigned());
    });
    w.number(5, (chain.policy as i32).cast_unsigned());
    w.text(7, &chain.kind);
}

fn expression(w: &mut Writer, expression: &Expression) {
    match expression {
        Expression::Load(Load::Family) => meta(w, 15),
        Expression::Load(Load::Protocol) => meta(w, 16),
        Expression::Load(Load::State) => named(w, "ct", |w| {
            w.number(1, FIRST);
            w.number(2, 0);
        }),
        Expression::Load(Load::Header(base, start, size)) => named(w, "payload", |w| {
            w.number(1, FIRST);
            w.number(2, *base);
            w.number(3, *start);
            w.number(4, *size);
        }),
        Expression::Mask(mask) => named(w, "bitwise", |w| {
            w.number(1, FIRST);
            w.number(2, FIRST);
            w.number(3, u32::try_from(mask.len()).unwrap_or(u32::MAX));
            w.nest(4, |w| w.attribute(1, mask));
            w.nest(5, |w| w.attribute(1, &vec![0; mask.len()]));
        }),
        Expression::Equal(value) => compare(w, 0, value),
        Expression::NotEqual(value) => compare(w, 1, value),
        Expression::CountOver(count) => named(w, "connlimit", |w| {
            w.number(1, *count);
            w.number(2, 1);
        }),
        Expression::Rate { a_second, burst } => named(w, "limit", |w| {
            w.attribute(1, &u64::from(*a_second).to_be_bytes());
            w.attribute(2, &1_u64.to_be_bytes());
            w.number(3, *burst);
            w.number(4, 0);
            w.number(5, 0);
        }),
        Expression::Untrack => named(w, "notrack", |_| {}),
        Expression::Redirect { address, port } => {
            immediate(w, FIRST, address);
            immediate(w, SECOND, &port.to_be_bytes());
            named(w, "nat", |w| {
                w.number(1, 1);
                w.number(2, if address.len() == 4 { 2 } else { 10 });
                w.number(3, FIRST);
                w.number(5, SECOND);
            });
        }
        Expression::Report { group, bytes } => named(w, "log", |w| {
            w.attribute(1, &group.to_be_bytes());
            w.number(3, *bytes);
        }),
        Expression::Refuse(refusal) => named(w, "reject", |w| {
            let (kind, code) = match refusal {
                Refusal::Reset => (1, 0),
                Refusal::Prohibited => (2, 3),
            };
            w.number(1, kind);
            w.attribute(2, &[code]);
        }),
        Expression::End(verdict) => named(w, "immediate", |w| {
            w.number(1, 0);
            w.nest(2, |w| w.nest(2, |w| w.number(1, (*verdict as i32).cast_unsigned())));
        }),
    }
}

fn named(w: &mut Writer, name: &str, body: impl FnOnce(&mut Writer)) {
    w.nest(1, |w| {
        w.text(1, name);
        w.nest(2, body);
    });
}

fn meta(w: &mut Writer, key: u32) {
    named(w, "meta", |w| {
        w.number(2, key);
        w.number(1, FIRST);
    });
}

fn compare(w: &mut Writer, operation: u32, value: &[u8]) {
    named(w, "cmp", |w| {
        w.number(1, FIRST);
        w.number(2, operation);
        w.nest(3, |w| w.attribute(1, value));
    });
}

fn immediate(w: &mut Writer, register: u32, value: &[u8]) {
    named(w, "immediate", |w| {
        w.number(1, register);
        w.nest(2, |w| w.attribute(1, value));
    });
}

/// Sends prepared messages and reads until the kernel has answered to the one that asks for it; the first failure is
/// the result.
pub(super) fn exchange(socket: &OwnedFd, messages: &[u8]) -> io::Result<()> {
    rustix::net::send(socket, messages, SendFlags::empty())?;
    let mut buffer = [0; 16 << 10];
    let (n, _) = rustix::net::recv(socket, &mut buffer, RecvFlags::empty())?;
    // Whatever fails comes first, and each answer begins with a header and the error's number.
    let answer = buffer.get(..n).and_then(|answer| answer.get(HEADER..HEADER + 4));
    let error = answer.and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes);
    match error {
        Some(0) => Ok(()),
        Some(error) => Err(io::Error::from_raw_os_error(-error)),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    /// Kinds and flags of the messages, each of which must fill its size.
    fn messages(mut bytes: &[u8]) -> Vec<(u16, u16)> {
        let mut found = Vec::new();
        while !bytes.is_empty() {
            let size = u32::from_ne_bytes(bytes[..4].try_into().expect("four bytes")) as usize;
            let number = |at: usize| u16::from_ne_bytes(bytes[at..at + 2].try_into().expect("two bytes"));
            found.push((number(4), number(6)));
            bytes = &bytes[size..];
        }
        found
    }

    #[test]
    fn a_batch_is_one_transaction_whose_last_rule_is_answered() {
        let text = "table inet t {\n\tchain c {\n\t\ttype filter hook output priority -1; policy drop;\n\t\taccept\n\t\tnotrack\n\t}\n}\n";
        let bytes = ruleset(&parse::ruleset(text).expect("rules"));
        let expected = [
            (BATCH_BEGIN, REQUEST),
            (NEW_TABLE, REQUEST | CREATE),
            (NEW_CHAIN, REQUEST | CREATE),
            (NEW_RULE, REQUEST | CREATE | APPEND),
            (NEW_RULE, REQUEST | CREATE | APPEND | ACK),
            (BATCH_END, REQUEST),
        ];
        assert_eq!(messages(&bytes), expected);
    }

    /// As nft 1.0.6 sends it.
    #[cfg(target_endian = "little")]
    #[test]
    fn expressions_are_what_nft_would_send() {
        let mut writer = Writer::default();
        expression(&mut writer, &Expression::Equal(vec![17]));
        let expected = [
            0x2c, 0, 1, 0x80, 8, 0, 1, 0, b'c', b'm', b'p', 0, 0x20, 0, 2, 0x80, 8, 0, 1, 0, 0, 0, 0, 1, 8,
            0, 2, 0, 0, 0, 0, 0, 0x0c, 0, 3, 0x80, 5, 0, 1, 0, 17, 0, 0, 0,
        ];
        assert_eq!(writer.bytes, expected);
    }
}
