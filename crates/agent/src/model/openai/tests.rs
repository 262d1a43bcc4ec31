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
fn a_streamed_answer_with_usage() {
    let (turn, deltas) = fold(&[
        r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":null}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":2,"total_tokens":13}}"#,
        "[DONE]",
    ]);
    let usage = Usage { input_tokens: 11, output_tokens: 2 };
    assert_eq!(turn, Some(Turn { text: "Hello".into(), usage, ..Turn::default() }));
    assert_eq!(deltas, [Delta::Text("Hel".into()), Delta::Text("lo".into())]);
}

#[test]
fn parallel_calls_come_in_interleaved_pieces() {
    let (turn, _) = fold(&[
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"execute_python","arguments":""}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"execute_python","arguments":"{\"co"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"code\":\"1\"}"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"arguments":"de\":\"2\"}"}}]}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
    ]);
    let calls = turn.unwrap().calls;
    let seen: Vec<_> = calls.iter().map(|call| (call.id.as_str(), call.input["code"].as_str())).collect();
    assert_eq!(seen, [("a", Some("1")), ("b", Some("2"))]);
}

#[test]
fn calls_without_index_or_id_are_still_told_apart() {
    let (turn, _) = fold(&[
        r#"{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"g","arguments":{"code":"x"}}}]},"finish_reason":"stop"}]}"#,
    ]);
    let calls = turn.unwrap().calls;
    assert_eq!((calls.len(), calls[1].name.as_str(), &calls[1].input), (2, "g", &json!({"code": "x"})));
}

#[test]
fn a_stream_that_never_said_why_it_stopped_was_cut() {
    assert_eq!(fold(&[r#"{"choices":[{"delta":{"content":"Hel"}}]}"#]).0, None);
}

#[test]
fn arguments_that_are_no_json_are_kept_and_marked() {
    let (turn, _) = fold(&[
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"code\": \"pri"}}]},"finish_reason":"tool_calls"}]}"#,
    ]);
    let call = &turn.unwrap().calls[0];
    assert!(call.malformed.is_some());
    assert_eq!(call.input, json!({"unparsed": "{\"code\": \"pri"}));
}

#[test]
fn refusals_lengths_and_filters_are_told_apart() {
    let stop = |data: &str| fold(&[data]).0.unwrap().stop;
    assert_eq!(
        stop(r#"{"choices":[{"delta":{"refusal":"I can't"},"finish_reason":"stop"}]}"#),
        Stop::Refused
    );
    assert_eq!(stop(r#"{"choices":[{"delta":{},"finish_reason":"content_filter"}]}"#), Stop::Refused);
    assert_eq!(stop(r#"{"choices":[{"delta":{"content":"x"},"finish_reason":"length"}]}"#), Stop::Length);
}

#[test]
fn an_error_in_the_stream_is_the_endpoints_word() {
    let mut stream = Stream::default();
    let event = SseEvent {
        name: String::new(),
        data: r#"{"error":{"message":"overloaded","type":"server_error","code":null}}"#.into(),
    };
    let fault = stream.take(&event, &mut |_| ()).unwrap_err();
    assert!(matches!(fault, Fault::Said(Complaint { status: 500, .. })), "{fault:?}");
}

#[test]
fn an_answer_that_came_whole() {
    let answer = json!({
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": null,
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2},
    });
    let turn = Dialect.whole(&answer).unwrap();
    assert_eq!((turn.calls.len(), turn.usage), (1, Usage { input_tokens: 1, output_tokens: 2 }));
    assert!(matches!(Dialect.whole(&json!({"object": "list"})), Err(Fault::NotUnderstood(_))));
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
            results: vec![ToolResult { id: "a".into(), content: "one".into(), failed: false }],
        },
    ];
    let request = |tools| body("m", Request { system: "s", messages: &messages, tools });
    let sent = request(Tools::Offered);
    let expected = json!([
        {"role": "system", "content": "s"},
        {"role": "user", "content": "question"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "execute_python", "arguments": "{\"code\":\"1\"}"}},
        ]},
        {"role": "tool", "tool_call_id": "a", "content": "one"},
    ]);
    assert_eq!(sent["messages"], expected);
    assert_eq!(sent["tools"][0]["function"]["name"], "execute_python");
    assert_eq!(request(Tools::Withheld)["tool_choice"], "none");
    assert_eq!(request(Tools::Absent).get("tools"), None);
}
