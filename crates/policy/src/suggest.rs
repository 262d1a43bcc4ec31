//! The smallest policy that allows what was seen.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use crate::closed::closed;
use crate::request::{is_token, segments, written};
use crate::wide::is_over_wide;
use crate::{Allow, HostRule, HttpRule, Name, Pattern, Policy, Range, Target, Transform, limits};

/// So many hosts of one parent become a wildcard. Fewer may be chance.
const SIBLINGS: usize = 3;

/// So many paths of one host are listed each; more are cut down to what they have in common.
const PATHS: usize = 8;

/// Nobody reads deeper paths, and whoever made them may have meant to keep us busy.
const DEPTH: usize = 16;

/// One thing that a sandbox did or tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The host by name, where one was seen.
    pub name: Option<Name>,
    /// Where to.
    pub to: SocketAddr,
    /// The request's method, where HTTP was seen.
    pub method: Option<String>,
    /// The request's path, where HTTP was seen.
    pub path: Option<String>,
}

/// A policy with a closed base that allows all of it and as little else as can be said in lines a person reads.
///
/// Hosts are allowed by name and port; three or more of one owner become a wildcard (never an over-wide one).
/// Addresses are named only where no name was seen. A host whose every visit showed its request gets request rules,
/// as far as there may be rules. What is closed in every policy is left out: no policy opens it.
pub fn suggest(seen: impl IntoIterator<Item = Seen>) -> Policy {
    let mut hosts: BTreeMap<Name, Host> = BTreeMap::new();
    let mut addresses: BTreeMap<Range, BTreeSet<u16>> = BTreeMap::new();
    for one in seen {
        if one.to.port() == 0 || closed(one.to.ip()).is_some() {
            continue;
        }
        match one.name {
            Some(name) => hosts.entry(name).or_default().visited(one.to.port(), one.method.zip(one.path)),
            None => {
                addresses.entry(Range::one(one.to.ip())).or_default().insert(one.to.port());
            }
        }
    }
    let rules = hosts.iter().filter_map(|(name, host)| host.rule(name)).take(limits::HOST_RULES).collect();
    let names = folded(&hosts).into_iter().map(|(pattern, ports)| line(Target::Name(pattern), ports));
    let ranges = addresses.into_iter().map(|(range, ports)| line(Target::Range(range), ports));
    Policy { allow: names.chain(ranges).collect(), hosts: rules, ..Policy::default() }
}

/// So many ports as may be said; where there are more, all.
fn line(to: Target, ports: BTreeSet<u16>) -> Allow {
    let ports = if ports.len() > limits::LINE_PORTS { Vec::new() } else { ports.into_iter().collect() };
    Allow { to, ports }
}

/// Hosts, or wildcards where there are enough of one parent.
fn folded(hosts: &BTreeMap<Name, Host>) -> Vec<(Pattern, BTreeSet<u16>)> {
    let mut families: BTreeMap<Option<Name>, Vec<&Name>> = BTreeMap::new();
    for name in hosts.keys() {
        families.entry(name.parent()).or_default().push(name);
    }
    let mut all = Vec::new();
    for (parent, children) in families {
        let wildcard = parent.map(Pattern::Below).filter(|pattern| !is_over_wide(pattern));
        match wildcard {
            Some(wildcard) if children.len() >= SIBLINGS => {
                let ports = children.iter().flat_map(|name| &hosts[*name].ports).copied();
                all.push((wildcard, ports.collect()));
            }
            _ => all.extend(
                children.into_iter().map(|name| (Pattern::Exact(name.clone()), hosts[name].ports.clone())),
            ),
        }
    }
    all
}

/// What was seen of one host.
#[derive(Debug, Default)]
struct Host {
    ports: BTreeSet<u16>,
    /// Methods by path.
    requests: BTreeMap<Vec<String>, BTreeSet<String>>,
    /// A visit showed no request, or one that no rule can mean.
    opaque: bool,
}

// === impl Host ===

impl Host {
    fn visited(&mut self, port: u16, request: Option<(String, String)>) {
        self.ports.insert(port);
        let request = request
            .and_then(|(method, path)| Some((method, segments(&path)?)))
            .filter(|(method, _)| is_token(method));
        match request {
            Some((method, path)) => {
                self.requests.entry(path).or_default().insert(method);
            }
            None => self.opaque = true,
        }
    }

    fn rule(&self, name: &Name) -> Option<HostRule> {
        let host = Pattern::Exact(name.clone());
        if self.opaque || host.to_string().len() > limits::HOST_BYTES {
            return None;
        }
        let deepest = self.requests.keys().map(Vec::len).max()?.min(DEPTH);
        let cut = (0..=deepest).rev().map(|depth| self.cut(depth));
        let few = cut.into_iter().find(|paths| paths.len() <= PATHS)?;
        let requests: Vec<_> = few
            .into_iter()
            .map(|(path, methods)| HttpRule { methods: methods.into_iter().collect(), path: written(&path) })
            .collect();
        let fits =
            |rule: &HttpRule| rule.methods.len() <= limits::METHODS && rule.path.len() <= limits::PATH_BYTES;
        requests.iter().all(fits).then(|| HostRule { host, transform: Transform::default(), requests })
    }

    /// The requests by the beginnings of their paths.
    fn cut(&self, depth: usize) -> BTreeMap<Vec<String>, BTreeSet<String>> {
        let mut paths: BTreeMap<Vec<String>, BTreeSet<String>> = BTreeMap::new();
        for (path, methods) in &self.requests {
            let path = path.iter().take(depth).cloned().collect();
            paths.entry(path).or_default().extend(methods.iter().cloned());
        }
        paths
    }
}
