"""OpenAI's chat completions, from the server's side: requests in, streams, whole answers and errors out."""

import json

from conversation import Call, Refused, Request, Result, Turn

PATH = "/v1/chat/completions"
HEAD = {"id": "chatcmpl-written-beforehand", "created": 1_700_000_000}


def key_of(headers):
    return (headers.get("Authorization") or "").removeprefix("Bearer ")


def check_headers(headers):
    pass


def parse(body):
    items = []
    messages = body["messages"]
    system = "".join(m["content"] for m in messages if m["role"] == "system")
    for message in messages:
        role, content = message["role"], message.get("content") or ""
        if role == "user":
            items.append(("user", content))
        elif role == "assistant":
            calls = [call_of(call) for call in message.get("tool_calls", [])]
            if not calls and not content:
                raise Refused("an assistant message with neither content nor tool_calls")
            items.append(("assistant", Turn(content, calls)))
        elif role == "tool":
            result = Result(message["tool_call_id"], content)
            if items and items[-1][0] == "results":
                items[-1][1].append(result)
            else:
                items.append(("results", [result]))
        elif role != "system":
            raise Refused(f"unknown role {role!r}")
    tools = [
        {"name": tool["function"]["name"], "schema": tool["function"]["parameters"]} for tool in body.get("tools", [])
    ]
    may_call = bool(tools) and body.get("tool_choice", "auto") != "none"
    return Request(system, tools, may_call, body.get("stream", False), body["model"], items)


def call_of(call):
    if call.get("type") != "function" or not isinstance(call["function"]["arguments"], str):
        raise Refused("a tool call is not of type function with its arguments as text")
    return Call(call["id"], call["function"]["name"], call["function"]["arguments"])


def usage(request_bytes, turn):
    read, written = request_bytes // 4, 1 + len(turn.text + "".join(c.arguments for c in turn.calls)) // 4
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def reason(turn):
    return "tool_calls" if turn.calls else "stop"


def whole(model, turn, request_bytes):
    message = {"role": "assistant", "content": turn.text or None, "refusal": None}
    if turn.refused:
        message.update(content=None, refusal=turn.text)
    if turn.calls:
        message["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}} for c in turn.calls
        ]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason(turn)}
    return {**HEAD, "object": "chat.completion", "model": model, "choices": [choice], "usage": usage(request_bytes, turn)}


def events(model, turn, request_bytes, pieces):
    """The stream's events, as (name, data) with the name empty."""

    def chunk(delta, finish=None, **more):
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {**HEAD, "object": "chat.completion.chunk", "model": model, "choices": [choice], "usage": None, **more}

    yield "", chunk({"role": "assistant", "content": None if turn.calls or turn.refused else "", "refusal": None})
    for piece in pieces(turn.text):
        yield "", chunk({"refusal" if turn.refused else "content": piece})
    for index, call in enumerate(turn.calls):
        head = {"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
        yield "", chunk({"tool_calls": [head]})
        for piece in pieces(call.arguments):
            yield "", chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield "", chunk({}, reason(turn))
    yield "", chunk({}, choices=[], usage=usage(request_bytes, turn))
    yield "", "[DONE]"


def error(status, kind, message):
    """The body of an error; `kind` is one of our words for the condition."""
    code = {"context": "context_length_exceeded", "key": "invalid_api_key", "rate": "rate_limit_exceeded"}.get(kind)
    shown = {401: "authentication_error", 429: "requests"}.get(status, "server_error" if status >= 500 else None)
    return {"error": {"message": message, "type": shown or "invalid_request_error", "param": None, "code": code}}


def stream_error(message):
    return "", error(500, "server", message)


def context_message():
    return (
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens. "
        "Please reduce the length of the messages."
    )


def encode(name, data):
    data = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"data: {data}\n\n".encode()
