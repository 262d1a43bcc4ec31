//! OpenAI's chat completions, as OpenAI and everybody compatible with it serve them.

use async_trait::async_trait;
use reqwest::{RequestBuilder, header};
use serde_json::{Value, json};

use super::{
    ApiKey, Delta, Deltas, Message, Model, ModelError, Request, Stop, ToolCall, Tools, Turn, Usage,
    complaint::Complaint,
    endpoint::{Endpoint, Fault, Flow, Fold, Wire},
    sse::SseEvent,
};
use crate::tool;

/// A model behind `POST <base>/chat/completions`.
#[derive(Debug)]
pub(crate) struct ChatCompletions(Endpoint);

struct Dialect;

/// What a stream has brought so far.
#[derive(Default)]
struct Stream {
    text: String,
    refusal: String,
    calls: Vec<PartialCall>,
    finish: Option<String>,
    usage: Usage,
}

#[derive(Default)]
struct PartialCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl ChatCompletions {
    pub(crate) fn new(endpoint: Endpoint) -> Self {
        Self(endpoint)
    }
}

#[async_trait]
impl Model for ChatCompletions {
    async fn turn(&self, request: Request<'_>, on: Deltas<'_>) -> Result<Turn, ModelError> {
        self.0.turn(&Dialect, "/chat/completions", &body(self.0.model(), request), on).await
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
    let mut messages = vec![json!({"role": "system", "content": request.system})];
    for message in request.messages {
        match message {
            Message::User { content } => messages.push(json!({"role": "user", "content": content})),
            Message::Assistant { content, calls } if calls.is_empty() => {
                messages.push(json!({"role": "assistant", "content": content}));
            }
            Message::Assistant { content, calls } => {
                let content = if content.is_empty() { Value::Null } else { json!(content) };
                let calls: Vec<_> = calls.iter().map(call).collect();
                messages.push(json!({"role": "assistant", "content": content, "tool_calls": calls}));
            }
            Message::Results { results } => {
                messages.extend(results.iter().map(
                    |result| json!({"role": "tool", "tool_call_id": result.id, "content": result.content}),
                ));
            }
        }
    }
    let mut body = json!({
        "model": model,
        "messages": messages,
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    if request.tools != Tools::Absent {
        body["tools"] = json!([{"type": "function", "function": {
            "name": tool::NAME, "description": tool::DESCRIPTION, "parameters": tool::schema(),
        }}]);
    }
    if request.tools == Tools::Withheld {
        body["tool_choice"] = json!("none");
    }
    body
}

fn call(call: &ToolCall) -> Value {
    let function = json!({"name": call.name, "arguments": call.input.to_string()});
    json!({"id": call.id, "type": "function", "function": function})
}

// === impl Dialect ===

impl Wire for Dialect {
    fn authorise(&self, request: RequestBuilder, key: Option<&ApiKey>) -> RequestBuilder {
        match key {
            Some(key) => request.header(header::AUTHORIZATION, key.header("Bearer ")),
            None => request,
        }
    }

    fn fold(&self) -> Box<dyn Fold> {
        Box::<Stream>::default()
    }

    fn whole(&self, answer: &Value) -> Result<Turn, Fault> {
        let mut stream = Stream::default();
        stream.take_json(answer, "message", &mut |_| ())?;
        // Some servers leave the reason out of answers that come whole; being whole, they are finished.
        stream.finish.get_or_insert_with(|| "stop".to_owned());
        Ok(stream.into_turn())
    }
}

// === impl Stream ===

impl Fold for Stream {
    fn take(&mut self, event: &SseEvent, on: Deltas<'_>) -> Result<Flow, Fault> {
        if event.data.trim() == "[DONE]" {
            return Ok(Flow::Done);
        }
        let chunk = serde_json::from_str(&event.data)
            .map_err(|error| Fault::NotUnderstood(format!("an event that is no JSON ({error})")))?;
        self.take_json(&chunk, "delta", on)?;
        Ok(Flow::More)
    }

    fn finish(self: Box<Self>) -> Option<Turn> {
        // Not every compatible server sends `[DONE]`; every one says why it stopped.
        self.finish.is_some().then(|| self.into_turn())
    }
}

impl Stream {
    fn take_json(&mut self, chunk: &Value, part: &str, on: Deltas<'_>) -> Result<(), Fault> {
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            let status = error.get("code").and_then(Value::as_u64).map_or(500, |code| code as u16);
            return Err(Fault::Said(Complaint::read(status, &chunk.to_string())));
        }
        if let Some(usage) = chunk.get("usage") {
            let count = |name: &str| usage.get(name).and_then(Value::as_u64);
            self.usage.input_tokens = count("prompt_tokens").unwrap_or(self.usage.input_tokens);
            self.usage.output_tokens = count("completion_tokens").unwrap_or(self.usage.output_tokens);
        }
        let Some(choices) = chunk.get("choices").and_then(Value::as_array) else {
            return Err(Fault::NotUnderstood("an object without `choices`".to_owned()));
        };
        // The last chunk, with the usage, has no choice.
        let Some(choice) = choices.first() else { return Ok(()) };
        if let Some(finish) = choice.get("finish_reason").and_then(Value::as_str) {
            self.finish = Some(finish.to_owned());
        }
        let Some(part) = choice.get(part) else { return Ok(()) };
        let text = |name: &str| part.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        if let Some(thought) = text("reasoning_content").or_else(|| text("reasoning")) {
            on(Delta::Thinking(thought.to_owned()));
        }
        if let Some(said) = text("content") {
            self.text.push_str(said);
            on(Delta::Text(said.to_owned()));
        }
        if let Some(refusal) = text("refusal") {
            self.refusal.push_str(refusal);
            on(Delta::Text(refusal.to_owned()));
        }
        for call in part.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            self.take_call(call);
        }
        Ok(())
    }

    /// A call comes in pieces, told apart by `index`. Servers that send each call whole may leave it out: then
    /// an id begins a new one.
    fn take_call(&mut self, piece: &Value) {
        let index = piece.get("index").and_then(Value::as_u64);
        let id = piece.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
        let known = match index {
            Some(_) => self.calls.iter().position(|call| call.index == index),
            None if id.is_some() => None,
            None => self.calls.len().checked_sub(1),
        };
        let at = known.unwrap_or_else(|| {
            self.calls.push(PartialCall { index, ..PartialCall::default() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        if let Some(id) = id {
            id.clone_into(&mut call.id);
        }
        let Some(function) = piece.get("function") else { return };
        if let Some(name) = function.get("name").and_then(Value::as_str) {
            call.name.push_str(name);
        }
        match function.get("arguments") {
            Some(Value::String(piece)) => call.arguments.push_str(piece),
            Some(Value::Null) | None => {}
            Some(whole) => call.arguments = whole.to_string(),
        }
    }

    fn into_turn(self) -> Turn {
        let refused = !self.refusal.is_empty() || self.finish.as_deref() == Some("content_filter");
        let stop = match self.finish.as_deref() {
            _ if refused => Stop::Refused,
            Some("length") => Stop::Length,
            _ => Stop::Finished,
        };
        let calls = self.calls.into_iter().enumerate().map(|(n, call)| {
            let id = if call.id.is_empty() { format!("call_{n}") } else { call.id };
            ToolCall::parse(id, call.name, &call.arguments)
        });
        let text = if self.refusal.is_empty() { self.text } else { self.refusal };
        Turn { text, calls: calls.collect(), stop, usage: self.usage }
    }
}

#[cfg(test)]
mod tests;
