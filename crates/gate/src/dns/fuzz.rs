//! What the fuzz target looks at: a question from inside, and a server's answer to it.

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::Name as Labels;
use hood_policy::closed;

use super::question::{Misfit, Question, Way};
use super::records::Answer;

/// Reads a question, takes a server's words for the answer, and checks what the program inside would be sent.
#[cfg_attr(not(fuzzing), expect(unreachable_pub, reason = "the facade for the fuzz target hands it on"))]
pub fn exchange(question: &[u8], said: &[u8]) {
    let question = match Question::read(question) {
        Ok(question) => question,
        Err(Misfit::Silence) => return,
        Err(Misfit::Answer(bytes)) => {
            assert_eq!(bytes[..2], question[..2], "it bears the question's number");
            return;
        }
    };
    is_an_answer(&question.prohibited(ResponseCode::NXDomain, Way::Datagram), Way::Datagram);
    let Some(name) = &question.name else { return };
    let shown = question.text().replace('\\', "").to_ascii_lowercase();
    assert_eq!(name.as_str(), shown, "one spelling of what was asked for");
    let labels = name.as_str().split('.').map(str::as_bytes);
    let mut labels = Labels::from_labels(labels).expect("a name of ours is one on the wire");
    labels.set_fqdn(true);
    let Ok(message) = Message::from_vec(said) else { return };
    let (answer, _) = Answer::of(&message, &labels, question.kind()).without(closed);
    assert!(answer.addresses().iter().all(|(address, _)| closed(*address).is_none()));
    for way in [Way::Datagram, Way::Stream] {
        is_an_answer(&question.answer(answer.code, answer.records.clone(), way), way);
    }
}

fn is_an_answer(bytes: &[u8], way: Way) {
    assert!(way == Way::Stream || bytes.len() <= crate::limits::DATAGRAM);
    assert!(bytes.len() >= 12 && bytes[2] & 0x80 != 0);
    assert!(bytes[3] & 0xf == 2 || Message::from_vec(bytes).is_ok(), "what is sent can be read");
}
