//! What holds for every input.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use hood_policy::{
    Allow, Attempt, Base, Ceiling, FirstBytes, HostRule, HttpRule, Name, Pattern, Policy, Protocol, Range,
    Reason, Seen, Target, Transform, Verdict, closed, decide, may_ask, suggest, validate,
};
use proptest::prelude::*;

/// Every way in which an IPv4 address is written into an IPv6 one.
fn embeddings(inner: Ipv4Addr, noise: u64) -> Vec<Ipv6Addr> {
    let v4 = u128::from(u32::from(inner));
    let noise = u128::from(noise);
    let word = |high: u128, low: u128| Ipv6Addr::from(high << 96 | low);
    vec![
        inner.to_ipv6_mapped(),
        Ipv6Addr::from(v4),
        Ipv6Addr::from(0xffff_u128 << 48 | v4),
        word(0x0064_ff9b, v4),
        Ipv6Addr::from(0x0064_ff9b_0001_u128 << 80 | v4),
        Ipv6Addr::from(0x0064_ff9b_0001_u128 << 80 | (v4 >> 16) << 64 | (v4 & 0xffff) << 40),
        Ipv6Addr::from(0x2002_u128 << 112 | v4 << 80 | noise),
        Ipv6Addr::from(0x2001_0000_u128 << 96 | v4 << 64 | noise),
        Ipv6Addr::from(0x2001_0000_u128 << 96 | noise << 32 | (v4 ^ 0xffff_ffff)),
        Ipv6Addr::from(0x2606_u128 << 112 | (noise & 0xffff) << 64 | 0x5efe_u128 << 32 | v4),
    ]
}

/// Addresses, with those that matter more often than chance has them.
fn address() -> impl Strategy<Value = IpAddr> {
    let bases = prop::sample::select(vec![
        [10, 0, 0, 0],
        [127, 0, 0, 0],
        [169, 254, 169, 254],
        [192, 168, 0, 0],
        [100, 64, 0, 0],
        [172, 16, 0, 0],
        [0, 0, 0, 0],
        [198, 18, 0, 0],
        [224, 0, 0, 0],
        [100, 100, 100, 200],
        [168, 63, 129, 16],
        [8, 8, 0, 0],
    ]);
    let v4 = prop_oneof![
        any::<u32>().prop_map(Ipv4Addr::from),
        (bases, 0..3_u32).prop_map(|(base, more)| Ipv4Addr::from(u32::from(Ipv4Addr::from(base)) + more)),
    ];
    let embedded = (v4.clone(), any::<u64>(), any::<prop::sample::Index>())
        .prop_map(|(inner, noise, which)| *which.get(&embeddings(inner, noise)));
    prop_oneof![
        v4.prop_map(IpAddr::V4),
        any::<u128>().prop_map(|bits| IpAddr::V6(bits.into())),
        any::<u128>().prop_map(|bits| IpAddr::V6((bits >> 3 | 1 << 125).into())),
        embedded.prop_map(IpAddr::V6),
    ]
}

fn range() -> impl Strategy<Value = Range> {
    (address(), 0..=128_u8).prop_map(|(address, prefix)| Range::of(address, prefix))
}

fn name() -> impl Strategy<Value = Name> {
    let label = prop::sample::select(vec!["a", "b", "example", "com"]);
    prop::collection::vec(label, 1..4).prop_map(|labels| labels.join(".").parse().expect("labels"))
}

fn pattern() -> impl Strategy<Value = Pattern> {
    prop_oneof![name().prop_map(Pattern::Exact), name().prop_map(Pattern::Below)]
}

fn port() -> impl Strategy<Value = u16> {
    prop_oneof![prop::sample::select(vec![22_u16, 80, 443]), any::<u16>()]
}

fn allow() -> impl Strategy<Value = Allow> {
    let to = prop_oneof![range().prop_map(Target::Range), pattern().prop_map(Target::Name)];
    (to, prop::collection::vec(port(), 0..3)).prop_map(|(to, ports)| Allow { to, ports })
}

fn host() -> impl Strategy<Value = HostRule> {
    (pattern(), any::<bool>()).prop_map(|(host, limited)| HostRule {
        host,
        transform: Transform::default(),
        requests: limited
            .then(|| HttpRule { methods: Vec::new(), path: "/v1".to_owned() })
            .into_iter()
            .collect(),
    })
}

fn policy() -> impl Strategy<Value = Policy> {
    let base = prop_oneof![Just(Base::Open), Just(Base::Closed)];
    let lists = (prop::collection::vec(allow(), 0..5), prop::collection::vec(range(), 0..4));
    (base, lists, prop::collection::vec(host(), 0..3), any::<bool>()).prop_map(
        |(base, (allow, deny), hosts, log_only)| Policy {
            base,
            allow,
            deny,
            hosts,
            log_only,
            ..Policy::default()
        },
    )
}

/// A connection, its name apart.
#[derive(Debug, Clone)]
struct Try {
    to: SocketAddr,
    name: Option<Name>,
    looked_up: bool,
    first_bytes: FirstBytes,
}

impl Try {
    fn decided(&self, policy: &Policy, ceiling: &Ceiling) -> Verdict {
        let Self { to, looked_up, first_bytes, .. } = *self;
        let name = self.name.as_ref();
        decide(policy, ceiling, &Attempt { to, name, looked_up, protocol: Protocol::Tcp, first_bytes })
    }

    /// The same with everything known.
    fn read(&self) -> Self {
        Self { first_bytes: FirstBytes::Read, ..self.clone() }
    }
}

fn attempt() -> impl Strategy<Value = Try> {
    (address(), port(), prop::option::of(name()), any::<bool>(), any::<bool>()).prop_map(
        |(address, port, name, looked_up, read)| {
            let first_bytes = if read { FirstBytes::Read } else { FirstBytes::Unread };
            let name = if read { name } else { None };
            Try {
                to: SocketAddr::new(address, port),
                looked_up: looked_up && name.is_some(),
                name,
                first_bytes,
            }
        },
    )
}

fn lets_through(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Allow(_) | Verdict::WouldDeny(_))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn nothing_closed_is_ever_let_through(policy in policy(), ceiling in policy(), attempt in attempt()) {
        let ceiling = Ceiling { policy: ceiling, open: Vec::new() };
        if closed(attempt.to.ip()).is_some() {
            let verdict = attempt.decided(&policy, &ceiling);
            prop_assert!(matches!(verdict, Verdict::Deny(Reason::ClosedRange(_))), "{verdict:?}");
        }
    }

    #[test]
    fn what_carries_a_closed_address_is_closed(inner in any::<u32>(), noise in any::<u64>()) {
        let inner = Ipv4Addr::from(inner);
        for address in embeddings(inner, noise) {
            prop_assert!(closed(inner.into()).is_none() || closed(address.into()).is_some(), "{address} carries {inner}");
        }
    }

    #[test]
    fn opening_one_range_opens_no_address_outside_it(open in range(), policy in policy(), attempt in attempt()) {
        let ceiling = Ceiling { open: vec![open], ..Ceiling::default() };
        let itself = matches!(attempt.to.ip().to_canonical(), IpAddr::V4(_)) && closed(attempt.to.ip()).is_some();
        if itself && lets_through(&attempt.decided(&policy, &ceiling)) {
            prop_assert!(open.contains(attempt.to.ip()));
        }
    }

    #[test]
    fn an_empty_allow_list_denies(deny in prop::collection::vec(range(), 0..3), ceiling in policy(), attempt in attempt()) {
        let policy = Policy { deny, ..Policy::default() };
        let verdict = attempt.decided(&policy, &Ceiling { policy: ceiling, open: vec![Range::ALL_V4, Range::ALL_V6] });
        prop_assert!(matches!(verdict, Verdict::Deny(_)), "{verdict:?}");
    }

    #[test]
    fn less_never_allows_more(
        policy in policy(),
        ceiling in policy(),
        attempt in attempt(),
        removed in any::<prop::sample::Index>(),
        denied in range(),
    ) {
        let mut wide = policy;
        wide.log_only = false;
        let ceiling = Ceiling { policy: ceiling, open: vec![Range::ALL_V4, Range::ALL_V6] };
        let mut fewer = wide.clone();
        if !fewer.allow.is_empty() {
            fewer.allow.remove(removed.index(fewer.allow.len()));
        }
        let mut denying = wide.clone();
        denying.deny.push(denied);
        let closed = Policy { base: Base::Closed, ..wide.clone() };
        for narrow in [fewer, denying, closed] {
            let (less, more) = (attempt.decided(&narrow, &ceiling), attempt.decided(&wide, &ceiling));
            prop_assert!(!lets_through(&less) || lets_through(&more) || more == Verdict::NeedsName, "{less:?} {more:?}");
            prop_assert!(more != Verdict::NeedsName || attempt.first_bytes == FirstBytes::Unread);
            let (less, more) = (attempt.read().decided(&narrow, &ceiling), attempt.read().decided(&wide, &ceiling));
            prop_assert!(!lets_through(&less) || lets_through(&more), "{less:?} {more:?}");
        }
    }

    #[test]
    fn what_is_let_through_unread_is_let_through_nameless(policy in policy(), ceiling in policy(), attempt in attempt()) {
        let ceiling = Ceiling { policy: ceiling, open: vec![Range::ALL_V4] };
        let unread = Try { name: None, looked_up: false, first_bytes: FirstBytes::Unread, ..attempt };
        if lets_through(&unread.decided(&policy, &ceiling)) {
            prop_assert!(lets_through(&unread.read().decided(&policy, &ceiling)));
        }
    }

    #[test]
    fn a_ceiling_is_never_exceeded(policy in policy(), ceiling in policy(), attempt in attempt()) {
        let attempt = attempt.read();
        let ceiling = Ceiling { policy: ceiling, open: vec![Range::ALL_V4] };
        if lets_through(&attempt.decided(&policy, &ceiling)) {
            let alone = attempt.decided(&ceiling.policy, &Ceiling { policy: Ceiling::default().policy, ..ceiling.clone() });
            prop_assert!(lets_through(&alone), "{alone:?}");
        }
    }

    #[test]
    fn a_lookup_never_takes_away(policy in policy(), attempt in attempt()) {
        let (without, with) = (Try { looked_up: false, ..attempt.clone() }, Try { looked_up: true, ..attempt });
        let before = without.decided(&policy, &Ceiling::default());
        let after = with.decided(&policy, &Ceiling::default());
        prop_assert!(!lets_through(&before) || lets_through(&after) || after == before, "{before:?} {after:?}");
    }

    #[test]
    fn names_that_connect_may_be_asked(policy in policy(), name in name(), to in address(), port in port()) {
        let attempt = Try { to: SocketAddr::new(to, port), name: Some(name.clone()), looked_up: true, first_bytes: FirstBytes::Read };
        if let Verdict::Allow(Reason::Allowed(line)) = attempt.decided(&policy, &Ceiling::default()) {
            let by_range = line.parse::<Range>().is_ok_and(|range| !range.is_everything());
            prop_assert!(by_range || matches!(may_ask(&policy, &Ceiling::default(), &name), Verdict::Allow(_)));
        }
    }

    #[test]
    fn names_have_one_spelling(text in "\\PC{0,40}|[a-zA-Z0-9._-]{1,60}") {
        if let Ok(name) = text.parse::<Name>() {
            prop_assert_eq!(name.as_str().parse::<Name>().expect("canonical"), name.clone());
            prop_assert_eq!(&text.to_uppercase().parse::<Name>().expect("upper case"), &name);
            prop_assert!(text.is_ascii() && name.as_str().parse::<IpAddr>().is_err());
        }
        if let Ok(pattern) = text.parse::<Pattern>() {
            prop_assert_eq!(pattern.to_string().parse::<Pattern>().expect("canonical"), pattern);
        }
    }

    #[test]
    fn ranges_have_one_spelling(range in range(), address in address()) {
        prop_assert_eq!(range.to_string().parse::<Range>(), Ok(range));
        prop_assert_eq!(range.contains(address), range.covers(&Range::one(address)));
    }

    #[test]
    fn a_suggestion_allows_what_was_seen_and_is_valid(
        seen in prop::collection::vec((prop::option::of(name()), address(), port(), prop::option::of("/[a-c%./]{0,6}")), 0..12),
    ) {
        let seen: Vec<_> = seen
            .into_iter()
            .map(|(name, address, port, path)| Seen { name, to: SocketAddr::new(address, port), method: path.as_ref().map(|_| "GET".to_owned()), path })
            .collect();
        let policy = suggest(seen.clone());
        prop_assert!(validate(&policy).is_ok(), "{:?}", validate(&policy));
        for one in seen.iter().filter(|one| closed(one.to.ip()).is_none() && one.to.port() != 0) {
            let attempt = Try { to: one.to, name: one.name.clone(), looked_up: one.name.is_some(), first_bytes: FirstBytes::Read };
            let verdict = attempt.decided(&policy, &Ceiling::default());
            prop_assert!(lets_through(&verdict), "{one:?} {verdict:?}");
            let rule = one.name.as_ref().and_then(|name| policy.host_rule(name));
            if let (Some(rule), Some(method), Some(path)) = (rule, &one.method, &one.path) {
                let verdict = hood_policy::decide_request(&policy, rule, method, path);
                prop_assert!(lets_through(&verdict), "{one:?} {verdict:?}");
            }
        }
    }
}
