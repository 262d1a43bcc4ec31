//! The life of one connection: where to, may it, carry it, and what is recorded of it.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use hood_policy::{Attempt, Ceiling, FirstBytes, Name, Policy, Protocol, Reason, Verdict, decide};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use crate::audit::{Entry, Kind};
use crate::budget::Way;
use crate::carry::{self, Charge, Meter, Metered};
use crate::counts::Open;
use crate::dial::{self, Dialer, Out};
use crate::dns::INGRESS_ADDRESS;
use crate::door::reset;
use crate::first::{self, First, Replay, Said};
use crate::limits::RECORDED;
use crate::sandbox::Sandbox;
use crate::tls;

/// What a decision about a live connection can be made from again, when the policy changes.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) to: SocketAddr,
    pub(crate) name: Option<Name>,
    pub(crate) looked_up: bool,
    pub(crate) protocol: Protocol,
    pub(crate) first_bytes: FirstBytes,
    /// Its requests are opened and read by us.
    pub(crate) opened: bool,
}

/// One connection.
struct Connection<'a> {
    sandbox: &'a Arc<Sandbox>,
    number: u64,
    started: Instant,
}

/// The way of one that was let through.
#[derive(Clone, Copy)]
struct Passage<'a> {
    known: &'a Known,
    to: SocketAddr,
    dialer: &'a Dialer,
    meter: &'a Arc<Meter>,
}

impl Known {
    /// What is known before a byte was read.
    fn unread(to: SocketAddr) -> Self {
        Self {
            to,
            name: None,
            looked_up: false,
            protocol: Protocol::Tcp,
            first_bytes: FirstBytes::Unread,
            opened: false,
        }
    }

    pub(crate) fn decide(&self, policy: &Policy, ceiling: &Ceiling) -> Verdict {
        let attempt = Attempt {
            to: self.to,
            name: self.name.as_ref(),
            looked_up: self.looked_up,
            protocol: self.protocol,
            first_bytes: self.first_bytes,
        };
        let verdict = decide(policy, ceiling, &attempt);
        let is_own = !matches!(verdict, Verdict::Deny(_))
            && !dial::is_opened(ceiling, self.to.ip())
            && dial::is_this_host(self.to.ip());
        if is_own {
            Verdict::Deny(Reason::ClosedRange("an address of this host".to_owned()))
        } else {
            verdict
        }
    }

    /// Whether a live connection must be cut under these rules. One that is carried unread must not go on to a host
    /// whose requests are now to be read.
    pub(crate) fn must_end(&self, policy: &Policy, ceiling: &Ceiling) -> bool {
        match self.decide(policy, ceiling) {
            Verdict::Deny(_) | Verdict::NeedsName => true,
            Verdict::Allow(_) | Verdict::WouldDeny(_) => self.must_be_opened(policy, ceiling) && !self.opened,
        }
    }

    /// Whether its requests must be read: the host has rules, or it is let through by name in plain HTTP, and must keep
    /// to that name in every request.
    fn must_be_opened(&self, policy: &Policy, ceiling: &Ceiling) -> bool {
        let ruled = self.name.as_ref().is_some_and(|name| policy.host_rule(name).is_some());
        ruled || (self.protocol == Protocol::Http && !self.stands_without_name(policy, ceiling))
    }

    /// Whether it would be let through without its name: then the name need not be held to.
    fn stands_without_name(&self, policy: &Policy, ceiling: &Ceiling) -> bool {
        let nameless = Self { name: None, looked_up: false, first_bytes: FirstBytes::Read, ..self.clone() };
        !matches!(nameless.decide(policy, ceiling), Verdict::Deny(_))
    }
}

/// Serves one connection until it ends.
pub(crate) async fn serve(sandbox: Arc<Sandbox>, stream: TcpStream, to: SocketAddr) {
    let _open = Open::one(&sandbox.shared.counters.open);
    let number = sandbox.shared.next_connection();
    let connection = Connection { sandbox: &sandbox, number, started: Instant::now() };
    if let Err(error) = connection.run(stream, to).await {
        tracing::debug!(sandbox.id = %sandbox.whose.sandbox, %to, %error, "a connection broke off");
    }
}

/// Refuses one that is too many.
pub(crate) fn refuse_at_once(sandbox: &Arc<Sandbox>, stream: &TcpStream, to: SocketAddr) {
    let number = sandbox.shared.next_connection();
    let connection = Connection { sandbox, number, started: Instant::now() };
    connection.record(Kind::Denied, &Known::unread(to), &Said::Nothing, Some(Reason::TooMany), (0, 0));
    reset(stream);
}

impl Connection<'_> {
    async fn run(&self, mut stream: TcpStream, to: SocketAddr) -> io::Result<()> {
        let (policy, ceiling) = self.sandbox.rules();
        let budget = policy.budget.least(&ceiling.policy.budget);
        let mut known = Known::unread(to);
        let spent = &self.sandbox.spent;
        if !spent.may_connect(&budget) || spent.is_used_up(&budget) {
            self.refuse(&stream, &known, &Said::Nothing, Reason::TooMany);
            return Ok(());
        }
        let mut verdict = known.decide(&policy, &ceiling);
        let to_ourselves = to.ip() == INGRESS_ADDRESS;
        let mut first = First::default();
        if verdict == Verdict::NeedsName || (to_ourselves && !matches!(verdict, Verdict::Deny(_))) {
            first = first::read(&mut stream).await?;
            known.name = first.said.name(to.port()).cloned();
            known.protocol = first.said.protocol();
            known.first_bytes = FirstBytes::Read;
            known.looked_up =
                known.name.as_ref().is_some_and(|name| self.sandbox.lookups.answered(name, to.ip()));
            verdict = known.decide(&policy, &ceiling);
        }
        let decided = match (verdict, self.destination(&known)) {
            (Verdict::Allow(rule), Some(to)) => Ok((Kind::Allowed, rule, to)),
            (Verdict::WouldDeny(rule), Some(to)) => Ok((Kind::WouldDeny, rule, to)),
            (Verdict::Deny(rule), _) => Err(rule),
            (Verdict::NeedsName, _) | (_, None) => Err(Reason::NoName),
        };
        let (kind, rule, dial_to) = match decided {
            Ok(decided) => decided,
            Err(rule) => {
                self.refuse(&stream, &known, &first.said, rule);
                return Ok(());
            }
        };
        self.record(kind, &known, &first.said, Some(rule), (0, 0));

        known.opened = known.must_be_opened(&policy, &ceiling);
        let shared = &self.sandbox.shared;
        let dialer = Dialer {
            resolver: shared.resolver.clone(),
            policy: policy.clone(),
            ceiling,
            ingress: shared.ingress.as_ref().map(|ingress| (ingress.to, shared.visitors.clone())),
            visits: Mutex::default(),
        };
        let meter = Arc::new(self.meter());
        let cut = CancellationToken::new();
        let live = self.sandbox.live.add(self.number, known.clone(), cut.clone());
        // The rules may have changed since they were asked for, and whoever changed them did not see this one yet.
        let (policy, ceiling) = self.sandbox.rules();
        if known.must_end(&policy, &ceiling) {
            cut.cancel();
        }
        let passage = Passage { known: &known, to: dial_to, dialer: &dialer, meter: &meter };
        let cut_short = async {
            tokio::select! {
                () = cut.cancelled() => {}
                () = until(budget.connection_time) => {}
            }
        };
        let carried = tokio::select! {
            biased;
            () = cut_short => Err(io::Error::from(io::ErrorKind::ConnectionAborted)),
            carried = self.carry(&mut stream, first.bytes, passage) => carried,
        };
        drop(live);
        if carried.is_err() {
            reset(&stream);
        }
        let moved = (meter.out.load(Ordering::Relaxed), meter.into.load(Ordering::Relaxed));
        let used_up = carried.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::QuotaExceeded);
        self.record(Kind::Ended, &known, &first.said, used_up.then_some(Reason::TooMany), moved);
        carried
    }

    async fn carry(&self, stream: &mut TcpStream, first: Vec<u8>, passage: Passage<'_>) -> io::Result<()> {
        let Passage { known, to, dialer, meter } = passage;
        if known.opened
            && let Some(name) = &known.name
        {
            return self.open(stream, first, name, passage).await;
        }
        match dialer.dial(to).await? {
            Out::Plain(mut out) => {
                if !first.is_empty() {
                    out.write_all(&first).await?;
                    meter.count(Way::Out, first.len())?;
                }
                carry::plain(stream, &mut out, meter).await
            }
            Out::Sealed(mut out) => {
                let mut inside = Metered::new(Replay::new(first, stream), meter.clone());
                tokio::io::copy_bidirectional(&mut inside, &mut out).await.map(drop)
            }
        }
    }

    /// Requests are read, checked and changed on their way.
    async fn open(
        &self,
        stream: &mut TcpStream,
        first: Vec<u8>,
        name: &Name,
        Passage { known, to, dialer, meter }: Passage<'_>,
    ) -> io::Result<()> {
        let (sandbox, number) = (self.sandbox.clone(), self.number);
        let (of, started) = (known.clone(), self.started);
        let seen = move |seen: tls::Seen<'_>| {
            let connection = Connection { sandbox: &sandbox, number, started };
            let said = Said::Http(crate::head::Head {
                name: of.name.clone(),
                port: None,
                method: seen.method.to_owned(),
                path: seen.path.to_owned(),
            });
            let (kind, rule) = match seen.verdict {
                Verdict::Allow(rule) => (Kind::Allowed, rule.clone()),
                Verdict::WouldDeny(rule) => (Kind::WouldDeny, rule.clone()),
                Verdict::Deny(rule) => (Kind::Denied, rule.clone()),
                Verdict::NeedsName => (Kind::Denied, Reason::NoName),
            };
            connection.record(kind, &of, &said, Some(rule), (0, 0));
        };
        let facts = tls::Facts {
            team: self.sandbox.whose.team.clone(),
            name: name.clone(),
            to: known.to,
            protocol: known.protocol,
            policy: self.sandbox.policy(),
            seen: Arc::new(seen),
        };
        // The interceptor wants to own its stream, and we want to be able to reset it afterwards: a second handle.
        let own = rustix::io::fcntl_dupfd_cloexec(&*stream, 3)?;
        let own = TcpStream::from_std(std::net::TcpStream::from(own))?;
        let inside = Metered::new(Replay::new(first, own), meter.clone());
        let dial = || async {
            Ok(match dialer.dial(to).await? {
                Out::Plain(out) => Box::new(out) as Box<dyn dial::Stream>,
                Out::Sealed(out) => out,
            })
        };
        self.sandbox.shared.interceptor.run(inside, dial, facts).await.map_err(io::Error::other)
    }

    /// Where to dial. The address that stands for this server's own sandboxes leads to its listener, for their hosts.
    fn destination(&self, known: &Known) -> Option<SocketAddr> {
        if known.to.ip() != INGRESS_ADDRESS {
            return Some(known.to);
        }
        let ingress = self.sandbox.shared.ingress.as_ref()?;
        let name = known.name.as_ref().filter(|name| known.looked_up && ingress.serves(name));
        name.map(|_| ingress.to)
    }

    fn meter(&self) -> Meter {
        let sandbox = self.sandbox.clone();
        let charge = move |way, bytes: usize| {
            let (policy, ceiling) = sandbox.rules();
            let budget = policy.budget.least(&ceiling.policy.budget);
            sandbox.shared.count_bytes(way, bytes);
            let pause = sandbox.spent.take(way, bytes, &budget);
            if sandbox.spent.is_used_up(&budget) { Charge::UsedUp } else { Charge::Wait(pause) }
        };
        Meter { out: AtomicU64::new(0), into: AtomicU64::new(0), charge: Box::new(charge) }
    }

    fn refuse(&self, stream: &TcpStream, known: &Known, said: &Said, rule: Reason) {
        self.record(Kind::Denied, known, said, Some(rule), (0, 0));
        reset(stream);
    }

    fn record(&self, kind: Kind, known: &Known, said: &Said, rule: Option<Reason>, moved: (u64, u64)) {
        let (method, path) = match said {
            Said::Http(head) => (Some(cut(&head.method)), Some(cut(&head.path))),
            Said::Tls(_) | Said::Nothing => (None, None),
        };
        self.sandbox.record(Entry {
            at: time::OffsetDateTime::now_utc(),
            sandbox: self.sandbox.whose.sandbox.clone(),
            team: self.sandbox.whose.team.clone(),
            connection: self.number,
            kind,
            name: known.name.as_ref().map(Name::to_string),
            to: Some(known.to),
            protocol: known.protocol,
            method,
            path,
            rule,
            bytes_out: moved.0,
            bytes_in: moved.1,
            duration: if kind == Kind::Ended { self.started.elapsed() } else { std::time::Duration::ZERO },
        });
    }
}

/// What a program inside writes is kept for weeks: not more of it than says what it was.
fn cut(text: &str) -> String {
    let mut end = text.len().min(RECORDED);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().to_owned()
}

async fn until(time: Option<std::time::Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}
