//! An endpoint's refusal in our words.
//!
//! Both protocols have error types and codes, but for the conditions that matter most (a conversation too long,
//! a model without tools) most compatible servers only have a sentence. So this one file reads sentences; the
//! rest of the crate sees typed errors.

use serde_json::Value;

use super::ModelError;
use crate::{limits::SAID_BYTES, text::one_line};

/// What an endpoint said beside a status that is no success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Complaint {
    pub(crate) status: u16,
    pub(crate) kind: String,
    pub(crate) said: String,
}

/// Whether asking again may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    Never,
    BackOff,
}

impl Complaint {
    /// Reads `{"error": {"message", "type", "code"}}` and what comes close to it; anything else is quoted.
    pub(crate) fn read(status: u16, body: &str) -> Self {
        let json = serde_json::from_str::<Value>(body).unwrap_or(Value::Null);
        let error = json.get("error").unwrap_or(&json);
        let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let said = text(error, "message")
            .or_else(|| text(error, "detail"))
            .or_else(|| error.as_str().map(str::to_owned))
            .unwrap_or_else(|| body.to_owned());
        let kind = text(error, "code").or_else(|| text(error, "type")).unwrap_or_default();
        let said = one_line(&said, SAID_BYTES);
        let said = if said.is_empty() { "it gave no reason".to_owned() } else { said };
        Self { status, kind, said }
    }

    /// The typed error, and whether it may pass by itself.
    pub(crate) fn judge(self, endpoint: &str, model: &str) -> (ModelError, Again) {
        let status = self.status;
        // Before the statuses: llama.cpp's server answers 500 to both of these.
        if self.is_about_length() {
            return (ModelError::ContextTooLong { said: self.said }, Again::Never);
        }
        if self.is_about_tools() {
            return (ModelError::ToolsRejected { said: self.said }, Again::Never);
        }
        let said = self.said;
        match status {
            401 | 403 => (ModelError::KeyRefused { status, said }, Again::Never),
            404 => {
                let (endpoint, model) = (endpoint.to_owned(), model.to_owned());
                (ModelError::UnknownModel { endpoint, model, said }, Again::Never)
            }
            429 if self.kind == "insufficient_quota" => (ModelError::QuotaUsedUp { said }, Again::Never),
            429 => (ModelError::RateLimited { attempts: 1, said }, Again::BackOff),
            408 | 409 | 500.. => (ModelError::EndpointFailed { status, attempts: 1, said }, Again::BackOff),
            300..=399 => {
                let said = format!("it points to another address, which is not followed: {said}");
                (ModelError::Rejected { status, said }, Again::Never)
            }
            _ => (ModelError::Rejected { status, said }, Again::Never),
        }
    }

    fn is_about_length(&self) -> bool {
        if self.kind == "context_length_exceeded" || self.status == 413 {
            return true;
        }
        let said = self.said.to_lowercase();
        let refused = matches!(self.status, 400 | 422 | 500);
        let phrases = [
            "prompt is too long",      // Anthropic
            "exceed context limit",    // Anthropic, with max_tokens added
            "maximum context length",  // OpenAI, vLLM
            "context length exceeded", // several
            "context size",            // llama.cpp
            "context window",          // OpenAI's newer wording
        ];
        refused && phrases.iter().any(|phrase| said.contains(phrase))
    }

    fn is_about_tools(&self) -> bool {
        let said = self.said.to_lowercase();
        let refused = matches!(self.status, 400 | 404 | 422 | 500 | 501);
        let phrases =
            ["support", "require", "not permitted", "not allowed", "unknown", "unrecognized", "disabled"];
        let names_tools = said.contains("tool") || said.contains("function call");
        // A wrong id in the conversation is our fault, not a lack of tools.
        let names_an_id = said.contains("tool_call_id") || said.contains("tool_use_id");
        refused && names_tools && !names_an_id && phrases.iter().any(|phrase| said.contains(phrase))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn judge(status: u16, body: &str) -> (ModelError, Again) {
        Complaint::read(status, body).judge("http://host", "m")
    }

    #[test]
    fn a_conversation_too_long_is_known_in_each_dialect() {
        for (status, body) in [
            (
                400,
                r#"{"error":{"message":"This model's maximum context length is 8192 tokens.","code":"context_length_exceeded"}}"#,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}"#,
            ),
            (
                413,
                r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
            ),
            (500, r#"{"error":{"code":500,"message":"the request exceeds the available context size"}}"#),
        ] {
            assert!(
                matches!(judge(status, body), (ModelError::ContextTooLong { .. }, Again::Never)),
                "{body}"
            );
        }
    }

    #[test]
    fn a_model_without_tools_is_known_in_each_dialect() {
        for (status, body) in [
            (400, r#"{"error":{"message":"registry/gemma:2b does not support tools","type":"api_error"}}"#),
            (
                400,
                r#"{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice"}"#,
            ),
            (404, r#"{"error":{"message":"No endpoints found that support tool use.","code":404}}"#),
            (500, r#"{"error":{"message":"tools param requires --jinja flag"}}"#),
        ] {
            assert!(
                matches!(judge(status, body), (ModelError::ToolsRejected { .. }, Again::Never)),
                "{body}"
            );
        }
    }

    #[test]
    fn a_wrong_id_in_the_conversation_is_not_a_lack_of_tools() {
        let body = r#"{"error":{"message":"tool_call_id 'x' is unknown"}}"#;
        assert!(matches!(judge(400, body), (ModelError::Rejected { .. }, Again::Never)));
    }

    #[test]
    fn what_may_pass_is_asked_again() {
        assert!(matches!(judge(429, "{}"), (ModelError::RateLimited { .. }, Again::BackOff)));
        assert!(matches!(
            judge(503, "<html>"),
            (ModelError::EndpointFailed { status: 503, .. }, Again::BackOff)
        ));
        assert!(matches!(judge(529, "{}"), (ModelError::EndpointFailed { .. }, Again::BackOff)));
        let quota = r#"{"error":{"message":"You exceeded your quota","code":"insufficient_quota"}}"#;
        assert!(matches!(judge(429, quota), (ModelError::QuotaUsedUp { .. }, Again::Never)));
    }

    #[test]
    fn the_endpoints_own_words_are_kept() {
        assert_eq!(Complaint::read(400, r#"{"error":"plain words"}"#).said, "plain words");
        assert_eq!(Complaint::read(502, "Bad\nGateway").said, "Bad Gateway");
        assert_eq!(Complaint::read(502, "").said, "it gave no reason");
    }
}
