//! Requests to `filesystem.Filesystem`, as far as their reading goes.

use serde::de::DeserializeOwned;

use super::watch::WatchRequest;
use super::{ListRequest, MoveRequest, PathRequest};
use crate::connect;

/// The ways to read a message.
const KINDS: u8 = 4;

/// Reads a message as that kind of request: the paths that it names, if it is one.
pub fn request(kind: u8, message: &[u8]) -> Option<Vec<String>> {
    match kind % KINDS {
        0 => read(message, |request: PathRequest| vec![request.path]),
        1 => read(message, |request: MoveRequest| vec![request.source, request.destination]),
        2 => read(message, |request: ListRequest| vec![request.path]),
        _ => read(message, |request: WatchRequest| vec![request.path]),
    }
}

fn read<T: DeserializeOwned>(message: &[u8], paths: impl FnOnce(T) -> Vec<String>) -> Option<Vec<String>> {
    connect::parse(message).map(paths).ok()
}
