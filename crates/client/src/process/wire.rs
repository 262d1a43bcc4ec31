//! Messages of `process.Process` in protobuf's JSON mapping, as far as a client needs them.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use super::{Command, End, Size, Stdio};

#[derive(Debug, Serialize)]
pub(super) struct StartRequest<'a> {
    process: Config<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pty: Option<Value>,
    stdin: bool,
}

#[derive(Debug, Serialize)]
struct Config<'a> {
    cmd: &'a str,
    args: &'a [String],
    envs: &'a BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<&'a str>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Message {
    pub(super) event: WireEvent,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum WireEvent {
    Start {
        #[serde(default)]
        pid: u32,
    },
    Data {
        #[serde(default, deserialize_with = "base64")]
        stdout: Option<Bytes>,
        #[serde(default, deserialize_with = "base64")]
        stderr: Option<Bytes>,
        #[serde(default, deserialize_with = "base64")]
        pty: Option<Bytes>,
    },
    End(End),
    Keepalive {},
}

#[derive(Debug, Deserialize)]
pub(super) struct EndOfStream {
    pub(super) error: Option<StreamError>,
}

#[derive(Debug, Deserialize)]
pub(super) struct StreamError {
    #[serde(default)]
    pub(super) code: String,
    #[serde(default)]
    pub(super) message: String,
}

pub(super) fn size(size: Size) -> Value {
    json!({ "size": { "cols": size.cols, "rows": size.rows } })
}

impl<'a> StartRequest<'a> {
    pub(super) fn of(command: &'a Command) -> Self {
        let pty = match command.stdio {
            Stdio::Terminal(of) => Some(size(of)),
            Stdio::Output | Stdio::Piped => None,
        };
        let process = Config {
            cmd: &command.program,
            args: &command.args,
            envs: &command.envs,
            cwd: command.cwd.as_deref(),
        };
        Self { process, pty, stdin: command.stdio == Stdio::Piped }
    }
}

fn base64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Bytes>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    STANDARD.decode(text).map(|bytes| Some(bytes.into())).map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read() {
        let read = |text| serde_json::from_str::<Message>(text).unwrap().event;
        assert!(matches!(read(r#"{"event":{"start":{"pid":7}}}"#), WireEvent::Start { pid: 7 }));
        assert!(matches!(read(r#"{"event":{"keepalive":{}}}"#), WireEvent::Keepalive {}));
        let WireEvent::Data { stdout, .. } = read(r#"{"event":{"data":{"stdout":"aGk="}}}"#) else {
            panic!("data")
        };
        assert_eq!(stdout.unwrap(), "hi");
    }

    #[test]
    fn a_request_says_whether_there_is_input() {
        let command = Command { program: "ls".into(), ..Command::default() };
        let text = serde_json::to_string(&StartRequest::of(&command)).unwrap();
        assert_eq!(text, r#"{"process":{"cmd":"ls","args":[],"envs":{}},"stdin":false}"#);
    }
}
