//! What a kernel, which shares its process with user code, says to the guest.

use super::frames::Frames;
use super::manifest::{Manifest, Program};
use super::protocol::Message;
use super::text::Decoder;
use super::wire::{self, Line};

/// The messages in a kernel's bytes that arrive in these pieces, in words that can be compared.
pub fn kernel_lines<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    let mut frames = Frames::default();
    let mut found = Vec::new();
    for piece in pieces {
        frames.push(piece);
        while let Some(frame) = frames.next() {
            found.push(format!("{frame:?}"));
            if let Ok(message) = frame {
                shown(message);
            }
        }
    }
    found
}

/// Whatever a kernel sends becomes one line of JSON for the client.
fn shown(message: Message) {
    assert_eq!(message.cell().is_none(), matches!(message, Message::Ready { .. } | Message::Fault { .. }));
    let line = match message {
        Message::Display { data, main, .. } => wire::result(data, main),
        Message::Error { name, value, traceback, .. } => {
            Line::Error(wire::CellError { name, value, traceback: traceback.text() })
        }
        Message::Started { execution_count, .. } => Line::NumberOfExecutions { execution_count },
        _ => return,
    };
    let line = line.encode();
    let (newline, json) = line.split_last().expect("a line has its newline");
    assert!(*newline == b'\n' && !json.contains(&b'\n'), "one line");
    serde_json::from_slice::<serde_json::Value>(json).expect("a line is JSON");
}

/// A template's list of kernels; says how many languages are found by a name.
pub fn manifest(text: &[u8], language: &str) -> Option<usize> {
    let manifest: Manifest = serde_json::from_slice(text).ok()?;
    let found: Option<(&str, &Program)> = manifest.find(language);
    assert!(found.is_none_or(|(name, _)| manifest.names().contains(name)));
    Some(usize::from(found.is_some()))
}

/// The text of output that arrives in these pieces.
pub fn text<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut decoder = Decoder::default();
    let decoded: String = pieces.into_iter().map(|piece| decoder.decode(piece)).collect();
    decoded + &decoder.finish()
}
