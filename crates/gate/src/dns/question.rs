//! A question from inside, read strictly, and the answers to it.

use hickory_proto::op::{Edns, Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::rdata::opt::EdnsOption;
use hickory_proto::rr::{DNSClass, Name as Labels, Record, RecordType};
use hood_policy::Name;

use crate::limits::{DATAGRAM, STREAM_ANSWER};

/// Every name server takes this much (RFC 1035, 2.3.4).
const LEAST: usize = 512;

/// The length of a message's head.
const HEAD: usize = 12;

/// The code of an option that says why there is no answer (RFC 8914).
const EXTENDED_ERROR: u16 = 15;

/// "Prohibited": the resolver has been told not to answer this to this client.
const PROHIBITED: [u8; 2] = [0, 18];

/// One question.
#[derive(Debug)]
pub(super) struct Question {
    id: u16,
    asked: Query,
    /// How many bytes of answer its asker takes in one datagram, if it has said so.
    takes: Option<u16>,
    recursion_desired: bool,
    checking_disabled: bool,
    /// The name, if it is one that a host can have.
    pub(super) name: Option<Name>,
}

/// What is no question that we could answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Misfit {
    /// Nobody waits for an answer: it is one itself, or too short to be either.
    Silence,
    /// This is the answer.
    Answer(Vec<u8>),
}

/// How an answer travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// In a datagram: what does not fit is left out, and the asker told to come back by a stream.
    Datagram,
    /// In a stream.
    Stream,
}

impl Question {
    /// Reads a message that holds one question and nothing else but what EDNS adds.
    ///
    /// Of all that only the name and the type are used: a question is asked anew by us, so that nothing else that a
    /// program writes into it leaves the sandbox.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Misfit> {
        let &[high, low, flags, ..] = bytes else { return Err(Misfit::Silence) };
        if bytes.len() < HEAD || flags & 0x80 != 0 {
            return Err(Misfit::Silence);
        }
        let id = u16::from_be_bytes([high, low]);
        let misfit = |code| Misfit::Answer(bare(id, code));
        if (flags >> 3) & 0xf != 0 {
            return Err(misfit(ResponseCode::NotImp));
        }
        // Counts of questions, answers and authorities, before anything of them is read.
        if bytes[4..10] != [0, 1, 0, 0, 0, 0] {
            return Err(misfit(ResponseCode::FormErr));
        }
        let message = Message::from_vec(bytes).map_err(|_| misfit(ResponseCode::FormErr))?;
        let (Some(asked), true) = (message.queries.first(), message.additionals.is_empty()) else {
            return Err(misfit(ResponseCode::FormErr));
        };
        if asked.query_class() != DNSClass::IN {
            return Err(misfit(ResponseCode::Refused));
        }
        Ok(Self {
            id,
            name: host_name(asked.name()),
            takes: message.edns.as_ref().map(Edns::max_payload),
            recursion_desired: message.metadata.recursion_desired,
            checking_disabled: message.metadata.checking_disabled,
            asked: asked.clone(),
        })
    }

    pub(super) fn kind(&self) -> RecordType {
        self.asked.query_type()
    }

    /// The name as it was asked for, in the notation of zone files; for the audit.
    pub(super) fn text(&self) -> String {
        let text = self.asked.name().to_ascii();
        text.strip_suffix('.').map(str::to_owned).unwrap_or(text)
    }

    /// The address that a question for a `PTR` record is about.
    pub(super) fn reversed(&self) -> Option<std::net::IpAddr> {
        let net = self.asked.name().parse_arpa_name().ok()?;
        (net.prefix_len() == net.max_prefix_len()).then(|| net.addr())
    }

    /// The answer as bytes.
    pub(super) fn answer(&self, code: ResponseCode, records: Vec<Record>, way: Way) -> Vec<u8> {
        self.encode(code, records, way, false)
    }

    /// The answer to what may not be asked.
    pub(super) fn prohibited(&self, code: ResponseCode, way: Way) -> Vec<u8> {
        self.encode(code, Vec::new(), way, true)
    }

    fn encode(&self, code: ResponseCode, records: Vec<Record>, way: Way, prohibited: bool) -> Vec<u8> {
        let mut message = Message::new(self.id, MessageType::Response, OpCode::Query);
        message.metadata.response_code = code;
        message.metadata.recursion_available = true;
        message.metadata.recursion_desired = self.recursion_desired;
        message.metadata.checking_disabled = self.checking_disabled;
        message.add_query(self.asked.clone());
        message.answers = records;
        if self.takes.is_some() {
            let mut edns = Edns::new();
            edns.set_max_payload(DATAGRAM as u16).set_version(0);
            if prohibited {
                edns.options_mut().insert(EdnsOption::Unknown(EXTENDED_ERROR, PROHIBITED.to_vec()));
            }
            message.set_edns(edns);
        }
        let limit = match way {
            Way::Datagram => usize::from(self.takes.unwrap_or(0)).clamp(LEAST, DATAGRAM),
            Way::Stream => STREAM_ANSWER,
        };
        match message.to_vec() {
            Ok(bytes) if bytes.len() <= limit => bytes,
            Ok(_) if way == Way::Datagram => match message.truncate().to_vec() {
                Ok(bytes) if bytes.len() <= limit => bytes,
                _ => bare(self.id, ResponseCode::ServFail),
            },
            // Whatever a server has sent that cannot be said again.
            _ => bare(self.id, ResponseCode::ServFail),
        }
    }
}

/// An answer that says nothing but its code.
fn bare(id: u16, code: ResponseCode) -> Vec<u8> {
    let [high, low] = id.to_be_bytes();
    // An answer (0x80); recursion available (0x80).
    [high, low, 0x80, 0x80 | code.low(), 0, 0, 0, 0, 0, 0, 0, 0].to_vec()
}

/// A name of the wire in its one spelling. Labels may hold anything there, also dots and NULs: those are no hosts'.
fn host_name(labels: &Labels) -> Option<Name> {
    let mut text = String::with_capacity(labels.len());
    for label in labels {
        let plain = label.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        let label = std::str::from_utf8(label).ok().filter(|_| plain)?;
        if !text.is_empty() {
            text.push('.');
        }
        text.push_str(label);
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use hickory_proto::rr::RData;
    use hickory_proto::rr::rdata::A;

    use super::*;

    fn ask(name: &str, kind: RecordType) -> Message {
        let mut message = Message::query();
        message.metadata.recursion_desired = true;
        message.add_query(Query::query(Labels::from_ascii(name).unwrap(), kind));
        message
    }

    fn read(message: &Message) -> Result<Question, Misfit> {
        Question::read(&message.to_vec().unwrap())
    }

    #[track_caller]
    fn answered_with(message: &Message, code: ResponseCode) {
        let Err(Misfit::Answer(bytes)) = read(message) else { panic!("no misfit") };
        let answer = Message::from_vec(&bytes).unwrap();
        assert_eq!((answer.metadata.id, answer.metadata.response_code), (message.metadata.id, code));
    }

    fn address(n: u8) -> Record {
        let name = Labels::from_ascii("a.example.").unwrap();
        Record::from_rdata(name, 60, RData::A(A(Ipv4Addr::new(93, 184, 216, n))))
    }

    #[test]
    fn a_name_has_one_spelling() {
        let question = read(&ask("WWW.Example.COM.", RecordType::A)).unwrap();
        assert_eq!(question.name.as_ref().unwrap().as_str(), "www.example.com");
        assert_eq!(question.text(), "WWW.Example.COM", "as it was asked for");
        let odd: [&[&[u8]]; 4] = [
            &[b"evil\0", b"allowed", b"com"],
            &[b"evil.com", b"allowed", b"com"],
            &["bücher".as_bytes(), b"example"],
            &[b"a b", b"example"],
        ];
        for labels in odd {
            let mut message = ask("a.example.", RecordType::A);
            message.queries[0].set_name(Labels::from_labels(labels.iter().copied()).unwrap());
            assert_eq!(read(&message).unwrap().name, None, "{labels:?}");
        }
    }

    #[test]
    fn what_is_no_plain_question_is_answered_as_such_or_not_at_all() {
        assert_eq!(Question::read(&[]).unwrap_err(), Misfit::Silence);
        assert_eq!(Question::read(&[0; 11]).unwrap_err(), Misfit::Silence);
        let mut message = ask("a.example.", RecordType::A);
        message.metadata.message_type = MessageType::Response;
        assert_eq!(
            read(&message).unwrap_err(),
            Misfit::Silence,
            "no answers to answers: they could go on for ever"
        );
        let mut message = ask("a.example.", RecordType::A);
        message.metadata.op_code = OpCode::Update;
        answered_with(&message, ResponseCode::NotImp);
        let mut message = ask("a.example.", RecordType::A);
        message.add_query(Query::query(Labels::from_ascii("b.example.").unwrap(), RecordType::A));
        answered_with(&message, ResponseCode::FormErr);
        let mut message = ask("a.example.", RecordType::A);
        message.add_answer(address(1));
        answered_with(&message, ResponseCode::FormErr);
        let mut message = ask("a.example.", RecordType::A);
        message.add_additional(address(1));
        answered_with(&message, ResponseCode::FormErr);
        let mut message = ask("a.example.", RecordType::A);
        message.queries[0].set_query_class(DNSClass::CH);
        answered_with(&message, ResponseCode::Refused);
        let mut bytes = ask("a.example.", RecordType::A).to_vec().unwrap();
        bytes.truncate(20);
        assert!(matches!(Question::read(&bytes), Err(Misfit::Answer(_))));
    }

    #[test]
    fn what_does_not_fit_into_a_datagram_is_said_to_be_cut() {
        let many: Vec<_> = (0..100).map(address).collect();
        let question = read(&ask("a.example.", RecordType::A)).unwrap();
        let small = question.answer(ResponseCode::NoError, many.clone(), Way::Datagram);
        assert!(small.len() <= 512);
        let message = Message::from_vec(&small).unwrap();
        assert!(message.metadata.truncation && message.answers.is_empty());
        let whole = question.answer(ResponseCode::NoError, many.clone(), Way::Stream);
        let message = Message::from_vec(&whole).unwrap();
        assert!(!message.metadata.truncation && message.answers.len() == 100);

        let mut roomy = ask("a.example.", RecordType::A);
        let mut edns = Edns::new();
        edns.set_max_payload(65_000);
        roomy.set_edns(edns);
        let question = read(&roomy).unwrap();
        let cut = question.answer(ResponseCode::NoError, many[..60].to_vec(), Way::Datagram);
        assert!(cut.len() > 512 && cut.len() <= DATAGRAM, "EDNS allows more, within our own bound");
        let cut = question.answer(ResponseCode::NoError, many, Way::Datagram);
        assert!(Message::from_vec(&cut).unwrap().metadata.truncation);
    }

    #[test]
    fn the_address_of_a_question_for_its_name_is_known() {
        let reversed = |name: &str| read(&ask(name, RecordType::PTR)).unwrap().reversed();
        assert_eq!(reversed("34.216.184.93.in-addr.arpa."), Some("93.184.216.34".parse().unwrap()));
        assert_eq!(reversed("184.93.in-addr.arpa."), None);
        assert_eq!(reversed("a.example."), None);
    }
}
