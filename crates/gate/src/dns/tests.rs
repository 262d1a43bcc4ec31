//! Desks that ask a name server of the test's own, on loopback.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hickory_proto::op::{Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::rdata::{CNAME, TXT};
use hickory_proto::rr::{Name as Labels, RData, Record, RecordType};
use hood_policy::{Allow, Base, Ceiling, Policy, Reason, Target};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};

use super::question::Way;
use super::*;
use crate::audit::Kind;
use crate::limits::{QUESTIONS_AT_ONCE, QUESTIONS_OPEN};

/// A server's zone: what it says of each name and type, for how many seconds.
type Zone = BTreeMap<(&'static str, RecordType), Vec<Record>>;

fn labels(name: &str) -> Labels {
    Labels::from_ascii(format!("{name}.")).unwrap()
}

fn address(name: &str, ttl: u32, address: &str) -> Record {
    Record::from_rdata(labels(name), ttl, RData::from(address.parse::<IpAddr>().unwrap()))
}

/// Serves a zone and keeps what it was asked.
struct Server {
    at: SocketAddr,
    heard: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Server {
    async fn start(zone: Zone) -> Self {
        let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let at = udp.local_addr().unwrap();
        let tcp = TcpListener::bind(at).await.unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (zone, heard_too) = (Arc::new(zone), heard.clone());
        let (zone_too, heard_by_stream) = (zone.clone(), heard.clone());
        tokio::spawn(async move {
            let mut buffer = [0; 2048];
            loop {
                let (length, from) = udp.recv_from(&mut buffer).await.unwrap();
                heard_too.lock().unwrap().push(buffer[..length].to_vec());
                let question = Message::from_vec(&buffer[..length]).unwrap();
                if question.queries[0].name() == &labels("silent.example") {
                    continue;
                }
                let answer = say(&zone, &question);
                // One from somebody who guesses.
                let mut forged = answer.clone();
                forged.metadata.id ^= 1;
                forged.answers = vec![address("www.example.com", 60, "93.184.216.66")];
                udp.send_to(&forged.to_vec().unwrap(), from).await.unwrap();
                let mut bytes = answer.to_vec().unwrap();
                if bytes.len() > 1232 {
                    bytes = answer.truncate().to_vec().unwrap();
                }
                udp.send_to(&bytes, from).await.unwrap();
            }
        });
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = tcp.accept().await.unwrap();
                let mut question = vec![0; stream.read_u16().await.unwrap().into()];
                stream.read_exact(&mut question).await.unwrap();
                heard_by_stream.lock().unwrap().push(question.clone());
                let answer = say(&zone_too, &Message::from_vec(&question).unwrap()).to_vec().unwrap();
                stream.write_u16(answer.len() as u16).await.unwrap();
                stream.write_all(&answer).await.unwrap();
            }
        });
        Self { at, heard }
    }

    fn asked(&self) -> usize {
        self.heard.lock().unwrap().len()
    }
}

fn say(zone: &Zone, question: &Message) -> Message {
    let query = &question.queries[0];
    let name = query.name().to_ascii();
    let mut answer = Message::new(question.metadata.id, MessageType::Response, OpCode::Query);
    answer.add_query(query.clone());
    if name == "broken.example." {
        answer.metadata.response_code = ResponseCode::ServFail;
        return answer;
    }
    let of_name = |kind: RecordType| zone.iter().find(|((n, k), _)| *k == kind && format!("{n}.") == name);
    match of_name(query.query_type()) {
        Some((_, records)) => answer.answers.clone_from(records),
        None => answer.metadata.response_code = ResponseCode::NXDomain,
    }
    answer
}

struct Inside {
    desk: Desk,
    lookups: Arc<Lookups>,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Inside {
    fn new(config: ResolverConfig, policy: Policy, ceiling: Ceiling) -> Self {
        let (policy, ceiling) = (Arc::new(policy), Arc::new(ceiling));
        let lookups = Arc::new(Lookups::default());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let to = asked.clone();
        let desk = Desk {
            resolver: Arc::new(Resolver::start(config).unwrap()),
            lookups: lookups.clone(),
            rules: Arc::new(move || (policy.clone(), ceiling.clone())),
            asked: Arc::new(move |one| to.lock().unwrap().push(one)),
        };
        Self { desk, lookups, asked }
    }

    fn of(server: &Server, policy: Policy) -> Self {
        let config = ResolverConfig { servers: vec![server.at], ..ResolverConfig::default() };
        Self::new(config, policy, Ceiling::default())
    }

    async fn ask(&self, name: &str, kind: RecordType) -> Message {
        let bytes = ask(name, kind);
        Message::from_vec(&self.desk.answer(&bytes, Way::Stream).await.unwrap()).unwrap()
    }

    fn kinds(&self) -> Vec<(Kind, Option<Reason>)> {
        self.asked.lock().unwrap().iter().map(|asked| (asked.kind, asked.rule.clone())).collect()
    }

    fn answered(&self, name: &str, address: &str) -> bool {
        self.lookups.answered(&name.parse().unwrap(), address.parse().unwrap())
    }
}

fn ask(name: &str, kind: RecordType) -> Vec<u8> {
    let mut message = Message::query();
    message.metadata.recursion_desired = true;
    message.add_query(Query::query(Labels::from_ascii(format!("{name}.")).unwrap(), kind));
    message.to_vec().unwrap()
}

fn open() -> Policy {
    Policy { base: Base::Open, ..Policy::default() }
}

fn only(pattern: &str) -> Policy {
    let line = Allow { to: Target::Name(pattern.parse().unwrap()), ports: Vec::new() };
    Policy { allow: vec![line], ..Policy::default() }
}

fn addresses(message: &Message) -> Vec<String> {
    message.answers.iter().filter_map(|record| record.data.ip_addr()).map(|ip| ip.to_string()).collect()
}

fn zone() -> Zone {
    let text = |name: &str| Record::from_rdata(labels(name), 60, RData::TXT(TXT::new(vec!["secret".into()])));
    BTreeMap::from([
        (("www.example.com", RecordType::A), vec![address("www.example.com", 60, "93.184.216.34")]),
        (
            ("www.example.com", RecordType::AAAA),
            vec![address("www.example.com", 60, "2606:2800:21f:cb07::1")],
        ),
        (("www.example.com", RecordType::TXT), vec![text("www.example.com")]),
        (
            ("alias.example.com", RecordType::A),
            vec![
                Record::from_rdata(
                    labels("alias.example.com"),
                    60,
                    RData::CNAME(CNAME(labels("cdn.example.net"))),
                ),
                address("cdn.example.net", 60, "93.184.216.40"),
            ],
        ),
        (("rebind.example.com", RecordType::A), vec![address("rebind.example.com", 0, "10.0.0.5")]),
        (
            ("mixed.example.com", RecordType::A),
            vec![
                address("mixed.example.com", 0, "169.254.169.254"),
                address("mixed.example.com", 0, "1.1.1.1"),
            ],
        ),
        (
            ("rebind.example.com", RecordType::AAAA),
            vec![
                address("rebind.example.com", 0, "64:ff9b::10.0.0.5"),
                address("rebind.example.com", 0, "::1"),
            ],
        ),
        (
            ("large.example.com", RecordType::A),
            (0..200).map(|n| address("large.example.com", 60, &format!("8.8.8.{n}"))).collect(),
        ),
    ])
}

#[tokio::test]
async fn an_allowed_name_is_answered_and_its_address_counts() {
    let server = Server::start(zone()).await;
    let inside = Inside::of(&server, only("www.example.com"));
    let answer = inside.ask("WWW.example.COM", RecordType::A).await;
    assert_eq!(addresses(&answer), ["93.184.216.34"]);
    assert_eq!(answer.queries[0].name().to_ascii(), "WWW.example.COM.", "as it was asked");
    assert!(inside.answered("www.example.com", "93.184.216.34"));
    assert!(
        !inside.answered("www.example.com", "93.184.216.66"),
        "an answer with another number is not taken"
    );
    let kinds = inside.kinds();
    assert!(
        matches!(kinds.as_slice(), [(Kind::Allowed, Some(Reason::Allowed(line)))] if line == "www.example.com")
    );
    inside.ask("www.example.com", RecordType::A).await;
    assert_eq!(server.asked(), 1, "the second answer was kept");
}

#[tokio::test]
async fn other_names_do_not_exist_and_nobody_hears_of_them() {
    let server = Server::start(zone()).await;
    let inside = Inside::of(&server, only("www.example.com"));
    for name in ["c2VjcmV0.evil.example", "example.com", "a.www.example.com", "www.example.com.evil.example"]
    {
        let answer = inside.ask(name, RecordType::A).await;
        assert_eq!(answer.metadata.response_code, ResponseCode::NXDomain, "{name}");
    }
    let nothing = Inside::of(&server, Policy::default());
    assert_eq!(
        nothing.ask("www.example.com", RecordType::A).await.metadata.response_code,
        ResponseCode::NXDomain
    );
    assert_eq!(server.asked(), 0);
    assert_eq!(inside.kinds(), vec![(Kind::Denied, Some(Reason::Base)); 4]);
}

#[tokio::test]
async fn a_closed_policy_passes_only_questions_for_addresses_on() {
    let server = Server::start(zone()).await;
    let inside = Inside::of(&server, only("*.example.com"));
    let answer = inside.ask("www.example.com", RecordType::TXT).await;
    assert_eq!((answer.metadata.response_code, answer.answers.len()), (ResponseCode::NoError, 0));
    for kind in
        [RecordType::NULL, RecordType::ANY, RecordType::AXFR, RecordType::HINFO, RecordType::Unknown(65_399)]
    {
        let answer = inside.ask("www.example.com", kind).await;
        assert_eq!(answer.metadata.response_code, ResponseCode::Refused, "{kind}");
    }
    let answer = inside.ask("www.example.com", RecordType::HTTPS).await;
    assert_eq!((answer.metadata.response_code, answer.answers.len()), (ResponseCode::NoError, 0));
    assert_eq!(server.asked(), 0);
    let refused = vec![Kind::Denied; 6];
    assert_eq!(inside.kinds().into_iter().map(|(kind, _)| kind).collect::<Vec<_>>(), refused);

    let wide = Inside::of(&server, open());
    assert_eq!(wide.ask("www.example.com", RecordType::TXT).await.answers.len(), 1);
    assert_eq!(
        wide.ask("www.example.com", RecordType::HTTPS).await.answers.len(),
        0,
        "no keys to hide names with"
    );
    assert_eq!(
        wide.ask("www.example.com", RecordType::NULL).await.metadata.response_code,
        ResponseCode::Refused
    );
}

#[tokio::test]
async fn names_of_closed_addresses_are_not_asked_for() {
    let server = Server::start(zone()).await;
    let inside = Inside::of(&server, open());
    let answer = inside.ask("5.0.0.10.in-addr.arpa", RecordType::PTR).await;
    assert_eq!((answer.metadata.response_code, server.asked()), (ResponseCode::NXDomain, 0));
    inside.ask("34.216.184.93.in-addr.arpa", RecordType::PTR).await;
    assert_eq!(server.asked(), 1);
}

#[tokio::test]
async fn closed_addresses_never_arrive() {
    let server = Server::start(zone()).await;
    let inside = Inside::of(&server, open());
    let answer = inside.ask("rebind.example.com", RecordType::A).await;
    assert_eq!((answer.metadata.response_code, answer.answers.len()), (ResponseCode::NoError, 0));
    assert!(inside.ask("rebind.example.com", RecordType::AAAA).await.answers.is_empty(), "in no spelling");
    assert_eq!(addresses(&inside.ask("mixed.example.com", RecordType::A).await), ["1.1.1.1"]);
    assert!(!inside.answered("rebind.example.com", "10.0.0.5"));
    assert!(!inside.answered("mixed.example.com", "169.254.169.254"));
    let closed = |(kind, rule): &(Kind, Option<Reason>)| {
        *kind == Kind::Denied && matches!(rule, Some(Reason::ClosedRange(_)))
    };
    assert_eq!(inside.kinds().iter().filter(|entry| closed(entry)).count(), 4);
    let ceiling = Ceiling { open: vec!["10.0.0.0/24".parse().unwrap()], ..Ceiling::default() };
    let config = ResolverConfig { servers: vec![server.at], ..ResolverConfig::default() };
    let opened = Inside::new(config, open(), ceiling);
    assert_eq!(addresses(&opened.ask("rebind.example.com", RecordType::A).await), ["10.0.0.5"]);
}

#[tokio::test]
async fn an_alias_counts_for_the_name_that_was_asked_for() {
    let server = Server::start(zone()).await;
    let inside = Inside::of(&server, only("alias.example.com"));
    let answer = inside.ask("alias.example.com", RecordType::A).await;
    assert_eq!((answer.answers.len(), addresses(&answer)), (2, vec!["93.184.216.40".to_owned()]));
    assert!(inside.answered("alias.example.com", "93.184.216.40"));
    assert!(!inside.answered("cdn.example.net", "93.184.216.40"));
}

#[tokio::test]
async fn an_answer_that_does_not_fit_comes_by_stream() {
    let server = Server::start(zone()).await;
    let inside = Inside::of(&server, open());
    assert_eq!(inside.ask("large.example.com", RecordType::A).await.answers.len(), 200);
    assert_eq!(server.asked(), 2);
    let asked = inside.asked.lock().unwrap()[0].clone();
    assert!(asked.bytes_in > 3000 && asked.bytes_out > 0);
    let bytes = ask("large.example.com", RecordType::A);
    let short = inside.desk.answer(&bytes, Way::Datagram).await.unwrap();
    assert!(short.len() <= 512 && Message::from_vec(&short).unwrap().metadata.truncation);
}

#[tokio::test]
async fn what_a_program_adds_to_its_question_stays_inside() {
    let server = Server::start(zone()).await;
    let inside = Inside::of(&server, open());
    let mut message = Message::from_vec(&ask("wWw.eXample.com", RecordType::A)).unwrap();
    let mut edns = hickory_proto::op::Edns::new();
    let option = hickory_proto::rr::rdata::opt::EdnsOption::Unknown(65_001, b"smuggled".to_vec());
    edns.options_mut().insert(option);
    message.set_edns(edns);
    message.metadata.checking_disabled = true;
    message.metadata.id = 0x5151;
    inside.desk.answer(&message.to_vec().unwrap(), Way::Stream).await.unwrap();
    let heard = server.heard.lock().unwrap()[0].clone();
    let heard = Message::from_vec(&heard).unwrap();
    assert_ne!(heard.metadata.id, 0x5151);
    assert_eq!(heard.queries[0].name().to_ascii(), "www.example.com.");
    assert!(!heard.metadata.checking_disabled && heard.edns.unwrap().options().as_ref().is_empty());
}

#[tokio::test]
async fn a_server_that_fails_is_not_the_last_word() {
    let (first, second) = (Server::start(zone()).await, Server::start(zone()).await);
    let config = ResolverConfig { servers: vec![first.at, second.at], ..ResolverConfig::default() };
    let inside = Inside::new(config, open(), Ceiling::default());
    let answer = inside.ask("broken.example", RecordType::A).await;
    assert_eq!(answer.metadata.response_code, ResponseCode::ServFail);
    assert_eq!((first.asked(), second.asked()), (2, 2), "each is asked twice");
}

#[tokio::test]
async fn servers_that_a_policy_names_are_bounded_like_all_it_names() {
    let server = Server::start(zone()).await;
    for closed in ["127.0.0.1", "10.0.0.53", "169.254.169.254", "::ffff:127.0.0.1"] {
        let policy = Policy { dns_servers: vec![closed.parse().unwrap()], ..open() };
        let inside = Inside::of(&server, policy);
        let answer = inside.ask("www.example.com", RecordType::A).await;
        assert_eq!(answer.metadata.response_code, ResponseCode::ServFail, "{closed}");
        assert!(matches!(inside.kinds().as_slice(), [(Kind::Denied, Some(Reason::ClosedRange(_)))]));
    }
    let config = ResolverConfig { servers: vec![server.at], ..ResolverConfig::default() };
    let ceiling = Ceiling { policy: only("www.example.com"), open: Vec::new() };
    let policy = Policy { dns_servers: vec!["9.9.9.9".parse().unwrap()], ..open() };
    let inside = Inside::new(config, policy, ceiling);
    inside.ask("www.example.com", RecordType::A).await;
    assert!(matches!(inside.kinds().as_slice(), [(Kind::Denied, Some(_))]), "its profile does not open it");
}

#[tokio::test]
async fn our_own_tables_come_first_and_the_policy_before_them() {
    let server = Server::start(zone()).await;
    let host: IpAddr = Ipv4Addr::new(93, 184, 216, 77).into();
    let config = ResolverConfig {
        servers: vec![server.at],
        hosts: BTreeMap::from([("own.example".parse().unwrap(), vec![host])]),
        ingress: Some("sandbox.example".parse().unwrap()),
    };
    let ceiling =
        Ceiling { open: vec![hood_policy::Range::one(INGRESS_ADDRESS.into())], ..Ceiling::default() };
    let inside = Inside::new(config, open(), ceiling);
    assert_eq!(addresses(&inside.ask("own.example", RecordType::A).await), ["93.184.216.77"]);
    let other = inside.ask("own.example", RecordType::AAAA).await;
    assert_eq!((other.metadata.response_code, other.answers.len()), (ResponseCode::NoError, 0));
    assert_eq!(addresses(&inside.ask("80-abc.sandbox.example", RecordType::A).await), ["192.0.0.3"]);
    assert_eq!(
        inside.ask("api.sandbox.example", RecordType::A).await.metadata.response_code,
        ResponseCode::NXDomain
    );
    assert_eq!(inside.ask("localhost", RecordType::A).await.metadata.response_code, ResponseCode::NXDomain);
    assert_eq!(server.asked(), 0);
}

#[tokio::test]
async fn questions_are_answered_over_both_ways_and_in_numbers_that_are_bounded() {
    let server = Server::start(zone()).await;
    let inside = Inside::of(&server, open());
    let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (udp_at, tcp_at) = (udp.local_addr().unwrap(), tcp.local_addr().unwrap());
    udp.set_nonblocking(true).unwrap();
    tcp.set_nonblocking(true).unwrap();
    let asked = inside.asked.clone();
    let serving = tokio::spawn(inside.desk.serve(vec![udp], vec![tcp]));

    let mut stream = TcpStream::connect(tcp_at).await.unwrap();
    for _ in 0..2 {
        let question = ask("www.example.com", RecordType::A);
        stream.write_u16(question.len() as u16).await.unwrap();
        stream.write_all(&question).await.unwrap();
        let mut answer = vec![0; stream.read_u16().await.unwrap().into()];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(addresses(&Message::from_vec(&answer).unwrap()), ["93.184.216.34"]);
    }
    stream.write_u16(5000).await.unwrap();
    assert_eq!(stream.read(&mut [0; 1]).await.unwrap(), 0, "too long: the stream ends");

    let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    client.connect(udp_at).await.unwrap();
    let mut buffer = [0; 2048];
    let flood = QUESTIONS_OPEN + 1;
    for _ in 0..flood {
        client.send(&ask("silent.example", RecordType::A)).await.unwrap();
    }
    let wait = Duration::from_secs(1);
    let length = tokio::time::timeout(wait, client.recv(&mut buffer)).await.expect("at once").unwrap();
    let answer = Message::from_vec(&buffer[..length]).unwrap();
    assert_eq!((answer.metadata.response_code, answer.queries.len()), (ResponseCode::Refused, 1));
    assert!(flood < QUESTIONS_AT_ONCE as usize);
    assert!(asked.lock().unwrap().iter().any(|asked| asked.rule == Some(Reason::TooMany)));
    serving.abort();
}

#[test]
fn seeds_of_questions_and_answers_with_noise_in_them() {
    crate::mutate::mutate("dns", |data| {
        let Some((length, rest)) = data.split_first() else { return };
        let (question, said) = rest.split_at(rest.len().min(usize::from(*length)));
        fuzz::exchange(question, said);
    });
}
