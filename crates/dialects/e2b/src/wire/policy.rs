//! E2B's network fields in the words of the gate (reference `e2b.md` 2.4).
//!
//! E2B's rules: everything public is open unless something closes it; `denyOut` takes ranges; `allowOut` takes ranges
//! and names and wins over `denyOut`; names need `denyOut` to hold all traffic, for a name in an open policy would
//! say nothing. `allow_internet_access: false` is the same as denying all traffic.

use std::net::IpAddr;
use std::time::Duration;

use hood_policy::{Allow, Base, Budget, HostRule, Pattern, Policy, Range, Socks5, Target, Transform};

use super::network::{Egress, Extension};
use crate::reply::Reply;

/// E2B's name for all traffic, its SDKs' `ALL_TRAFFIC`. It stands for both families.
const ALL_TRAFFIC: &str = "0.0.0.0/0";

/// What `network` and `allow_internet_access` say together.
pub(crate) fn policy(egress: &Egress, internet: Option<bool>) -> Result<Policy, Reply> {
    let deny_all = says_all(egress.deny_out.as_deref());
    let closed = internet == Some(false) || deny_all;
    let extension = egress.hood.clone().unwrap_or_default();
    let policy = Policy {
        base: if closed { Base::Closed } else { Base::Open },
        allow: allow(egress, deny_all)?,
        deny: deny(egress)?,
        dns_servers: dns_servers(egress)?,
        proxy: proxy(egress),
        hosts: hosts(egress, &extension)?,
        budget: extension.budget(),
        profile: extension.profile,
        log_only: extension.log_only,
    };
    Ok(policy)
}

fn says_all(list: Option<&[String]>) -> bool {
    list.is_some_and(|list| list.iter().any(|entry| entry.trim() == ALL_TRAFFIC))
}

fn allow(egress: &Egress, deny_all: bool) -> Result<Vec<Allow>, Reply> {
    let entries = egress.allow_out.as_deref().unwrap_or_default().iter();
    let allow = |entry: &String| {
        let to = match entry.parse::<Range>() {
            Ok(range) => Target::Range(range),
            Err(_) => Target::Name(name(entry, deny_all)?),
        };
        Ok(Allow { to, ports: Vec::new() })
    };
    let mut all = entries.map(allow).collect::<Result<Vec<_>, Reply>>()?;
    if says_all(egress.allow_out.as_deref()) {
        all.push(Allow { to: Target::Range(Range::ALL_V6), ports: Vec::new() });
    }
    Ok(all)
}

fn name(entry: &str, deny_all: bool) -> Result<Pattern, Reply> {
    let pattern: Pattern = entry.parse().map_err(|error| {
        Reply::invalid(format!("`allowOut` holds neither an address, a range nor a host name: {error}"))
    })?;
    if deny_all {
        return Ok(pattern);
    }
    Err(Reply::invalid(format!(
        "`allowOut` names the host `{pattern}`, which allows nothing more while everything is open; deny all traffic \
         beside it: `denyOut: [\"{ALL_TRAFFIC}\"]` (`ALL_TRAFFIC` in the SDKs)"
    )))
}

fn deny(egress: &Egress) -> Result<Vec<Range>, Reply> {
    let entries = egress.deny_out.as_deref().unwrap_or_default();
    let range = |entry: &String| {
        entry.parse::<Range>().map_err(|error| {
            Reply::invalid(format!("`denyOut` takes addresses and ranges, no host names: {error}"))
        })
    };
    entries.iter().filter(|entry| entry.trim() != ALL_TRAFFIC).map(range).collect()
}

fn dns_servers(egress: &Egress) -> Result<Vec<IpAddr>, Reply> {
    let servers = egress.dns_servers.as_deref().unwrap_or_default();
    let server = |text: &String| {
        text.parse().map_err(|_| {
            Reply::invalid(format!(
                "`dnsServers` holds `{}`, which is no address",
                crate::extract::shown(text)
            ))
        })
    };
    servers.iter().map(server).collect()
}

fn proxy(egress: &Egress) -> Option<Socks5> {
    let proxy = egress.proxy.clone()?;
    Some(Socks5 {
        address: proxy.address,
        username: proxy.username,
        password: proxy.password,
        tls: proxy.tls.and_then(super::network::EgressProxyTls::into_policy),
    })
}

/// One rule a host, as E2B has it; our own requests join the rule of the same host.
fn hosts(egress: &Egress, extension: &Extension) -> Result<Vec<HostRule>, Reply> {
    let mut hosts = Vec::new();
    for (host, rules) in egress.rules.iter().flatten() {
        let [rule] = rules.as_slice() else {
            let text = format!("`rules` has {} entries for `{host}`; give one", rules.len());
            return Err(Reply::invalid(text));
        };
        let headers = rule.transform.as_ref().map(|transform| transform.headers.clone()).unwrap_or_default();
        hosts.push(HostRule {
            host: pattern("rules", host)?,
            transform: Transform { headers },
            requests: extension.requests.get(host).cloned().unwrap_or_default(),
        });
    }
    let ruled = |host: &String| egress.rules.as_ref().is_some_and(|rules| rules.contains_key(host));
    for (host, requests) in extension.requests.iter().filter(|(host, _)| !ruled(host)) {
        let (transform, requests) = (Transform::default(), requests.clone());
        hosts.push(HostRule { host: pattern("hood.requests", host)?, transform, requests });
    }
    Ok(hosts)
}

fn pattern(field: &str, host: &str) -> Result<Pattern, Reply> {
    host.parse().map_err(|error| Reply::invalid(format!("`{field}`: {error}")))
}

// === impl Extension ===

impl Extension {
    fn budget(&self) -> Budget {
        Budget {
            bytes_out: self.bytes_out,
            bytes_in: self.bytes_in,
            bytes_per_second: self.bytes_per_second,
            connections_per_second: self.connections_per_second,
            connection_time: self.connection_seconds.map(Duration::from_secs),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(json: &str, internet: Option<bool>) -> Result<Policy, Reply> {
        policy(&serde_json::from_str(json).expect("fits"), internet)
    }

    #[track_caller]
    fn refused(json: &str, part: &str) {
        let message = parsed(json, None).expect_err("refused").message;
        assert!(message.contains(part), "{message}");
    }

    #[test]
    fn everything_public_is_open_until_something_closes_it() {
        assert_eq!(parsed("{}", None).expect("open").base, Base::Open);
        assert_eq!(parsed("{}", Some(false)).expect("closed").base, Base::Closed);
        let denied = parsed(r#"{"denyOut":["0.0.0.0/0"]}"#, Some(true)).expect("closed");
        assert_eq!((denied.base, denied.deny), (Base::Closed, vec![]));
    }

    #[test]
    fn ranges_and_names_go_where_they_belong() {
        let policy = parsed(r#"{"allowOut":["1.1.1.1","*.example.com"],"denyOut":["0.0.0.0/0"]}"#, None)
            .expect("a policy");
        let range = |text: &str| Target::Range(text.parse().expect("a range"));
        let name = Target::Name("*.example.com".parse().expect("a pattern"));
        let to: Vec<_> = policy.allow.into_iter().map(|allow| allow.to).collect();
        assert_eq!(to, [range("1.1.1.1"), name]);
        let policy = parsed(r#"{"denyOut":["8.8.8.0/24"]}"#, None).expect("a policy");
        assert_eq!((policy.base, policy.deny.len()), (Base::Open, 1));
    }

    #[test]
    fn what_e2b_refuses_is_refused() {
        refused(r#"{"denyOut":["example.com"]}"#, "`denyOut` takes addresses and ranges");
        refused(r#"{"allowOut":["example.com"]}"#, "0.0.0.0/0");
        refused(r#"{"allowOut":["exa mple.com"],"denyOut":["0.0.0.0/0"]}"#, "`allowOut`");
        refused(r#"{"rules":{"example.com":[]}}"#, "0 entries for `example.com`");
        refused(r#"{"dnsServers":["dns.example.com"]}"#, "which is no address");
    }

    #[test]
    fn our_extension_says_what_e2b_cannot() {
        let policy = parsed(
            r#"{"rules":{"api.example.com":[{"transform":{"headers":{"x-key":"k"}}}]},
                "hood":{"requests":{"api.example.com":[{"methods":["GET"],"path":"/v1"}]},"bytesOut":10,
                        "connectionSeconds":3,"logOnly":true,"profile":"packages"}}"#,
            None,
        )
        .expect("a policy");
        let [host] = policy.hosts.as_slice() else { panic!("one host") };
        assert_eq!((host.transform.headers["x-key"].as_str(), host.requests.len()), ("k", 1));
        assert_eq!(policy.budget.bytes_out, Some(10));
        assert_eq!(policy.budget.connection_time, Some(Duration::from_secs(3)));
        assert!(policy.log_only);
        assert_eq!(policy.profile.as_deref(), Some("packages"));
        let unknown = serde_json::from_str::<Egress>(r#"{"hood":{"bytesout":1}}"#);
        assert!(unknown.is_err(), "a typo in our own field");
    }
}
