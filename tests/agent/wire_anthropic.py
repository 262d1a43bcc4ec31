"""Anthropic's Messages endpoint, from the server's side: requests in, streams, whole answers and errors out."""

import json

from conversation import Call, Refused, Request, Result, Turn

PATH = "/v1/messages"


def key_of(headers):
    # `x-api-key` is what the protocol's documentation names; the provider's newest package (2.14) sends a bearer.
    return headers.get("x-api-key") or (headers.get("Authorization") or "").removeprefix("Bearer ")


def check_headers(headers):
    if not headers.get("anthropic-version"):
        raise Refused("anthropic-version: header is required")


def parse(body):
    if not isinstance(body.get("max_tokens"), int):
        raise Refused("max_tokens: field required")
    items = []
    for message in body["messages"]:
        blocks = message["content"]
        if isinstance(blocks, str):
            blocks = [{"type": "text", "text": blocks}]
        if not blocks or any(block["type"] == "text" and not block["text"] for block in blocks):
            raise Refused("messages: text content blocks must be non-empty")
        text = "".join(block["text"] for block in blocks if block["type"] == "text")
        if message["role"] == "assistant":
            calls = [call_of(block) for block in blocks if block["type"] == "tool_use"]
            items.append(("assistant", Turn(text, calls)))
        elif any(block["type"] == "tool_result" for block in blocks):
            if text:
                raise Refused("text beside tool results: results come first and alone")
            items.append(
                ("results", [Result(b["tool_use_id"], b["content"], b.get("is_error", False)) for b in blocks])
            )
        else:
            items.append(("user", text))
    kinds = [message["role"] for message in body["messages"]]
    if any(a == b for a, b in zip(kinds, kinds[1:])):
        raise Refused("messages: roles must alternate")
    tools = [{"name": tool["name"], "schema": tool["input_schema"]} for tool in body.get("tools", [])]
    used = any(kind == "results" for kind, _ in items)
    if used and not tools:
        raise Refused("Requests which include `tool_use` or `tool_result` blocks must define tools")
    may_call = bool(tools) and body.get("tool_choice", {}).get("type") != "none"
    return Request(body.get("system", ""), tools, may_call, body.get("stream", False), body["model"], items)


def call_of(block):
    if not isinstance(block["input"], dict):
        raise Refused("tool_use.input: Input should be a valid dictionary")
    return Call(block["id"], block["name"], json.dumps(block["input"], ensure_ascii=False))


def usage(request_bytes, turn):
    written = 1 + len(turn.text + "".join(call.arguments for call in turn.calls)) // 4
    return {"input_tokens": request_bytes // 4, "output_tokens": written}


def reason(turn):
    return "refusal" if turn.refused else "tool_use" if turn.calls else "end_turn"


def head(model):
    return {"id": "msg_written_beforehand", "type": "message", "role": "assistant", "model": model}


def whole(model, turn, request_bytes):
    blocks = [{"type": "text", "text": turn.text}] if turn.text else []
    for call in turn.calls:
        try:
            given = json.loads(call.arguments)
        except ValueError:  # this endpoint never sends what is no object, except in a stream that broke off
            given = {"code": None}
        blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": given})
    answer = {**head(model), "content": blocks, "stop_reason": reason(turn), "stop_sequence": None}
    return {**answer, "usage": usage(request_bytes, turn)}


def events(model, turn, request_bytes, pieces):
    """The stream's events, as (name, data)."""
    counted = usage(request_bytes, turn)
    message = {**head(model), "content": [], "stop_reason": None, "stop_sequence": None}
    message["usage"] = {"input_tokens": counted["input_tokens"], "output_tokens": 1}

    def event(kind, **data):
        return kind, {"type": kind, **data}

    yield event("message_start", message=message)
    yield event("ping")
    index = 0
    if turn.text:
        yield event("content_block_start", index=index, content_block={"type": "text", "text": ""})
        for piece in pieces(turn.text):
            yield event("content_block_delta", index=index, delta={"type": "text_delta", "text": piece})
        yield event("content_block_stop", index=index)
        index += 1
    for call in turn.calls:
        block = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        yield event("content_block_start", index=index, content_block=block)
        for piece in ["", *pieces(call.arguments)]:
            yield event("content_block_delta", index=index, delta={"type": "input_json_delta", "partial_json": piece})
        yield event("content_block_stop", index=index)
        index += 1
    delta = {"stop_reason": reason(turn), "stop_sequence": None}
    yield event("message_delta", delta=delta, usage={"output_tokens": counted["output_tokens"]})
    yield event("message_stop")


def error(status, kind, message):
    """The body of an error; `kind` is one of our words for the condition."""
    shown = {
        401: "authentication_error",
        404: "not_found_error",
        413: "request_too_large",
        429: "rate_limit_error",
        500: "api_error",
        503: "overloaded_error",
        529: "overloaded_error",
    }.get(status, "invalid_request_error")
    return {"type": "error", "error": {"type": shown, "message": message}, "request_id": "req_written_beforehand"}


def stream_error(message):
    return "error", {"type": "error", "error": {"type": "overloaded_error", "message": message}}


def context_message():
    return "prompt is too long: 200712 tokens > 200000 maximum"


def encode(name, data):
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False, separators=(',', ':'))}\n\n".encode()
