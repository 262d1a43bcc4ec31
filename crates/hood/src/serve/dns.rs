//! A small name server for closed networks: every name at and below the server's domain has the server's address, and
//! nothing else has an answer. For networks that have a name server of their own, one line there does the same.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use hickory_proto::op::{Message, MessageType, OpCode, ResponseCode};
use hickory_proto::rr::rdata::{A, AAAA, TXT};
use hickory_proto::rr::{DNSClass, Name, RData, Record, RecordType};
use tokio::net::UdpSocket;

use super::acme::Challenges;

/// How long an answer may be kept: short, because the server may move to another address.
const TTL: u32 = 60;

/// The longest question we read; none is longer.
const LONGEST: usize = 1232;

/// What there is to answer.
#[derive(Debug)]
struct Zone {
    domain: Name,
    /// Where an authority looks for what it has told us to say.
    challenge: Name,
    address: IpAddr,
    challenges: Challenges,
}

/// Answers at `listen`. `domain` may carry a port, which does not count.
pub(super) async fn start(
    listen: SocketAddr,
    domain: &str,
    address: IpAddr,
    challenges: Challenges,
) -> Result<tokio::task::AbortHandle> {
    if address.is_unspecified() {
        bail!(
            "the name server would tell `{address}`, which nobody can connect to; name the server's with `--dns-answer`"
        );
    }
    let name = domain.rsplit_once(':').map_or(domain, |(name, _)| name);
    if IpAddr::from_str(name).is_ok() {
        bail!(
            "`--dns` serves a domain, and `{name}` is an address; give one with `--domain`, as in `hood.internal`"
        );
    }
    let mut domain = Name::from_str(name).with_context(|| format!("`{name}` is no domain"))?;
    domain.set_fqdn(true);
    let socket = UdpSocket::bind(listen)
        .await
        .with_context(|| format!("cannot answer names on {listen}; choose another with `--dns`"))?;
    tracing::info!(%listen, %domain, %address, "answering names");
    Ok(tokio::spawn(serve(socket, Zone::new(domain, address, challenges)?)).abort_handle())
}

async fn serve(socket: UdpSocket, zone: Zone) {
    let mut buffer = [0; LONGEST];
    loop {
        let (read, client) = match socket.recv_from(&mut buffer).await {
            Ok(received) => received,
            Err(error) => {
                // A client that went away; the socket itself does not fail.
                tracing::debug!(%error, "a question could not be read");
                continue;
            }
        };
        let Some(answer) = buffer.get(..read).and_then(|question| zone.answer(question)) else { continue };
        if let Err(error) = socket.send_to(&answer, client).await {
            tracing::debug!(%error, %client, "an answer could not be sent");
        }
    }
}

// === impl Zone ===

impl Zone {
    fn new(domain: Name, address: IpAddr, challenges: Challenges) -> Result<Self> {
        let challenge = Name::from_str("_acme-challenge")?.append_domain(&domain)?;
        Ok(Self { domain, challenge, address, challenges })
    }

    /// The answer's bytes; nothing to what is no question, for that may be somebody's answer.
    fn answer(&self, question: &[u8]) -> Option<Vec<u8>> {
        let question = Message::from_vec(question).ok()?;
        if question.metadata.message_type != MessageType::Query {
            return None;
        }
        let mut answer = Message::response(question.metadata.id, question.metadata.op_code);
        answer.metadata.recursion_desired = question.metadata.recursion_desired;
        let [query] = question.queries.as_slice() else {
            answer.metadata.response_code = ResponseCode::FormErr;
            return answer.to_vec().ok();
        };
        answer.add_query(query.clone());
        let ours = query.query_class() == DNSClass::IN && self.domain.zone_of(&query.name().to_lowercase());
        if question.metadata.op_code != OpCode::Query || !ours {
            answer.metadata.response_code = ResponseCode::Refused;
            return answer.to_vec().ok();
        }
        answer.metadata.authoritative = true;
        if query.name().to_lowercase() == self.challenge.to_lowercase() {
            if query.query_type() == RecordType::TXT {
                for value in self.challenges.values() {
                    let data = RData::TXT(TXT::new(vec![value]));
                    answer.add_answer(Record::from_rdata(query.name().clone(), 0, data));
                }
            }
            return answer.to_vec().ok();
        }
        let data = match (query.query_type(), self.address) {
            (RecordType::A, IpAddr::V4(address)) => Some(RData::A(A(address))),
            (RecordType::AAAA, IpAddr::V6(address)) => Some(RData::AAAA(AAAA(address))),
            // The name is there, a record of this kind is not.
            _ => None,
        };
        if let Some(data) = data {
            answer.add_answer(Record::from_rdata(query.name().clone(), TTL, data));
        }
        answer.to_vec().ok()
    }
}

#[cfg(test)]
mod tests {
    use hickory_proto::op::Query;

    use super::*;

    fn zone(domain: &str) -> Zone {
        let challenges = Challenges::default();
        challenges.add("one".to_owned());
        challenges.add("two".to_owned());
        let domain = Name::from_str(domain).expect("a name");
        Zone::new(domain, "192.168.7.1".parse().expect("one"), challenges).expect("a zone")
    }

    #[test]
    fn challenges_are_all_said_at_their_place() {
        check("_acme-challenge.hood.test.", RecordType::TXT, ResponseCode::NoError, 2);
        check("_ACME-challenge.Hood.test.", RecordType::TXT, ResponseCode::NoError, 2);
        check("_acme-challenge.hood.test.", RecordType::A, ResponseCode::NoError, 0);
        check("hood.test.", RecordType::TXT, ResponseCode::NoError, 0);
    }

    fn ask(name: &str, kind: RecordType) -> Message {
        let zone = zone("hood.test.");
        let mut question = Message::query();
        question.add_query(Query::query(Name::from_str(name).expect("a name"), kind));
        let answer = zone.answer(&question.to_vec().expect("bytes")).expect("an answer");
        Message::from_vec(&answer).expect("a message")
    }

    #[track_caller]
    fn check(name: &str, kind: RecordType, code: ResponseCode, answers: usize) {
        let answer = ask(name, kind);
        assert_eq!((answer.metadata.response_code, answer.answers.len()), (code, answers), "{name}");
    }

    #[test]
    fn the_domain_and_everything_below_it_have_one_address() {
        for name in ["hood.test.", "api.hood.test.", "49983-iabc.hood.test.", "API.Hood.Test."] {
            check(name, RecordType::A, ResponseCode::NoError, 1);
            check(name, RecordType::AAAA, ResponseCode::NoError, 0);
        }
    }

    #[test]
    fn other_names_are_none_of_ours() {
        for name in ["test.", "xhood.test.", "hood.test.example."] {
            check(name, RecordType::A, ResponseCode::Refused, 0);
        }
    }

    #[test]
    fn answers_and_noise_are_not_answered() {
        let zone = zone(".");
        let answer = ask("hood.test.", RecordType::A).to_vec().expect("bytes");
        assert_eq!(zone.answer(&answer), None);
        assert_eq!(zone.answer(b"noise"), None);
    }
}
