//! Loopback, addresses and routes. Numbers: `linux/rtnetlink.h`, `linux/if_addr.h`.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::batch::{CREATE, Writer};

const NEW_LINK: u16 = 16;
const NEW_ADDRESS: u16 = 20;
const NEW_ROUTE: u16 = 24;

const INET: u8 = 2;
const INET6: u8 = 10;
/// The loopback interface: the first in every namespace.
const LOOPBACK: u32 = 1;

const TABLE_MAIN: u8 = 254;
const TABLE_LOCAL: u8 = 255;
const BY_ADMINISTRATOR: u8 = 3;
const EVERYWHERE: u8 = 0;
const ON_LINK: u8 = 253;
const ON_HOST: u8 = 254;
const UNICAST: u8 = 1;
const LOCAL: u8 = 2;
const NO_DUPLICATE_CHECK: u32 = 0x2;
/// The kernel would add a route to the address that discards, and only a moment later the one that delivers.
const NO_ROUTE: u32 = 0x200;

/// Loopback up; the sandbox's address on it; the gate's there without being listed, since it is not the sandbox's; and
/// the way to everywhere, which ends in loopback, too.
pub(super) fn v4(own: Ipv4Addr, gate: Ipv4Addr) -> Vec<u8> {
    let mut writer = Writer::default();
    link_up(&mut writer);
    address(&mut writer, INET, &own.octets());
    writer.message(NEW_ROUTE, CREATE, &route(INET, 32, TABLE_LOCAL, ON_HOST, LOCAL), |w| {
        w.attribute(1, &gate.octets());
        w.attribute(4, &LOOPBACK.to_ne_bytes());
    });
    writer.message(NEW_ROUTE, CREATE, &route(INET, 0, TABLE_MAIN, ON_LINK, UNICAST), |w| {
        w.attribute(4, &LOOPBACK.to_ne_bytes());
        w.attribute(7, &own.octets());
    });
    writer.finish(1)
}

/// The same. Every address is the host's own here: a plain route to loopback is one that refuses.
pub(super) fn v6(own: Ipv6Addr) -> Vec<u8> {
    let mut writer = Writer::default();
    address(&mut writer, INET6, &own.octets());
    writer.message(NEW_ROUTE, CREATE, &route(INET6, 0, TABLE_MAIN, EVERYWHERE, LOCAL), |w| {
        w.attribute(4, &LOOPBACK.to_ne_bytes());
        w.attribute(7, &own.octets());
    });
    writer.finish(1)
}

fn link_up(writer: &mut Writer) {
    const UP: u32 = 1;
    let mut fixed = vec![0; 4];
    for number in [LOOPBACK, UP, UP] {
        fixed.extend(number.to_ne_bytes());
    }
    writer.message(NEW_LINK, 0, &fixed, |_| {});
}

fn address(writer: &mut Writer, family: u8, address: &[u8]) {
    let bits = u8::try_from(address.len() * 8).unwrap_or(u8::MAX);
    let mut fixed = vec![family, bits, 0, EVERYWHERE];
    fixed.extend(LOOPBACK.to_ne_bytes());
    writer.message(NEW_ADDRESS, CREATE, &fixed, |w| {
        w.attribute(1, address);
        w.attribute(2, address);
        w.attribute(8, &(NO_DUPLICATE_CHECK | NO_ROUTE).to_ne_bytes());
    });
}

/// `struct rtmsg`, without flags.
fn route(family: u8, bits: u8, table: u8, scope: u8, kind: u8) -> [u8; 12] {
    [family, bits, 0, 0, table, BY_ADMINISTRATOR, scope, kind, 0, 0, 0, 0]
}
