//! Reads the part of nft's language that `data/network.nft` is written in.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::{FromStr, SplitWhitespace};

use super::rule::{Chain, Expression, Load, Refusal, Ruleset, Verdict};

/// A line that is no rule.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("network rules: line {line}: `{text}`")]
pub(super) struct ParseError {
    line: usize,
    text: String,
}

/// One table with chains for outgoing packets.
pub(super) fn ruleset(text: &str) -> Result<Ruleset, ParseError> {
    let mut set = Ruleset { table: String::new(), chains: Vec::new() };
    for (n, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') || line == "}" {
            continue;
        }
        take(&mut set, line).ok_or_else(|| ParseError { line: n + 1, text: line.to_owned() })?;
    }
    Ok(set)
}

fn take(set: &mut Ruleset, line: &str) -> Option<()> {
    let words: Vec<_> = line.split_whitespace().collect();
    match words.as_slice() {
        ["table", "inet", name, "{"] => (*name).clone_into(&mut set.table),
        ["chain", name, "{"] => set.chains.push(Chain {
            name: (*name).to_owned(),
            kind: String::new(),
            priority: 0,
            policy: Verdict::Drop,
            rules: Vec::new(),
        }),
        ["type", kind, "hook", "output", "priority", priority, "policy", policy] => {
            let chain = set.chains.last_mut()?;
            (*kind).clone_into(&mut chain.kind);
            chain.priority = priority.strip_suffix(';')?.parse().ok()?;
            chain.policy = verdict(policy.strip_suffix(';')?)?;
        }
        _ => set.chains.last_mut()?.rules.push(rule(line)?),
    }
    Some(())
}

fn verdict(word: &str) -> Option<Verdict> {
    match word {
        "accept" => Some(Verdict::Accept),
        "drop" => Some(Verdict::Drop),
        "return" => Some(Verdict::Return),
        _ => None,
    }
}

fn rule(line: &str) -> Option<Vec<Expression>> {
    let mut words = line.split_whitespace();
    let mut rule = Vec::new();
    while let Some(word) = words.next() {
        match word {
            "ip" | "ip6" => address(word == "ip6", &mut words, &mut rule)?,
            "meta" => meta(&mut words, &mut rule)?,
            "tcp" | "udp" => port(word, &mut words, &mut rule)?,
            "ct" => connection(&mut words, &mut rule)?,
            "notrack" => rule.push(Expression::Untrack),
            "dnat" => rule.push(redirect(&mut words)?),
            "limit" => rule.push(limit(&mut words)?),
            "log" => {
                rule.push(Expression::Report {
                    group: number_after("group", &mut words)?,
                    bytes: number_after("snaplen", &mut words)?,
                });
            }
            "reject" => rule.push(Expression::Refuse(refusal(&mut words)?)),
            word => rule.push(Expression::End(verdict(word)?)),
        }
    }
    Some(rule)
}

fn number_after<T: FromStr>(word: &str, words: &mut SplitWhitespace<'_>) -> Option<T> {
    if words.next()? != word {
        return None;
    }
    words.next()?.parse().ok()
}

/// `saddr ADDRESS` or `daddr ADDRESS/BITS`.
fn address(v6: bool, words: &mut SplitWhitespace<'_>, rule: &mut Vec<Expression>) -> Option<()> {
    let is_source = match words.next()? {
        "saddr" => true,
        "daddr" => false,
        _ => return None,
    };
    let word = words.next()?;
    let (address, bits) = word.split_once('/').map_or((word, None), |(a, bits)| (a, Some(bits)));
    let bytes = if v6 {
        Ipv6Addr::from_str(address).ok()?.octets().to_vec()
    } else {
        Ipv4Addr::from_str(address).ok()?.octets().to_vec()
    };
    let size = bytes.len();
    let bits: usize = bits.map_or(Some(size * 8), |bits| bits.parse().ok())?;
    if bits > size * 8 {
        return None;
    }
    let start = match (v6, is_source) {
        (false, true) => 12,
        (false, false) => 16,
        (true, true) => 8,
        (true, false) => 24,
    };
    family(v6, rule);
    rule.push(Expression::Load(Load::Header(1, start, u32::try_from(size).ok()?)));
    if bits < size * 8 {
        let mask = (0..size).map(|i| {
            let left = bits.saturating_sub(i * 8).min(8);
            !(0xff_u8.checked_shr(u32::try_from(left).unwrap_or(8)).unwrap_or(0))
        });
        rule.push(Expression::Mask(mask.collect()));
    }
    rule.push(Expression::Equal(bytes));
    Some(())
}

fn family(v6: bool, rule: &mut Vec<Expression>) {
    rule.push(Expression::Load(Load::Family));
    rule.push(Expression::Equal(vec![if v6 { 10 } else { 2 }]));
}

fn meta(words: &mut SplitWhitespace<'_>, rule: &mut Vec<Expression>) -> Option<()> {
    match (words.next()?, words.next()?) {
        ("nfproto", "ipv4") => family(false, rule),
        ("nfproto", "ipv6") => family(true, rule),
        ("l4proto", name) => protocol(name, rule)?,
        _ => return None,
    }
    Some(())
}

fn protocol(name: &str, rule: &mut Vec<Expression>) -> Option<()> {
    let number = match name {
        "tcp" => 6,
        "udp" => 17,
        _ => return None,
    };
    rule.push(Expression::Load(Load::Protocol));
    rule.push(Expression::Equal(vec![number]));
    Some(())
}

fn port(name: &str, words: &mut SplitWhitespace<'_>, rule: &mut Vec<Expression>) -> Option<()> {
    let port: u16 = number_after("dport", words)?;
    protocol(name, rule)?;
    rule.push(Expression::Load(Load::Header(2, 2, 2)));
    rule.push(Expression::Equal(port.to_be_bytes().to_vec()));
    Some(())
}

fn connection(words: &mut SplitWhitespace<'_>, rule: &mut Vec<Expression>) -> Option<()> {
    match words.next()? {
        "state" => {
            let mut bits = 0_u32;
            for state in words.next()?.split(',') {
                bits |= match state {
                    "established" => 2,
                    "related" => 4,
                    "new" => 8,
                    "untracked" => 64,
                    _ => return None,
                };
            }
            rule.push(Expression::Load(Load::State));
            rule.push(Expression::Mask(bits.to_ne_bytes().to_vec()));
            rule.push(Expression::NotEqual(vec![0; 4]));
        }
        "count" => rule.push(Expression::CountOver(number_after("over", words)?)),
        _ => return None,
    }
    Some(())
}

/// `ip to ADDRESS:PORT`.
fn redirect(words: &mut SplitWhitespace<'_>) -> Option<Expression> {
    let (family, "to", to) = (words.next()?, words.next()?, words.next()?) else { return None };
    let to = SocketAddr::from_str(to).ok()?;
    let address = match (family, to.ip()) {
        ("ip", IpAddr::V4(address)) => address.octets().to_vec(),
        ("ip6", IpAddr::V6(address)) => address.octets().to_vec(),
        _ => return None,
    };
    Some(Expression::Redirect { address, port: to.port() })
}

/// `rate N/second burst N packets`.
fn limit(words: &mut SplitWhitespace<'_>) -> Option<Expression> {
    let ("rate", rate) = (words.next()?, words.next()?) else { return None };
    let a_second = rate.strip_suffix("/second")?.parse().ok()?;
    let burst = number_after("burst", words)?;
    (words.next()? == "packets").then_some(Expression::Rate { a_second, burst })
}

fn refusal(words: &mut SplitWhitespace<'_>) -> Option<Refusal> {
    match (words.next()?, words.next()?, words.next()?) {
        ("with", "tcp", "reset") => Some(Refusal::Reset),
        ("with", "icmpx", "admin-prohibited") => Some(Refusal::Prohibited),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CONNECTIONS, GATE, NAMES, OWN, RULES};
    use super::*;
    use crate::limits;

    fn one(text: &str) -> Vec<Expression> {
        rule(text).expect("a rule")
    }

    #[test]
    fn the_shipped_rules_name_the_addresses_of_the_code() {
        let set = ruleset(RULES).expect("sound data");
        assert_eq!(set.chains.iter().map(|c| c.priority).collect::<Vec<_>>(), [-300, -150, -100]);
        assert_eq!(
            set.chains.iter().map(|c| c.policy).collect::<Vec<_>>(),
            [Verdict::Accept, Verdict::Drop, Verdict::Accept]
        );
        let (v4, v6) = (GATE.0.octets().to_vec(), GATE.1.octets().to_vec());
        let expected =
            [(&v4, NAMES), (&v4, NAMES), (&v4, CONNECTIONS), (&v6, NAMES), (&v6, NAMES), (&v6, CONNECTIONS)];
        let redirects = set.chains[2].rules.iter().map(|rule| match rule.last() {
            Some(Expression::Redirect { address, port }) => (address, *port),
            other => panic!("{other:?}"),
        });
        assert_eq!(redirects.collect::<Vec<_>>(), expected);
        // Only what goes to the sandbox itself stays out of the table of connections.
        let untracked = set.chains[0].rules.iter().filter(|rule| rule.last() == Some(&Expression::Untrack));
        let to = untracked.map(|rule| match &rule[rule.len() - 2] {
            Expression::Equal(bytes) => bytes.clone(),
            other => panic!("{other:?}"),
        });
        let own = [
            vec![127, 0, 0, 0],
            OWN.0.octets().to_vec(),
            Ipv6Addr::LOCALHOST.octets().to_vec(),
            OWN.1.octets().to_vec(),
        ];
        assert_eq!(to.collect::<Vec<_>>(), own);
    }

    #[test]
    fn the_shipped_rules_keep_the_ceilings_of_the_table() {
        let set = ruleset(RULES).expect("sound data");
        let steps = set.chains.iter().flat_map(|chain| chain.rules.concat());
        let counts = steps.clone().filter_map(|step| match step {
            Expression::CountOver(count) => Some(count),
            _ => None,
        });
        assert_eq!(counts.collect::<Vec<_>>(), [limits::CONNECTIONS, limits::QUESTIONS]);
        let rate = Expression::Rate { a_second: limits::REFUSED, burst: 50 };
        assert_eq!(steps.filter(|step| *step == rate).count(), 1);
    }

    #[test]
    fn a_range_is_compared_under_its_mask() {
        let family = [Expression::Load(Load::Family), Expression::Equal(vec![2])];
        let rest = [
            Expression::Load(Load::Header(1, 16, 4)),
            Expression::Mask(vec![255, 240, 0, 0]),
            Expression::Equal(vec![172, 16, 0, 0]),
            Expression::End(Verdict::Drop),
        ];
        assert_eq!(one("ip daddr 172.16.0.0/12 drop"), [&family[..], &rest[..]].concat());
        assert_eq!(
            one("ip saddr 1.2.3.4")[2..],
            [Expression::Load(Load::Header(1, 12, 4)), Expression::Equal(vec![1, 2, 3, 4])]
        );
        assert_eq!(one("ip6 daddr ::/0")[3], Expression::Mask(vec![0; 16]));
    }

    #[test]
    fn states_are_bits() {
        let mask = one("ct state established,related,untracked accept")[1].clone();
        assert_eq!(mask, Expression::Mask(70_u32.to_ne_bytes().to_vec()));
    }

    #[test]
    fn what_is_not_understood_names_its_line() {
        for text in [
            "ip daddr 1.2.3.4/33 drop",
            "tcp sport 1 drop",
            "counter accept",
            "dnat ip to [::1]:1",
            "log group 1",
        ] {
            let whole = format!("table inet hood {{\n\tchain a {{\n\t\t{text}\n\t}}\n}}\n");
            assert_eq!(ruleset(&whole), Err(ParseError { line: 3, text: text.to_owned() }));
        }
        assert!(ruleset("accept").is_err());
    }
}
