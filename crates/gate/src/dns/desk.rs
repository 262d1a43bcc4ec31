//! Where the questions of one sandbox are decided on.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hickory_proto::op::ResponseCode;
use hickory_proto::rr::RecordType;
use hood_policy::{
    Attempt, Ceiling, FirstBytes, Name, Policy, Protocol, Reason, Verdict, closed, closed_under,
};

use super::config::PORT;
use super::kinds::{Kind, is_wide, kind};
use super::lookups::Lookups;
use super::question::{Misfit, Question, Way};
use super::resolver::Resolver;
use crate::audit;

/// Answers the questions of one sandbox.
pub(crate) struct Desk {
    /// Whom it asks.
    pub(crate) resolver: Arc<Resolver>,
    /// Where it writes down what it has answered.
    pub(crate) lookups: Arc<Lookups>,
    /// The policy of the moment, and what bounds it.
    pub(crate) rules: Arc<dyn Fn() -> (Arc<Policy>, Arc<Ceiling>) + Send + Sync>,
    /// Is told of each question.
    pub(crate) asked: Arc<dyn Fn(Asked) + Send + Sync>,
}

/// What became of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) kind: audit::Kind,
    /// In the notation of zone files; `None` where no question was read.
    pub(crate) name: Option<String>,
    /// An address that was taken out of the answer (port 0), or a name server that may not be asked.
    pub(crate) to: Option<SocketAddr>,
    pub(crate) rule: Option<Reason>,
    /// What was sent to name servers; nothing for what was known.
    pub(crate) bytes_out: u64,
    pub(crate) bytes_in: u64,
    pub(crate) duration: Duration,
}

impl Asked {
    fn new(kind: audit::Kind, name: String, rule: Reason) -> Self {
        let rule = Some(rule);
        Self { kind, name: Some(name), to: None, rule, bytes_out: 0, bytes_in: 0, duration: Duration::ZERO }
    }

    /// Refused because there were too many.
    pub(super) fn too_many() -> Self {
        Self { name: None, ..Self::new(audit::Kind::Denied, String::new(), Reason::TooMany) }
    }
}

impl Desk {
    /// The answer to a message; `None` where there is none to give.
    ///
    /// A name that may not be asked for does not exist (NXDOMAIN): of all refusals that is the one that programs take
    /// for final at once. It comes with an extended error (RFC 8914), which `dig` shows. A name that may be asked for
    /// has no records (NOERROR, empty) of types that are not passed on, and none when all its addresses are closed:
    /// NXDOMAIN would speak of its other records, too.
    pub(super) async fn answer(&self, bytes: &[u8], way: Way) -> Option<Vec<u8>> {
        let question = match Question::read(bytes) {
            Ok(question) => question,
            Err(Misfit::Silence) => return None,
            Err(Misfit::Answer(bytes)) => return Some(bytes),
        };
        let (policy, ceiling) = (self.rules)();
        let denied = |rule| (self.asked)(Asked::new(audit::Kind::Denied, question.text(), rule));
        let Some(name) = &question.name else {
            denied(Reason::NoName);
            return Some(question.prohibited(ResponseCode::NXDomain, way));
        };
        let (verdict, rule) = match judge(&policy, &ceiling, name, &question) {
            Ok(allowed) => allowed,
            Err(Refusal::Unrecorded) => return Some(question.prohibited(ResponseCode::NoError, way)),
            Err(Refusal::Recorded(code, rule)) => {
                denied(rule);
                return Some(question.prohibited(code, way));
            }
        };
        let servers = match own_servers(&policy, &ceiling) {
            Ok(servers) => servers,
            Err((server, rule)) => {
                let asked = Asked::new(audit::Kind::Denied, question.text(), rule);
                (self.asked)(Asked { to: Some(server), ..asked });
                return Some(question.answer(ResponseCode::ServFail, Vec::new(), way));
            }
        };
        let asked = Asked::new(verdict, question.text(), rule);
        Some(self.pass_on((&question, name), &servers, &ceiling, asked, way).await)
    }

    async fn pass_on(
        &self,
        (question, name): (&Question, &Name),
        servers: &[SocketAddr],
        ceiling: &Ceiling,
        asked: Asked,
        way: Way,
    ) -> Vec<u8> {
        let since = Instant::now();
        let resolved = match self.resolver.resolve(name, question.kind(), servers).await {
            Ok(resolved) => resolved,
            Err(error) => {
                tracing::debug!(%error, "a name could not be resolved");
                (self.asked)(Asked { duration: since.elapsed(), ..asked });
                return question.answer(ResponseCode::ServFail, Vec::new(), way);
            }
        };
        let (bytes_out, bytes_in) = (resolved.bytes_out, resolved.bytes_in);
        (self.asked)(Asked { bytes_out, bytes_in, duration: since.elapsed(), ..asked });
        let (answer, out) = resolved.answer.without(|address| closed_under(address, ceiling));
        for (address, word) in out {
            let rule = Reason::ClosedRange(word.to_owned());
            let asked = Asked::new(audit::Kind::Denied, question.text(), rule);
            (self.asked)(Asked { to: Some((address, 0).into()), ..asked });
        }
        self.lookups.tell(name, &answer.addresses());
        question.answer(answer.code, answer.records, way)
    }
}

/// Why a question is not passed on.
enum Refusal {
    /// Programs ask by habit, and mean no harm: no entry.
    Unrecorded,
    Recorded(ResponseCode, Reason),
}

/// Whether a question may be passed on, and which rule says so.
fn judge(
    policy: &Policy,
    ceiling: &Ceiling,
    name: &Name,
    question: &Question,
) -> Result<(audit::Kind, Reason), Refusal> {
    let (verdict, rule) = match hood_policy::may_ask(policy, ceiling, name) {
        Verdict::Allow(rule) => (audit::Kind::Allowed, rule),
        Verdict::WouldDeny(rule) => (audit::Kind::WouldDeny, rule),
        Verdict::Deny(rule) => return Err(Refusal::Recorded(ResponseCode::NXDomain, rule)),
        Verdict::NeedsName => return Err(Refusal::Recorded(ResponseCode::NXDomain, Reason::NoName)),
    };
    let of_type = || Reason::RecordType(question.kind().to_string());
    match kind(question.kind()) {
        Kind::Refused => Err(Refusal::Recorded(ResponseCode::Refused, of_type())),
        Kind::None => Err(Refusal::Unrecorded),
        Kind::Data if !(is_wide(policy) && is_wide(&ceiling.policy)) => {
            Err(Refusal::Recorded(ResponseCode::NoError, of_type()))
        }
        // What is behind a closed address has a name that is nobody's business.
        Kind::Data if question.kind() == RecordType::PTR => match question.reversed().and_then(closed) {
            Some(word) => {
                Err(Refusal::Recorded(ResponseCode::NXDomain, Reason::ClosedRange(word.to_owned())))
            }
            None => Ok((verdict, rule)),
        },
        Kind::Data | Kind::Address => Ok((verdict, rule)),
    }
}

/// The name servers that a policy names. They are bounded like everything that it names: a closed address, or one
/// that the profile does not open, is not asked, and then neither are others.
fn own_servers(policy: &Policy, ceiling: &Ceiling) -> Result<Vec<SocketAddr>, (SocketAddr, Reason)> {
    let servers: Vec<SocketAddr> = policy.dns_servers.iter().map(|ip| (*ip, PORT).into()).collect();
    for to in &servers {
        let (name, protocol, first_bytes) = (None, Protocol::Dns, FirstBytes::Read);
        let attempt = Attempt { to: *to, name, looked_up: false, protocol, first_bytes };
        if let Verdict::Deny(rule) = hood_policy::decide(&ceiling.policy, ceiling, &attempt) {
            return Err((*to, rule));
        }
    }
    Ok(servers)
}
