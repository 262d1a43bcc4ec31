//! The agent over real HTTP, against the model of `tests/agent` that says what was written beforehand; the code
//! really runs, in a child process without walls. Both providers, and each way in which an endpoint misbehaves.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "clippy allows it by itself only in the bodies of tests")]

#[path = "../../examples/ask_local/local.rs"]
mod local;
mod server;

use hood_agent::{
    Asked, Config, Event, Failure, ModelError, Out, Outcome, Provider, Question, Report, Upload, ask,
};
use local::LocalBench;
use server::{KEY, ModelServer};

const QUESTION: &str = "What do the orders add up to, and which city ordered most?";
const ANSWER: &str =
    "3 orders add up to **45.75**; most came from Казань (25.50). The table is `cities.csv`.";
const BOTH: [Provider; 2] = [Provider::OpenAi, Provider::Anthropic];

struct Run {
    report: Report,
    events: Vec<Event>,
    record: serde_json::Value,
    everything: String,
}

/// Asks the question of a server that misbehaves in one way (`""` for none).
async fn run(provider: Provider, misbehave: &str, rounds: u32) -> Run {
    let server = ModelServer::start("basics.json", misbehave);
    let base_url = server.base_url(provider);
    run_at(provider, &base_url, rounds).await
}

async fn run_at(provider: Provider, base_url: &str, rounds: u32) -> Run {
    let asked = Asked {
        provider: Some(provider),
        base_url: Some(base_url.to_owned()),
        model: Some("scripted".into()),
    };
    let variables = |name: &str| match name {
        "OPENAI_API_KEY" | "ANTHROPIC_API_KEY" => Some(KEY.to_owned()),
        "HOOD_MODEL_IDLE_SECONDS" => Some("1".to_owned()),
        _ => None,
    };
    let model = Config::choose(&asked, &variables).unwrap().model().unwrap();
    let orders = std::fs::read(server::folder().join("conversations/orders.csv")).unwrap();
    let upload = Upload { name: "orders.csv".into(), bytes: orders.into() };
    let question = Question { rounds, ..Question::new(QUESTION, vec![upload]) };
    let dir = tempfile::tempdir().unwrap();
    let out = Out::create(dir.path()).await.unwrap();
    let mut events = Vec::new();
    let bench = LocalBench::start().unwrap();
    let report = ask(&question, &*model, &bench, &out, &mut |event| events.push(event)).await.unwrap();
    let json = std::fs::read_to_string(dir.path().join("run.json")).unwrap();
    let everything =
        format!("{report:?} {:?} {:?} {events:?} {json}", report.outcome.error(), report.outcome.hint());
    Run { report, events, record: serde_json::from_str(&json).unwrap(), everything }
}

impl Run {
    #[track_caller]
    fn answered(&self) {
        assert!(matches!(self.report.outcome, Outcome::Answered), "{:?}", self.report.outcome.error());
        assert_eq!(self.report.answer.as_deref(), Some(ANSWER));
        assert_eq!(self.report.files, ["cities.csv"]);
    }

    fn retries(&self) -> usize {
        self.events.iter().filter(|event| matches!(event, Event::Retry { .. })).count()
    }

    #[track_caller]
    fn model_error(&self) -> &ModelError {
        match &self.report.outcome {
            Outcome::Failed(Failure::Model(error)) => error,
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn the_first_code_fails_and_the_second_mends_it() {
    for provider in BOTH {
        let run = run(provider, "", 8).await;
        run.answered();
        assert_eq!(run.record["rounds"][0]["calls"][0]["error"]["name"], "KeyError");
        assert_eq!(run.record["rounds"][2]["calls"].as_array().unwrap().len(), 2);
        assert!(run.report.usage.input_tokens > 1000 && run.report.usage.output_tokens > 100);
        assert!(!run.everything.contains(KEY));
        let said: String = run
            .events
            .iter()
            .filter_map(|e| if let Event::Said { delta } = e { Some(&**delta) } else { None })
            .collect();
        assert!(said.ends_with(ANSWER), "the answer was streamed");
    }
}

#[tokio::test]
async fn what_passes_by_itself_is_waited_for() {
    for provider in BOTH {
        for (misbehave, retries) in [
            ("rate_limit", 1),
            ("overloaded", 2),
            ("cut_stream", 4),
            ("stream_error", 1),
            ("silent", 1),
            ("empty", 1),
        ] {
            let run = run(provider, misbehave, 8).await;
            run.answered();
            assert_eq!(run.retries(), retries, "{provider} {misbehave}");
        }
    }
}

#[tokio::test]
async fn other_shapes_of_answers_are_understood() {
    for provider in BOTH {
        for (misbehave, calling) in
            [("no_stream", "tools"), ("slow", "tools"), ("no_tools", "fenced"), ("fenced", "fenced")]
        {
            let run = run(provider, misbehave, 8).await;
            run.answered();
            assert_eq!(run.record["calling"], calling, "{provider} {misbehave}");
        }
    }
}

#[tokio::test]
async fn broken_arguments_are_the_models_to_mend() {
    for provider in BOTH {
        let run = run(provider, "bad_arguments", 8).await;
        run.answered();
        assert_eq!(run.record["rounds"][0]["calls"][0]["ran"], false);
    }
}

#[tokio::test]
async fn endless_calls_end_with_the_rounds() {
    for provider in BOTH {
        let run = run(provider, "endless", 3).await;
        assert!(matches!(run.report.outcome, Outcome::RoundsExhausted { rounds: 3 }));
        assert_eq!(run.report.answer.as_deref(), Some("I stopped after 3 steps."));
    }
}

#[tokio::test]
async fn what_does_not_pass_is_said_in_plain_words() {
    for provider in BOTH {
        let long = run(provider, "context_length", 8).await;
        assert!(matches!(long.model_error(), ModelError::ContextTooLong { .. }), "{:?}", long.model_error());
        assert_eq!(long.record["rounds"][0]["calls"][0]["ran"], true, "the first round is kept");

        let refused = run(provider, "unauthorized", 8).await;
        assert!(matches!(refused.model_error(), ModelError::KeyRefused { status: 401, .. }));
        assert!(refused.everything.contains("[key]") && !refused.everything.contains(KEY));

        let declined = run(provider, "refuse", 8).await;
        assert!(matches!(declined.report.outcome, Outcome::Refused));
    }
}

#[tokio::test]
async fn an_endpoint_that_is_down_is_asked_a_few_times() {
    let run = run_at(Provider::OpenAi, "http://127.0.0.1:9/v1", 8).await;
    assert!(matches!(run.model_error(), ModelError::Unreachable { .. }));
    assert_eq!(run.retries(), 4);
    let error = run.report.outcome.error().unwrap();
    assert!(error.starts_with("cannot reach the model at `http://127.0.0.1:9/v1`"), "{error}");
}
