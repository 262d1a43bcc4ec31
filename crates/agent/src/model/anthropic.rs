//! Anthropic's Messages endpoint.

use async_trait::async_trait;
use reqwest::RequestBuilder;
use serde_json::{Value, json};

use super::{
    ApiKey, Delta, Deltas, Message, Model, ModelError, Request, Stop, ToolCall, Tools, Turn, Usage,
    complaint::Complaint,
    endpoint::{Endpoint, Fault, Flow, Fold, Wire},
    sse::SseEvent,
};
use crate::{limits, tool};

/// The version of the protocol that this file speaks.
const VERSION: &str = "2023-06-01";

/// A model behind `POST <base>/v1/messages`.
#[derive(Debug)]
pub(crate) struct Messages(Endpoint);

struct Dialect;

/// What a stream has brought so far.
#[derive(Default)]
struct Stream {
    text: String,
    calls: Vec<PartialCall>,
    stop_reason: Option<String>,
    usage: Usage,
}

struct PartialCall {
    index: u64,
    id: String,
    name: String,
    arguments: String,
}

impl Messages {
    pub(crate) fn new(endpoint: Endpoint) -> Self {
        Self(endpoint)
    }
}

#[async_trait]
impl Model for Messages {
    async fn turn(&self, request: Request<'_>, on: Deltas<'_>) -> Result<Turn, ModelError> {
        // People write the base URL with and without the version.
        let path = if self.0.path().ends_with("/v1") { "/messages" } else { "/v1/messages" };
        self.0.turn(&Dialect, path, &body(self.0.model(), request), on).await
    }

    fn name(&self) -> &str {
        self.0.model()
    }

    fn endpoint(&self) -> &str {
        self.0.shown()
    }

    fn without_key(&self, text: &str) -> String {
        self.0.without_key(text)
    }
}

fn body(model: &str, request: Request<'_>) -> Value {
    let messages: Vec<_> = request.messages.iter().map(message).collect();
    let mut body = json!({
        "model": model,
        "max_tokens": limits::ANSWER_TOKENS,
        "system": request.system,
        "messages": messages,
        "stream": true,
    });
    if request.tools != Tools::Absent {
        body["tools"] = json!([
            {"name": tool::NAME, "description": tool::DESCRIPTION, "input_schema": tool::schema()},
        ]);
    }
    if request.tools == Tools::Withheld {
        body["tool_choice"] = json!({"type": "none"});
    }
    body
}

fn message(message: &Message) -> Value {
    match message {
        Message::User { content } => json!({"role": "user", "content": content}),
        Message::Assistant { content, calls } => {
            // An empty text block is refused.
            let text = (!content.is_empty()).then(|| json!({"type": "text", "text": content}));
            let calls = calls.iter().map(
                |call| json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.input}),
            );
            let blocks: Vec<_> = text.into_iter().chain(calls).collect();
            json!({"role": "assistant", "content": blocks})
        }
        Message::Results { results } => {
            let blocks: Vec<_> = results
                .iter()
                .map(|result| {
                    json!({
                        "type": "tool_result", "tool_use_id": result.id,
                        "content": result.content, "is_error": result.failed,
                    })
                })
                .collect();
            json!({"role": "user", "content": blocks})
        }
    }
}

// === impl Dialect ===

impl Wire for Dialect {
    fn authorise(&self, request: RequestBuilder, key: Option<&ApiKey>) -> RequestBuilder {
        let request = request.header("anthropic-version", VERSION);
        match key {
            Some(key) => request.header("x-api-key", key.header("")),
            None => request,
        }
    }

    fn fold(&self) -> Box<dyn Fold> {
        Box::<Stream>::default()
    }

    fn whole(&self, answer: &Value) -> Result<Turn, Fault> {
        if answer["type"] == "error" {
            return Err(Fault::Said(complaint(answer)));
        }
        let Some(blocks) = answer.get("content").and_then(Value::as_array) else {
            return Err(Fault::NotUnderstood("an object without `content`".to_owned()));
        };
        let mut stream = Stream::default();
        for (index, block) in blocks.iter().enumerate() {
            stream.begin_block(index as u64, block, &mut |_| ());
        }
        stream.count(&answer["usage"]);
        stream.stop_reason = Some(text_of(answer, "stop_reason"));
        Ok(stream.into_turn())
    }
}

// === impl Stream ===

impl Fold for Stream {
    fn take(&mut self, event: &SseEvent, on: Deltas<'_>) -> Result<Flow, Fault> {
        let event: Value = serde_json::from_str(&event.data)
            .map_err(|error| Fault::NotUnderstood(format!("an event that is no JSON ({error})")))?;
        let index = event["index"].as_u64().unwrap_or(0);
        match event["type"].as_str() {
            Some("message_start") => self.count(&event["message"]["usage"]),
            Some("content_block_start") => self.begin_block(index, &event["content_block"], on),
            Some("content_block_delta") => self.extend_block(index, &event["delta"], on),
            Some("message_delta") => {
                self.count(&event["usage"]);
                if let Some(reason) = event["delta"]["stop_reason"].as_str() {
                    self.stop_reason = Some(reason.to_owned());
                }
            }
            Some("message_stop") => return Ok(Flow::Done),
            Some("error") => return Err(Fault::Said(complaint(&event))),
            // `ping`, `content_block_stop`, and whatever the protocol may add: it asks to pass that over.
            Some(_) => {}
            None => return Err(Fault::NotUnderstood("an event without `type`".to_owned())),
        }
        Ok(Flow::More)
    }

    fn finish(self: Box<Self>) -> Option<Turn> {
        self.stop_reason.is_some().then(|| self.into_turn())
    }
}

impl Stream {
    /// A block begins, or is given whole.
    fn begin_block(&mut self, index: u64, block: &Value, on: Deltas<'_>) {
        match block["type"].as_str() {
            Some("text") => self.say(&text_of(block, "text"), on),
            Some("tool_use") => {
                let (id, name) = (text_of(block, "id"), text_of(block, "name"));
                // In a stream the input begins as `{}` and its text follows.
                let input = &block["input"];
                let whole = input.as_object().is_some_and(|input| !input.is_empty());
                let arguments = if whole { input.to_string() } else { String::new() };
                self.calls.push(PartialCall { index, id, name, arguments });
            }
            _ => {}
        }
    }

    fn extend_block(&mut self, index: u64, delta: &Value, on: Deltas<'_>) {
        match delta["type"].as_str() {
            Some("text_delta") => self.say(&text_of(delta, "text"), on),
            Some("thinking_delta") => on(Delta::Thinking(text_of(delta, "thinking"))),
            Some("input_json_delta") => {
                if let Some(call) = self.calls.iter_mut().find(|call| call.index == index) {
                    call.arguments.push_str(&text_of(delta, "partial_json"));
                }
            }
            _ => {}
        }
    }

    fn say(&mut self, text: &str, on: Deltas<'_>) {
        if !text.is_empty() {
            self.text.push_str(text);
            on(Delta::Text(text.to_owned()));
        }
    }

    /// Counts are totals so far, not differences; those not named stay.
    fn count(&mut self, usage: &Value) {
        let count = |name: &str| usage[name].as_u64();
        if let Some(input) = count("input_tokens") {
            let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"];
            self.usage.input_tokens = input + cached.iter().filter_map(|name| count(name)).sum::<u64>();
        }
        self.usage.output_tokens = count("output_tokens").unwrap_or(self.usage.output_tokens);
    }

    fn into_turn(self) -> Turn {
        let stop = match self.stop_reason.as_deref() {
            Some("max_tokens" | "model_context_window_exceeded") => Stop::Length,
            Some("refusal") => Stop::Refused,
            _ => Stop::Finished,
        };
        let calls = self.calls.into_iter().map(|call| ToolCall::parse(call.id, call.name, &call.arguments));
        Turn { text: self.text, calls: calls.collect(), stop, usage: self.usage }
    }
}

fn text_of(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}

/// An error that came with status 200: its type says which status it would have had.
fn complaint(event: &Value) -> Complaint {
    let status = match event["error"]["type"].as_str() {
        Some("invalid_request_error") => 400,
        Some("authentication_error") => 401,
        Some("permission_error") => 403,
        Some("not_found_error") => 404,
        Some("request_too_large") => 413,
        Some("rate_limit_error") => 429,
        Some("overloaded_error") => 529,
        _ => 500,
    };
    Complaint::read(status, &event.to_string())
}

#[cfg(test)]
mod tests;
