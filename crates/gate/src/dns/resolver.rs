//! Names to answers, for all sandboxes: our own tables, what is kept of earlier answers, servers.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use hickory_proto::op::ResponseCode;
use hickory_proto::rr::{Name as Labels, RecordType};
use hood_policy::Name;

use super::bounded::Bounded;
use super::config::{ResolverConfig, ResolverError};
use super::records::Answer;
use super::upstream;
use crate::limits::ANSWERS;

/// Whom was asked, what for.
type Key = (Vec<SocketAddr>, Labels, RecordType);

/// Resolves names; one for the whole gate. It knows no policy.
pub(crate) struct Resolver {
    config: ResolverConfig,
    /// The server's own.
    servers: Vec<SocketAddr>,
    kept: Mutex<Bounded<Key, (Answer, Instant)>>,
}

/// An answer, and what went over the wire for it.
pub(super) struct Resolved {
    pub(super) answer: Answer,
    pub(super) bytes_out: u64,
    pub(super) bytes_in: u64,
}

impl Resolver {
    pub(crate) fn start(config: ResolverConfig) -> Result<Self, ResolverError> {
        let servers = config.servers()?;
        Ok(Self { config, servers, kept: Mutex::new(Bounded::new(ANSWERS)) })
    }

    /// The addresses of a name, for the gate itself: no policy is asked and none is taken out. What one of the two
    /// questions finds is enough.
    pub(crate) async fn addresses(&self, name: &Name) -> io::Result<Vec<IpAddr>> {
        let (mut found, mut failed) = (Vec::new(), None);
        for kind in [RecordType::A, RecordType::AAAA] {
            match self.resolve(name, kind, &[]).await {
                Ok(resolved) => found.extend(resolved.answer.addresses().into_iter().map(|(ip, _)| ip)),
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            Some(error) if found.is_empty() => Err(error),
            _ => Ok(found),
        }
    }

    /// The answer to one question, from these servers or, where none are named, from the server's own.
    pub(super) async fn resolve(
        &self,
        name: &Name,
        kind: RecordType,
        servers: &[SocketAddr],
    ) -> io::Result<Resolved> {
        let servers = if servers.is_empty() { &self.servers } else { servers };
        let labels = labels(name)?;
        let unasked = |answer| Resolved { answer, bytes_out: 0, bytes_in: 0 };
        if let Some(addresses) = self.config.known(name) {
            return Ok(unasked(Answer::known(&labels, kind, &addresses)));
        }
        let key = (servers.to_vec(), labels, kind);
        if let Some(answer) = self.kept(&key) {
            return Ok(unasked(answer));
        }
        let heard = upstream::ask(servers, &key.1, kind).await?;
        let answer = Answer::of(&heard.message, &key.1, kind);
        self.keep(key, &answer);
        Ok(Resolved { answer, bytes_out: heard.bytes_out, bytes_in: heard.bytes_in })
    }

    fn kept(&self, key: &Key) -> Option<Answer> {
        let now = Instant::now();
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (answer, since) = kept.get(key, now)?;
        Some(answer.aged(now - *since))
    }

    fn keep(&self, key: Key, answer: &Answer) {
        let (life, now) = (answer.life(), Instant::now());
        if !life.is_zero() && answer.code != ResponseCode::ServFail {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.put(key, (answer.clone(), now), now + life);
        }
    }
}

/// A name as it is asked for: whole, so that nobody adds a domain to it.
fn labels(name: &Name) -> io::Result<Labels> {
    // Label by label: read as text, the library would refuse some that are on the wire, such as a leading dash.
    let mut labels =
        Labels::from_labels(name.as_str().split('.').map(str::as_bytes)).map_err(io::Error::other)?;
    labels.set_fqdn(true);
    Ok(labels)
}
