//! The loop against a model and a sandbox that do what the test says.

mod fakes;

use std::{path::Path, time::Duration};

use serde_json::{Value, json};

use super::*;
use crate::{
    Cell, CellError, ModelError, Shown,
    model::{Message, Stop, Tools, Turn},
};
use fakes::{FakeBench, FakeModel, KEY, Reply, answer, call, ran, rejects_tools};

struct Run {
    report: Report,
    events: Vec<Event>,
    dir: tempfile::TempDir,
}

impl Run {
    async fn of(rounds: u32, model: &FakeModel, bench: &FakeBench) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let out = Out::create(dir.path()).await.unwrap();
        let mut events = Vec::new();
        let question = Question {
            rounds,
            ..Question::new("How much?", vec![Upload { name: "data/a.csv".into(), bytes: "x\n1\n".into() }])
        };
        let report = ask(&question, model, bench, &out, &mut |event| events.push(event)).await.unwrap();
        assert_eq!(bench.closed(), 1, "the sandbox is closed once, whatever the outcome");
        Self { report, events, dir }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn record(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.path().join("run.json")).unwrap()).unwrap()
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }
}

fn key_error() -> Cell {
    let error = CellError {
        name: "KeyError".into(),
        value: "'amount'".into(),
        traceback: "Traceback: 'amount'".into(),
    };
    Cell { error: Some(error), ..Cell::default() }
}

#[tokio::test]
async fn an_error_is_shown_to_the_model_which_mends_it() {
    let model = FakeModel::new([call(&["df['amount']"]), call(&["df['revenue']"]), answer("It is **42**.")]);
    let bench = FakeBench::new([Ok(key_error()), Ok(ran("42"))]);
    let run = Run::of(8, &model, &bench).await;

    assert!(matches!(run.report.outcome, Outcome::Answered));
    assert_eq!(run.read("answer.md"), "It is **42**.\n");
    let second = &model.requests()[1];
    let Some(Message::Results { results }) = second.messages.last() else { panic!("no results: {second:?}") };
    assert!(results[0].failed && results[0].content.contains("error: KeyError: 'amount'\nTraceback"));
    let record = run.record();
    assert_eq!(record["rounds"][0]["calls"][0]["ok"], false);
    assert_eq!(record["rounds"][1]["calls"][0]["stdout"], "42");
    assert_eq!(record["usage"], json!({"input_tokens": 30, "output_tokens": 15}));
    assert!(run.events.contains(&Event::Round { n: 3, of: 8 }));
}

#[tokio::test]
async fn the_question_names_the_files_that_were_uploaded() {
    let model = FakeModel::new([answer("ok")]);
    let bench = FakeBench::new([]);
    Run::of(8, &model, &bench).await;
    let content = "How much?\n\nFiles in /home/user:\n- a.csv (4 bytes)".to_owned();
    assert_eq!(model.requests()[0].messages, [Message::User { content }]);
}

#[tokio::test]
async fn parallel_calls_run_in_order_and_every_one_is_answered() {
    let model = FakeModel::new([call(&["1", "2", "3"]), answer("ok")]);
    let bench = FakeBench::new([Ok(ran("one")), Ok(key_error()), Ok(ran("three"))]);
    Run::of(8, &model, &bench).await;
    let Some(Message::Results { results }) = model.requests()[1].messages.last().cloned() else { panic!() };
    let seen: Vec<_> = results.iter().map(|result| (result.id.as_str(), result.failed)).collect();
    assert_eq!(seen, [("id-1", false), ("id-2", true), ("id-3", false)]);
    assert_eq!(bench.codes()[1..], ["1", "2", "3"]);
}

#[tokio::test]
async fn charts_and_new_files_are_saved_under_names_of_ours() {
    let chart = Shown([("image/png".to_owned(), "aGk=\n".to_owned())].into());
    let broken = Shown([("image/png".to_owned(), "not base64!".to_owned())].into());
    let model = FakeModel::new([call(&["plot"]), answer("ok")]);
    let bench = FakeBench::new([Ok(Cell { results: vec![chart, broken], ..Cell::default() })]).making(&[
        ("/home/user/output/report.pdf", "%PDF"),
        ("/home/user/output/../../../../escape.txt", "out"),
        ("/home/user/output/run.json", "{}"),
        ("/home/user/.cache/x", "no"),
        ("/home/user/a.csv", "changed"),
    ]);
    let run = Run::of(8, &model, &bench).await;
    assert_eq!(run.read("charts/chart-1.png"), "hi");
    assert_eq!(run.read("report.pdf"), "%PDF");
    assert_eq!(run.read("escape.txt"), "out");
    assert_eq!(run.read("files/a.csv"), "changed");
    assert_eq!(run.read("run-2.json"), "{}");
    assert_eq!((run.report.charts.len(), run.report.files.len(), run.report.skipped), (1, 4, 1));
    assert_eq!(run.record()["skipped"][0]["path"], "charts/chart-2.png");
}

#[tokio::test]
async fn uploads_that_did_not_change_are_not_sent_back() {
    let model = FakeModel::new([answer("ok")]);
    let run = Run::of(8, &model, &FakeBench::new([])).await;
    assert!(run.report.files.is_empty());
}

#[tokio::test]
async fn used_up_rounds_end_in_a_summary() {
    let model = FakeModel::new([call(&["1"]), call(&["2"]), answer("So far: 1 and 2.")]);
    let bench = FakeBench::new([Ok(ran("one")), Ok(ran("two"))]);
    let run = Run::of(2, &model, &bench).await;
    assert!(matches!(run.report.outcome, Outcome::RoundsExhausted { rounds: 2 }));
    assert!(run.report.outcome.hint().unwrap().contains("--rounds"));
    let requests = model.requests();
    assert_eq!(requests[2].tools, Tools::Withheld);
    let last = |n: usize| match requests[n].messages.last() {
        Some(Message::Results { results }) => results[0].content.clone(),
        other => panic!("{other:?}"),
    };
    assert!(last(1).contains("One round is left"));
    assert!(last(2).contains("The rounds are used up"));
    assert!(run.read("answer.md").starts_with("> Unfinished: the 2 rounds were used up."));
}

#[tokio::test]
async fn an_endpoint_without_tools_gets_fenced_code() {
    let fenced = answer("I add:\n```python\nprint(1+1)\n```\n");
    let model = FakeModel::new([rejects_tools(), fenced, answer("It is 2.")]);
    let bench = FakeBench::new([Ok(ran("2"))]);
    let run = Run::of(8, &model, &bench).await;
    assert!(matches!(run.report.outcome, Outcome::Answered));
    let requests = model.requests();
    assert_eq!((requests[1].tools, requests[2].tools), (Tools::Absent, Tools::Absent));
    assert!(requests[1].system.contains("In this conversation there is no tool to call"));
    let content = "What came of block 1:\nstdout:\n2".to_owned();
    assert_eq!(requests[2].messages.last(), Some(&Message::User { content }));
    assert_eq!(run.record()["calling"], "fenced");
    assert_eq!(run.report.rounds, 2);
}

#[tokio::test]
async fn fenced_code_without_a_call_is_run_but_not_after_a_call() {
    let model = FakeModel::new([answer("```python\n1\n```"), answer("done")]);
    let bench = FakeBench::new([Ok(ran("1"))]);
    Run::of(8, &model, &bench).await;
    assert_eq!(bench.codes().len(), 2, "the folder for results, and the block");

    let model = FakeModel::new([call(&["1"]), answer("I ran\n```python\n1\n```")]);
    let bench = FakeBench::new([Ok(ran("1"))]);
    let run = Run::of(8, &model, &bench).await;
    assert!(matches!(run.report.outcome, Outcome::Answered));
}

#[tokio::test]
async fn a_dead_sandbox_ends_the_run_and_keeps_what_was_achieved() {
    let chart = Shown([("image/png".to_owned(), "aGk=".to_owned())].into());
    let model = FakeModel::new([call(&["1"]), call(&["2", "3"])]);
    let dead = WorkbenchError::Ended { why: "out of memory".into() };
    let bench = FakeBench::new([Ok(Cell { results: vec![chart], ..Cell::default() }), Err(dead)]);
    let run = Run::of(8, &model, &bench).await;
    assert!(matches!(run.report.outcome, Outcome::Failed(Failure::Sandbox(_))));
    assert_eq!(run.report.outcome.error().unwrap(), "the sandbox has ended: out of memory");
    assert_eq!(run.read("charts/chart-1.png"), "hi");
    assert_eq!(run.record()["outcome"]["kind"], "sandbox_failed");
    assert_eq!(bench.codes().len(), 3, "nothing is run after the sandbox died");
}

#[tokio::test]
async fn a_cell_that_ran_too_long_is_the_models_to_mend() {
    let model = FakeModel::new([call(&["while True: pass"]), answer("ok")]);
    let bench = FakeBench::new([Err(WorkbenchError::TimedOut { limit: Duration::from_secs(60) })]);
    let run = Run::of(8, &model, &bench).await;
    assert!(matches!(run.report.outcome, Outcome::Answered));
    let Some(Message::Results { results }) = model.requests()[1].messages.last().cloned() else { panic!() };
    assert!(results[0].failed && results[0].content.contains("longer than 60 s"));
}

#[tokio::test]
async fn a_model_that_fails_on_the_way_leaves_what_was_made() {
    let too_long = ModelError::ContextTooLong { said: "200001 > 200000".into() };
    let model = FakeModel::new([call(&["1"]), Reply::Fail(too_long)]);
    let bench = FakeBench::new([Ok(ran("1"))]).making(&[("/home/user/output/half.xlsx", "PK")]);
    let run = Run::of(8, &model, &bench).await;
    assert!(matches!(run.report.outcome, Outcome::Failed(Failure::Model(_))));
    assert_eq!(run.read("half.xlsx"), "PK");
    assert_eq!(run.report.answer, None);
}

#[tokio::test]
async fn a_refusal_is_no_answer() {
    let model = FakeModel::new([Reply::Turn(Turn {
        text: "I can't help with that. ```python\n1\n```".into(),
        stop: Stop::Refused,
        ..Turn::default()
    })]);
    let run = Run::of(8, &model, &FakeBench::new([])).await;
    assert!(matches!(run.report.outcome, Outcome::Refused) && !run.report.outcome.is_done());
    assert!(run.read("answer.md").starts_with("> The model declined"));
}

#[tokio::test]
async fn a_call_that_makes_no_sense_is_answered_and_not_run() {
    let broken = Reply::Turn(Turn {
        calls: vec![crate::model::ToolCall::parse("x".into(), "execute_python".into(), "{\"code\": \"pr")],
        ..Turn::default()
    });
    let model = FakeModel::new([broken, answer("ok")]);
    let bench = FakeBench::new([]);
    let run = Run::of(8, &model, &bench).await;
    assert_eq!(run.record()["rounds"][0]["calls"][0]["ran"], false);
    assert!(matches!(run.report.outcome, Outcome::Answered));
}

#[tokio::test]
async fn a_key_that_an_endpoint_echoes_is_not_kept() {
    let model = FakeModel::new([call(&["1"]), answer(&format!("Your key is {KEY}."))]);
    let bench = FakeBench::new([Ok(ran(&format!("found {KEY}")))]);
    let run = Run::of(8, &model, &bench).await;
    assert_eq!(run.read("answer.md"), "Your key is [key].\n");
    assert!(!run.read("run.json").contains(KEY));
    assert!(!format!("{:?}", model.requests()).contains(KEY));
}

#[tokio::test]
async fn more_calls_than_the_limit_are_answered_and_not_run() {
    let codes = vec!["1"; crate::limits::CALLS_PER_TURN + 2];
    let model = FakeModel::new([call(&codes), answer("ok")]);
    let bench = FakeBench::new((0..crate::limits::CALLS_PER_TURN).map(|_| Ok(ran("1"))));
    Run::of(8, &model, &bench).await;
    let Some(Message::Results { results }) = model.requests()[1].messages.last().cloned() else { panic!() };
    assert_eq!(results.len(), codes.len());
    assert!(results[codes.len() - 1].content.starts_with("error: Not run: "));
}
