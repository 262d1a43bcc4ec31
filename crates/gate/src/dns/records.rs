//! What is taken from a server's answer.

use std::net::IpAddr;
use std::time::Duration;

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::{DNSClass, Name as Labels, RData, Record, RecordType};

use crate::limits::{ANSWER_LIFE, ANSWER_RECORDS, NO_ANSWER_LIFE};

/// What a server has said of one name and type: what is kept and told again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) code: ResponseCode,
    pub(super) records: Vec<Record>,
}

impl Answer {
    /// One that says there is nothing.
    pub(super) fn nothing(code: ResponseCode) -> Self {
        Self { code, records: Vec::new() }
    }

    /// Addresses from our own tables.
    pub(super) fn known(name: &Labels, kind: RecordType, addresses: &[IpAddr]) -> Self {
        if addresses.is_empty() {
            return Self::nothing(ResponseCode::NXDomain);
        }
        let fitting = addresses.iter().map(|address| RData::from(*address));
        let fitting = fitting.filter(|data| data.record_type() == kind);
        let records = fitting.map(|data| Record::from_rdata(name.clone(), KNOWN_TTL, data)).collect();
        Self { code: ResponseCode::NoError, records }
    }

    /// Takes the chain of aliases that begins with the name, and what stands at its end. Everything else in the
    /// message (other names, other sections, signatures) is left out: nobody asked for it.
    pub(super) fn of(message: &Message, name: &Labels, kind: RecordType) -> Self {
        let code = message.metadata.response_code;
        if !matches!(code, ResponseCode::NoError | ResponseCode::NXDomain) {
            return Self::nothing(ResponseCode::ServFail);
        }
        let (mut at, mut records) = (name.clone(), Vec::new());
        let here = |at: &Labels, record: &&Record| {
            record.name == *at
                && record.dns_class == DNSClass::IN
                && !matches!(record.data, RData::Update0(_))
        };
        while records.len() < ANSWER_RECORDS {
            let room = ANSWER_RECORDS - records.len();
            let of_kind = message.answers.iter().filter(|record| here(&at, record));
            let of_kind: Vec<_> =
                of_kind.filter(|record| record.record_type() == kind).take(room).cloned().collect();
            if !of_kind.is_empty() {
                records.extend(of_kind);
                break;
            }
            let alias = message.answers.iter().find_map(|record| match &record.data {
                RData::CNAME(target) if here(&at, &record) => Some((record, target)),
                _ => None,
            });
            let Some((record, target)) = alias else { break };
            records.push(record.clone());
            at = target.0.clone();
        }
        Self { code, records }
    }

    /// Its addresses, each with the time for which the whole chain to it is good.
    pub(super) fn addresses(&self) -> Vec<(IpAddr, Duration)> {
        let life = Duration::from_secs(self.least_ttl().unwrap_or(0).into());
        self.records.iter().filter_map(|record| Some((record.data.ip_addr()?, life))).collect()
    }

    /// Takes out the addresses that `closed` has a word for, and hands them over.
    pub(super) fn without(
        mut self,
        closed: impl Fn(IpAddr) -> Option<&'static str>,
    ) -> (Self, Vec<(IpAddr, &'static str)>) {
        let mut out = Vec::new();
        self.records.retain(|record| match record.data.ip_addr().and_then(|ip| Some((ip, closed(ip)?))) {
            Some(found) => {
                out.push(found);
                false
            }
            None => true,
        });
        let any_left = self.records.iter().any(|record| record.data.ip_addr().is_some());
        if !out.is_empty() && !any_left {
            // An alias that ends nowhere would only be asked after.
            self.records.clear();
        }
        (self, out)
    }

    /// For how long it may be told again without asking.
    pub(super) fn life(&self) -> Duration {
        match (self.code, self.least_ttl()) {
            (ResponseCode::NoError, Some(ttl)) => Duration::from_secs(ttl.into()).min(ANSWER_LIFE),
            (ResponseCode::NoError | ResponseCode::NXDomain, _) => NO_ANSWER_LIFE,
            _ => Duration::ZERO,
        }
    }

    /// The same, told this much later.
    pub(super) fn aged(&self, by: Duration) -> Self {
        let mut aged = self.clone();
        for record in &mut aged.records {
            record.decrement_ttl(u32::try_from(by.as_secs()).unwrap_or(u32::MAX));
        }
        aged
    }

    fn least_ttl(&self) -> Option<u32> {
        self.records.iter().map(|record| record.ttl).min()
    }
}

/// For how long programs may keep what our own tables say, in seconds.
const KNOWN_TTL: u32 = 60;

#[cfg(test)]
mod tests {
    use hickory_proto::op::{MessageType, OpCode};
    use hickory_proto::rr::rdata::CNAME;

    use super::*;

    fn labels(name: &str) -> Labels {
        Labels::from_ascii(name).unwrap()
    }

    fn address(name: &str, ttl: u32, address: &str) -> Record {
        Record::from_rdata(labels(name), ttl, RData::from(address.parse::<IpAddr>().unwrap()))
    }

    fn alias(name: &str, target: &str) -> Record {
        Record::from_rdata(labels(name), 20, RData::CNAME(CNAME(labels(target))))
    }

    fn take(records: Vec<Record>) -> Answer {
        let mut message = Message::new(1, MessageType::Response, OpCode::Query);
        message.answers = records;
        Answer::of(&message, &labels("a.example."), RecordType::A)
    }

    #[test]
    fn a_chain_is_followed_and_nothing_else_is_taken() {
        let chain = [
            address("C.example.", 300, "93.184.216.34"),
            alias("A.example.", "b.example."),
            alias("b.example.", "c.example."),
        ];
        let mut with_more = chain.to_vec();
        with_more.push(address("bank.example.", 300, "93.184.216.99"));
        with_more.push(address("b.example.", 300, "2606:4700::1"));
        let answer = take(with_more);
        assert_eq!(answer.records.len(), 3);
        let second = Duration::from_secs;
        assert_eq!(
            answer.addresses(),
            [("93.184.216.34".parse().unwrap(), second(20))],
            "the shortest counts"
        );
    }

    #[test]
    fn a_chain_in_a_circle_ends() {
        let answer = take(vec![alias("a.example.", "b.example."), alias("b.example.", "a.example.")]);
        assert_eq!(answer.records.len(), ANSWER_RECORDS);
        assert!(answer.addresses().is_empty());
    }

    #[test]
    fn closed_addresses_are_taken_out() {
        let answer = take(vec![
            address("a.example.", 5, "10.0.0.5"),
            address("a.example.", 5, "93.184.216.34"),
            address("a.example.", 5, "169.254.169.254"),
        ]);
        let (answer, out) = answer.without(hood_policy::closed);
        assert_eq!(answer.addresses().len(), 1);
        assert_eq!(out.iter().map(|(_, word)| *word).collect::<Vec<_>>(), ["private", "metadata"]);
        let alone = take(vec![alias("a.example.", "b.example."), address("b.example.", 5, "127.0.0.1")]);
        let (alone, out) = alone.without(hood_policy::closed);
        assert!(alone.records.is_empty() && out.len() == 1);
    }

    #[test]
    fn answers_are_kept_for_their_time_and_within_ours() {
        let ttl = |ttl| take(vec![address("a.example.", ttl, "93.184.216.34")]).life();
        assert_eq!(ttl(0), Duration::ZERO);
        assert_eq!(ttl(7), Duration::from_secs(7));
        assert_eq!(ttl(u32::MAX), ANSWER_LIFE);
        assert_eq!(Answer::nothing(ResponseCode::NXDomain).life(), NO_ANSWER_LIFE);
        assert_eq!(Answer::nothing(ResponseCode::ServFail).life(), Duration::ZERO);
        let aged = take(vec![address("a.example.", 7, "93.184.216.34")]).aged(Duration::from_secs(5));
        assert_eq!(aged.records[0].ttl, 2);
    }
}
