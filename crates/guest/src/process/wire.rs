//! Messages of `process.Process`, as protobuf's JSON mapping has them (reference `e2b.md` 3.1, 3.2): camelCase out,
//! snake_case accepted, bytes in base64, a `oneof` as the one field that is there.

use std::collections::BTreeMap;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bytes::Bytes;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

// === requests ===

#[derive(Debug, Default, Deserialize)]
pub(super) struct StartRequest {
    pub(super) process: Option<ProcessConfig>,
    pub(super) pty: Option<Pty>,
    pub(super) tag: Option<String>,
    /// Absent means yes: clients from before this field relied on it.
    pub(super) stdin: Option<bool>,
}

#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub(super) struct ProcessConfig {
    #[serde(default)]
    pub(super) cmd: String,
    #[serde(default)]
    pub(super) args: Vec<String>,
    #[serde(default)]
    pub(super) envs: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cwd: Option<String>,
}

impl ProcessConfig {
    /// What keeping it for `List` costs.
    pub(super) fn bytes(&self) -> usize {
        let envs = self.envs.iter().flat_map(|(key, value)| [key, value]);
        self.args.iter().chain(envs).chain(self.cwd.as_ref()).map(|s| s.len() + size_of::<String>()).sum()
    }
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
pub(super) struct Pty {
    pub(super) size: Option<PtySize>,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
pub(super) struct PtySize {
    #[serde(default)]
    pub(super) cols: u32,
    #[serde(default)]
    pub(super) rows: u32,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct ListRequest {}

/// `Connect`, `CloseStdin`.
#[derive(Debug, Default, Deserialize)]
pub(super) struct SelectRequest {
    pub(super) process: Option<Selector>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct UpdateRequest {
    pub(super) process: Option<Selector>,
    pub(super) pty: Option<Pty>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct SendInputRequest {
    pub(super) process: Option<Selector>,
    pub(super) input: Option<Input>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct SendSignalRequest {
    pub(super) process: Option<Selector>,
    pub(super) signal: Option<SignalName>,
}

/// Protobuf's JSON mapping writes an enum by name, and accepts its number.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(super) enum SignalName {
    Name(String),
    Number(i64),
}

/// One message of `StreamInput`; a `oneof`, whose `keepalive` says nothing and so is not read.
#[derive(Debug, Default, Deserialize)]
pub(super) struct StreamInputRequest {
    pub(super) start: Option<SelectRequest>,
    pub(super) data: Option<StreamInputData>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct StreamInputData {
    pub(super) input: Option<Input>,
}

/// A `oneof`: by number or by tag.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Selector {
    pub(super) pid: Option<u32>,
    pub(super) tag: Option<String>,
}

/// A `oneof`: for a pipe or for a terminal.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Input {
    #[serde(default, deserialize_with = "from_base64")]
    pub(super) stdin: Option<Vec<u8>>,
    #[serde(default, deserialize_with = "from_base64")]
    pub(super) pty: Option<Vec<u8>>,
}

// === answers ===

#[derive(Debug, Serialize)]
pub(super) struct Empty {}

#[derive(Debug, Serialize)]
pub(super) struct ListResponse {
    pub(super) processes: Vec<ProcessInfo>,
}

#[derive(Debug, Serialize)]
pub(super) struct ProcessInfo {
    pub(super) config: ProcessConfig,
    pub(super) pid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tag: Option<String>,
}

/// One message of `Start` and `Connect`.
#[derive(Debug, Serialize)]
pub(super) struct EventMessage {
    pub(super) event: Event,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Event {
    Start { pid: u32 },
    Data(Output),
    End(End),
    Keepalive {},
}

/// A piece of output, shared by all who read the process.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Output {
    Stdout(#[serde(serialize_with = "to_base64")] Bytes),
    Stderr(#[serde(serialize_with = "to_base64")] Bytes),
    Pty(#[serde(serialize_with = "to_base64")] Bytes),
}

impl Output {
    pub(super) fn len(&self) -> usize {
        let (Self::Stdout(bytes) | Self::Stderr(bytes) | Self::Pty(bytes)) = self;
        bytes.len()
    }
}

/// How the process ended, in the words of Go's `os.ProcessState`, which clients know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct End {
    pub(super) exit_code: i32,
    pub(super) exited: bool,
    pub(super) status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

// === bytes ===

/// With or without padding, as protobuf's JSON mapping asks of a reader.
const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

fn from_base64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<u8>>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    STANDARD.decode(&text).or_else(|_| URL_SAFE.decode(&text)).map(Some).map_err(D::Error::custom)
}

fn to_base64<S: Serializer>(bytes: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&STANDARD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(event: Event, expected: &str) {
        assert_eq!(serde_json::to_string(&EventMessage { event }).expect("valid"), expected);
    }

    #[test]
    fn events_look_as_the_sdks_expect() {
        check(Event::Start { pid: 7 }, r#"{"event":{"start":{"pid":7}}}"#);
        check(
            Event::Data(Output::Stdout(Bytes::from_static(b"hi"))),
            r#"{"event":{"data":{"stdout":"aGk="}}}"#,
        );
        check(Event::Keepalive {}, r#"{"event":{"keepalive":{}}}"#);
        let end = End { exit_code: 0, exited: true, status: "exit status 0".to_owned(), error: None };
        check(Event::End(end), r#"{"event":{"end":{"exitCode":0,"exited":true,"status":"exit status 0"}}}"#);
    }

    #[test]
    fn input_is_read_in_either_alphabet_and_unknown_fields_are_ignored() {
        let input: Input = serde_json::from_str(r#"{"stdin":"-_8","later":1}"#).expect("valid");
        assert_eq!(input.stdin.as_deref(), Some(&[0xfb, 0xff][..]));
        let input: Input = serde_json::from_str(r#"{"pty":"+/8="}"#).expect("valid");
        assert_eq!(input.pty.as_deref(), Some(&[0xfb, 0xff][..]));
        assert!(serde_json::from_str::<Input>(r#"{"stdin":"%%"}"#).is_err());
    }
}
