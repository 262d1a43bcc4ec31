use super::*;
use crate::model::ToolResult;

fn fold(events: &[&str]) -> (Option<Turn>, Vec<Delta>) {
    let mut stream: Box<dyn Fold> = Box::<Stream>::default();
    let mut deltas = Vec::new();
    for data in events {
        let event = SseEvent { name: String::new(), data: (*data).to_owned() };
        if stream.take(&event, &mut |delta| deltas.push(delta)).unwrap() == Flow::Done {
            break;
        }
    }
    (stream.finish(), deltas)
}

#[test]
fn a_streamed_turn_with_text_and_parallel_calls() {
    let (turn, deltas) = fold(&[
        r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"usage":{"input_tokens":25,"cache_read_input_tokens":5,"output_tokens":1}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"ping"}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Look"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"execute_python","input":{}}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"code\": \"1"}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"\"}"}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"b","name":"execute_python","input":{}}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"code\": \"2\"}"}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":15}}"#,
        r#"{"type":"message_stop"}"#,
    ]);
    let turn = turn.unwrap();
    assert_eq!((turn.text.as_str(), turn.stop), ("Look", Stop::Finished));
    assert_eq!(turn.usage, Usage { input_tokens: 30, output_tokens: 15 });
    let seen: Vec<_> =
        turn.calls.iter().map(|call| (call.id.as_str(), call.input["code"].as_str())).collect();
    assert_eq!(seen, [("a", Some("1")), ("b", Some("2"))]);
    assert_eq!(deltas, [Delta::Text("Look".into())]);
}

#[test]
fn a_stream_without_a_stop_reason_was_cut() {
    let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Lo"}}"#;
    assert_eq!(fold(&[start]).0, None);
}

#[test]
fn thinking_is_shown_and_not_kept() {
    let (turn, deltas) = fold(&[
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}"#,
    ]);
    assert_eq!((turn.unwrap().text.as_str(), deltas), ("", vec![Delta::Thinking("hm".into())]));
}

#[test]
fn stop_reasons_become_ours() {
    let stop = |reason: &str| {
        let data = format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}}}}"#);
        fold(&[&data]).0.unwrap().stop
    };
    assert_eq!(stop("refusal"), Stop::Refused);
    assert_eq!(stop("max_tokens"), Stop::Length);
    assert_eq!(stop("end_turn"), Stop::Finished);
}

#[test]
fn an_error_in_the_stream_has_the_status_of_its_type() {
    let mut stream = Stream::default();
    let event = SseEvent {
        name: "error".into(),
        data: r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#.into(),
    };
    let fault = stream.take(&event, &mut |_| ()).unwrap_err();
    assert!(matches!(fault, Fault::Said(Complaint { status: 529, .. })), "{fault:?}");
}

#[test]
fn an_answer_that_came_whole() {
    let answer = json!({
        "type": "message", "role": "assistant", "stop_reason": "tool_use",
        "content": [{"type": "text", "text": "Look"},
            {"type": "tool_use", "id": "a", "name": "execute_python", "input": {"code": "1"}}],
        "usage": {"input_tokens": 3, "output_tokens": 4},
    });
    let turn = Dialect.whole(&answer).unwrap();
    assert_eq!((turn.text.as_str(), &turn.calls[0].input), ("Look", &json!({"code": "1"})));
    assert_eq!(turn.usage, Usage { input_tokens: 3, output_tokens: 4 });
    assert!(matches!(Dialect.whole(&json!({"choices": []})), Err(Fault::NotUnderstood(_))));
}

#[test]
fn the_request_holds_the_conversation() {
    let messages = [
        Message::User { content: "question".into() },
        Message::Assistant {
            content: String::new(),
            calls: vec![ToolCall::parse("a".into(), "execute_python".into(), r#"{"code":"1"}"#)],
        },
        Message::Results {
            results: vec![ToolResult { id: "a".into(), content: "one".into(), failed: true }],
        },
    ];
    let request = |tools| body("m", Request { system: "s", messages: &messages, tools });
    let sent = request(Tools::Offered);
    let expected = json!([
        {"role": "user", "content": "question"},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "a", "name": "execute_python", "input": {"code": "1"}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "one", "is_error": true},
        ]},
    ]);
    assert_eq!(sent["messages"], expected);
    assert_eq!((&sent["system"], &sent["tools"][0]["name"]), (&json!("s"), &json!("execute_python")));
    assert_eq!(request(Tools::Withheld)["tool_choice"], json!({"type": "none"}));
    assert_eq!(request(Tools::Absent).get("tools"), None);
}
