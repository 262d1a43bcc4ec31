//! The loop: a turn of the model, its calls, the next turn.

use std::time::Instant;

use super::{
    Failure, Outcome,
    calls::{Calls, Ran},
};
use crate::{
    Event, Events, Model, ModelError, OutError,
    limits::CALLS_PER_TURN,
    model::{Delta, Message, Request, Stop, ToolCall, ToolResult, Tools, Turn, Usage, code_blocks},
    prompt,
    record::{RetryRecord, RoundRecord},
    tool,
};

/// A run under way.
pub(super) struct Session<'a> {
    model: &'a dyn Model,
    limit: u32,
    calling: Calling,
    pub(super) system: String,
    pub(super) messages: Vec<Message>,
    pub(super) rounds: Vec<RoundRecord>,
    pub(super) usage: Usage,
    pub(super) calls: Calls<'a>,
    pub(super) answer: Option<String>,
}

/// How the model says what it wants run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Calling {
    /// It is offered the tool and has not called it yet.
    Untried,
    /// By calls.
    Tools,
    /// In fenced blocks.
    Fenced,
}

impl<'a> Session<'a> {
    pub(super) fn new(model: &'a dyn Model, calls: Calls<'a>, limit: u32) -> Self {
        Self {
            model,
            calls,
            limit,
            calling: Calling::Untried,
            system: prompt::system(limit, false),
            messages: Vec::new(),
            rounds: Vec::new(),
            usage: Usage::default(),
            answer: None,
        }
    }

    pub(super) fn calling(&self) -> &'static str {
        if self.calling == Calling::Fenced { "fenced" } else { "tools" }
    }

    /// Talks until there is an answer, a failure, or no round left.
    pub(super) async fn converse(&mut self, question: String, on: Events<'_>) -> Result<Outcome, OutError> {
        self.messages.push(Message::User { content: question });
        for n in 1..=self.limit {
            on(Event::Round { n, of: self.limit });
            let tools = if self.calling == Calling::Fenced { Tools::Absent } else { Tools::Offered };
            let mut turn = match self.turn(n, tools, on).await {
                Ok(turn) => turn,
                Err(error) => return Ok(Outcome::Failed(Failure::Model(error))),
            };
            self.find_calls(&mut turn, on);
            if turn.calls.is_empty() || turn.stop == Stop::Refused {
                return Ok(self.accept(turn));
            }
            if let Err(failure) = self.run_calls(turn, on).await? {
                return Ok(Outcome::Failed(failure));
            }
            if n + 1 == self.limit {
                self.add_to_last(prompt::ONE_ROUND_LEFT);
            }
        }
        self.sum_up(on).await
    }

    /// One turn, with the fallback to fenced code when the endpoint takes no tools.
    async fn turn(&mut self, n: u32, tools: Tools, on: Events<'_>) -> Result<Turn, ModelError> {
        match self.ask_model(n, tools, on).await {
            Err(ModelError::ToolsRejected { said }) if self.calling == Calling::Untried => {
                // The refusal cost no round: its record makes room for that of the turn.
                self.rounds.pop();
                self.fall_back(format!("the endpoint takes no tools ({said})"), on);
                self.ask_model(n, Tools::Absent, on).await
            }
            result => result,
        }
    }

    async fn ask_model(&mut self, n: u32, tools: Tools, on: Events<'_>) -> Result<Turn, ModelError> {
        let begun = Instant::now();
        let mut retries = Vec::new();
        let request = Request { system: &self.system, messages: &self.messages, tools };
        let result = self
            .model
            .turn(request, &mut |delta| match delta {
                Delta::Text(delta) => on(Event::Said { delta }),
                Delta::Thinking(delta) => on(Event::Thinking { delta }),
                Delta::Retry { why, after } => {
                    retries.push(RetryRecord { why: why.clone(), after_ms: after.as_millis() as u64 });
                    on(Event::Retry { why, after });
                }
            })
            .await;
        let turn = result.as_ref().ok();
        self.rounds.push(RoundRecord {
            n,
            model_ms: begun.elapsed().as_millis() as u64,
            retries,
            usage: turn.map_or_else(Usage::default, |turn| turn.usage),
            stop: turn.map_or_else(Stop::default, |turn| turn.stop),
            text: turn.map_or_else(String::new, |turn| turn.text.clone()),
            calls: Vec::new(),
        });
        self.usage += turn.map_or_else(Usage::default, |turn| turn.usage);
        result
    }

    /// Reads fenced code as calls. A model that has called the tool before means its fenced code for the reader.
    fn find_calls(&mut self, turn: &mut Turn, on: Events<'_>) {
        if !turn.calls.is_empty() {
            self.calling = Calling::Tools;
            return;
        }
        if self.calling == Calling::Tools || turn.stop == Stop::Refused {
            return;
        }
        let blocks = code_blocks(&turn.text);
        if blocks.is_empty() {
            return;
        }
        if self.calling == Calling::Untried {
            self.fall_back(
                "the model writes its code in fenced blocks instead of calling the tool".into(),
                on,
            );
        }
        let input = |code: String| serde_json::json!({"code": code, "description": "Running code"});
        turn.calls = blocks
            .into_iter()
            .enumerate()
            .map(|(n, code)| ToolCall {
                id: format!("block-{}", n + 1),
                name: tool::NAME.to_owned(),
                input: input(code),
                malformed: None,
            })
            .collect();
    }

    fn fall_back(&mut self, why: String, on: Events<'_>) {
        self.calling = Calling::Fenced;
        self.system = prompt::system(self.limit, true);
        on(Event::Note { text: format!("{why}; going on with code in fenced blocks") });
    }

    fn accept(&mut self, turn: Turn) -> Outcome {
        self.messages.push(Message::Assistant { content: turn.text.clone(), calls: Vec::new() });
        self.answer = Some(turn.text).filter(|text| !text.trim().is_empty());
        match turn.stop {
            Stop::Finished => Outcome::Answered,
            // All of its tokens went into thinking.
            Stop::Length if self.answer.is_none() => {
                Outcome::Failed(Failure::Model(ModelError::Empty { attempts: 1 }))
            }
            Stop::Length => Outcome::AnswerCut,
            Stop::Refused => Outcome::Refused,
        }
    }

    /// Asks once more, without tools. The summary is worth having, but its lack is no second failure.
    async fn sum_up(&mut self, on: Events<'_>) -> Result<Outcome, OutError> {
        on(Event::Note { text: format!("the {} rounds are used up; asking for a summary", self.limit) });
        let tools = if self.calling == Calling::Fenced { Tools::Absent } else { Tools::Withheld };
        self.add_to_last(&format!("\n\n{}", prompt::SUM_UP));
        match self.ask_model(self.limit + 1, tools, on).await {
            Ok(turn) => {
                self.messages.push(Message::Assistant { content: turn.text.clone(), calls: Vec::new() });
                self.answer = Some(turn.text).filter(|text| !text.trim().is_empty());
            }
            Err(error) => {
                on(Event::Note { text: format!("there is no summary: {error}") });
            }
        }
        Ok(Outcome::RoundsExhausted { rounds: self.limit })
    }

    /// Both protocols want the results right after the calls, and Anthropic's wants roles to alternate: so what
    /// the agent adds goes into the last message.
    fn add_to_last(&mut self, text: &str) {
        match self.messages.last_mut() {
            Some(Message::User { content }) => content.push_str(text),
            Some(Message::Results { results }) => {
                if let Some(last) = results.last_mut() {
                    last.content.push_str(text);
                }
            }
            Some(Message::Assistant { .. }) | None => {}
        }
    }

    /// Runs a turn's calls one after another (they share one interpreter) and adds turn and results to the
    /// conversation. The inner error ends the run; the outer one is the host's.
    async fn run_calls(&mut self, turn: Turn, on: Events<'_>) -> Result<Result<(), Failure>, OutError> {
        let mut results = Vec::new();
        let mut died = None;
        for (n, call) in turn.calls.iter().enumerate() {
            let ran = if n >= CALLS_PER_TURN {
                Ran::not(call, format!("Not run: {CALLS_PER_TURN} calls in one message are the limit."))
            } else if died.is_some() {
                Ran::not(call, "Not run: the sandbox failed.".to_owned())
            } else {
                self.calls.run(call, on).await?.unwrap_or_else(|error| {
                    let ran = Ran::not(call, format!("The sandbox failed: {error}"));
                    died = Some(error);
                    ran
                })
            };
            let content = self.model.without_key(&ran.record.told);
            results.push(ToolResult { id: call.id.clone(), content, failed: !ran.record.ok });
            if let Some(round) = self.rounds.last_mut() {
                round.calls.push(ran.record);
            }
        }
        if self.calling == Calling::Fenced {
            self.messages.push(Message::Assistant { content: turn.text, calls: Vec::new() });
            self.messages.push(Message::User { content: fenced_results(&results) });
        } else {
            self.messages.push(Message::Assistant { content: turn.text, calls: turn.calls });
            self.messages.push(Message::Results { results });
        }
        Ok(died.map_or(Ok(()), |error| Err(Failure::Sandbox(error))))
    }
}

/// The results as the next message of a conversation in fenced code.
fn fenced_results(results: &[ToolResult]) -> String {
    let parts: Vec<_> = results
        .iter()
        .enumerate()
        .map(|(n, result)| format!("What came of block {}:\n{}", n + 1, result.content))
        .collect();
    parts.join("\n\n")
}
