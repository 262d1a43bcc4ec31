//! Requests to `process.Process`, as far as their reading goes.

use serde::de::DeserializeOwned;

use super::start::size;
use super::wire::{
    ListRequest, ProcessConfig, SelectRequest, SendInputRequest, SendSignalRequest, StartRequest,
    StreamInputRequest, UpdateRequest,
};
use crate::connect;

/// The ways to read a message.
const KINDS: u8 = 7;

/// Reads a message as that kind of request; says whether it is one.
pub fn request(kind: u8, message: &[u8]) -> bool {
    match kind % KINDS {
        0 => read(message, |request: StartRequest| {
            if let Some(config) = &request.process {
                config_survives(config);
            }
            request.pty.map(|pty| size(pty).is_ok_and(|(cols, rows)| cols > 0 && rows > 0));
        }),
        1 => read(message, |request: SendInputRequest| {
            let input = request.input.unwrap_or_default();
            let decoded =
                input.stdin.map_or(0, |bytes| bytes.len()) + input.pty.map_or(0, |bytes| bytes.len());
            assert!(decoded <= message.len(), "base64 never grows when it is read");
        }),
        2 => read(message, |_: SendSignalRequest| ()),
        3 => read(message, |_: StreamInputRequest| ()),
        4 => read(message, |_: SelectRequest| ()),
        5 => read(message, |request: UpdateRequest| {
            request.pty.map(size);
        }),
        _ => read(message, |_: ListRequest| ()),
    }
}

/// How many bytes at the front can go out without cutting a character.
pub fn whole(bytes: &[u8]) -> usize {
    super::utf8::whole(bytes)
}

fn read<T: DeserializeOwned>(message: &[u8], look: impl FnOnce(T)) -> bool {
    connect::parse(message).map(look).is_ok()
}

/// `List` shows it as it came.
fn config_survives(config: &ProcessConfig) {
    let shown = serde_json::to_vec(config).expect("a configuration is strings");
    let again: ProcessConfig = serde_json::from_slice(&shown).expect("what we wrote can be read");
    assert_eq!(config.bytes(), again.bytes());
}
