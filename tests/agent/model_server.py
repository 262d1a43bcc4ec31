#!/usr/bin/env python3
"""A model that says what was written beforehand, behind both protocols, on a port of the loopback.

    model_server.py --conversation conversations/basics.json --port 0

prints the port on a line of its own when it accepts requests, and ends with SIGTERM or, with
`--until-stdin-closes`, with whoever started it. A request that does not fit the conversation gets a 400 that says
why; the last answer is filled in from the tool results that were sent. `--misbehave` makes it fail in one way.
Standard library only: it is started by `cargo xtask demo`, by the tests and by hand.
"""

import argparse
import json
import os
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import wire_anthropic
import wire_openai
from conversation import Conversation, Endless, Fenced, IgnoresTools, Refused, Turn, fenced_text, with_bad_arguments

KEY = "sk-test-hood-0123456789abcdef"
BODY_LIMIT = 32 << 20
SILENCE = 30  # seconds; a client that waits longer than its idle limit has left long before

MISBEHAVIOURS = {
    "rate_limit": "429 with Retry-After: 1 to the first request",
    "overloaded": "two 5xx answers before each first turn",
    "broken": "500 to everything",
    "cut_stream": "the first stream of each turn ends in its middle",
    "stream_error": "the first stream ends in an error event",
    "silent": "the first stream says a little and then nothing more",
    "slow": "pauses between the pieces of a stream",
    "no_stream": "answers come whole, whatever was asked for",
    "bad_arguments": "the first tool call's arguments are broken JSON",
    "endless": "always one more tool call",
    "context_length": "the second turn is refused: the conversation is too long",
    "unauthorized": "401 that echoes the key",
    "refuse": "the model declines",
    "no_tools": "requests with tools are refused; the model writes fenced code",
    "fenced": "the model ignores the tools and writes fenced code",
    "empty": "the first answer of the first turn has nothing in it",
}


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port, conversation, misbehaviour, key, log):
        super().__init__(("127.0.0.1", port), Handler)
        self.conversation, self.misbehaviour, self.key, self.log = conversation, misbehaviour, key, log
        self.lock, self.seen, self.requests = threading.Lock(), {}, 0

    def first_times(self, what, times):
        """Whether this is one of the first `times` that `what` happens."""
        with self.lock:
            self.seen[what] = self.seen.get(what, 0) + 1
            return self.seen[what] <= times

    def note(self, **entry):
        with self.lock:
            self.requests += 1
            if self.log:
                with open(self.log, "a", encoding="utf-8") as log:
                    log.write(json.dumps({"n": self.requests, **entry}, ensure_ascii=False) + "\n")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "model"

    def log_message(self, *_):
        pass

    def do_POST(self):
        length = int(self.headers.get("Content-Length") or 0)
        if length > BODY_LIMIT:
            return self.answer(413, {"error": {"message": "the request is too large"}})
        raw = self.rfile.read(length)
        wire = {wire_openai.PATH: wire_openai, wire_anthropic.PATH: wire_anthropic}.get(self.path)
        if wire is None:
            return self.answer(404, {"error": {"message": f"there is nothing at {self.path}"}})
        if wire.key_of(self.headers) != self.server.key:
            return self.fail(wire, raw, 401, "key", f"Incorrect API key provided: {wire.key_of(self.headers)}.")
        try:
            wire.check_headers(self.headers)
            request = wire.parse(json.loads(raw))
            self.play(wire, request, raw)
        except Refused as refusal:
            self.fail(wire, raw, 400, "refused", f"conversation: {refusal}")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            self.fail(wire, raw, 400, "refused", f"conversation: not a request of this protocol: {error!r}")

    def play(self, wire, request, raw):
        how, first = self.server.misbehaviour, self.server.first_times
        if how == "unauthorized":
            return self.fail(wire, raw, 401, "key", f"Incorrect API key provided: {self.server.key}.")
        if how == "broken":
            return self.fail(wire, raw, 500, "server", "Internal server error")
        if how == "no_tools" and request.tools:
            return self.fail(wire, raw, 400, "tools", f"{request.model} does not support tools")
        conversation = self.server.conversation
        number, outputs = conversation.due(request)
        if how == "rate_limit" and first("rate_limit", 1):
            return self.fail(wire, raw, 429, "rate", "Rate limit reached", {"Retry-After": "1"})
        if how == "overloaded" and first(("overloaded", number), 2 if number == 0 else 0):
            return self.fail(wire, raw, 529 if wire is wire_anthropic else 503, "server", "Overloaded")
        if how == "context_length" and number >= 1:
            return self.fail(wire, raw, 400, "context", wire.context_message())
        turn = self.turn(conversation, request, number, outputs)
        self.server.note(status=200, turn=number + 1, path=self.path, body=raw.decode())
        if not request.stream or how == "no_stream":
            return self.answer(200, wire.whole(request.model, turn, len(raw)))
        self.stream(wire, wire.events(request.model, turn, len(raw), pieces), number)

    def turn(self, conversation, request, number, outputs):
        how = self.server.misbehaviour
        if how == "refuse":
            return Turn("I can't help with that.", refused=True)
        if how == "empty" and self.server.first_times("empty", 1):
            return Turn()
        turn = conversation.turn(number, outputs, request.may_call or conversation.fenced)
        return Turn(fenced_text(turn)) if conversation.fenced else turn

    # How answers go out

    def stream(self, wire, events, number):
        how, first = self.server.misbehaviour, self.server.first_times
        events = list(events)
        breaks = {"cut_stream": ("cut", number), "stream_error": "error", "silent": "silent"}.get(how)
        broken = breaks is not None and first(breaks, 1)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for event in events[: len(events) // 2] if broken else events:
                self.chunk(wire.encode(*event))
                if how == "slow":
                    time.sleep(0.01)
            if broken and how == "silent":
                return self.wait_for_the_client_to_leave()
            if broken and how == "stream_error":
                self.chunk(wire.encode(*wire.stream_error("Overloaded")))
            if broken:
                return self.hang_up()
            self.chunk(b"")
        except OSError:
            self.close_connection = True

    def chunk(self, data):
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def wait_for_the_client_to_leave(self):
        self.connection.settimeout(SILENCE)
        self.connection.recv(1)
        self.close_connection = True

    def hang_up(self):
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def fail(self, wire, raw, status, kind, message, headers=None):
        self.server.note(status=status, kind=kind, reason=message, path=self.path, body=raw.decode(errors="replace"))
        self.answer(status, wire.error(status, kind, message), headers)

    def answer(self, status, body, headers=None):
        data = json.dumps(body, ensure_ascii=False).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)
        except OSError:
            self.close_connection = True


def pieces(text, size=24):
    """The text as a stream brings it."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def load(arguments):
    how = arguments.misbehave
    kind = {"endless": Endless, "no_tools": Fenced, "fenced": IgnoresTools}.get(how, Conversation)
    conversation = kind.load(arguments.conversation, arguments.question, arguments.file)
    return with_bad_arguments(conversation) if how == "bad_arguments" else conversation


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--conversation", required=True, help="the file with the model's side")
    parser.add_argument("--question", help="what the first message must contain, instead of the file's question")
    parser.add_argument("--file", action="append", help="a name the first message must list, instead of the file's")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--key", default=KEY, help="the key that is accepted")
    parser.add_argument("--misbehave", choices=MISBEHAVIOURS, help="; ".join(f"{k}: {v}" for k, v in MISBEHAVIOURS.items()))
    parser.add_argument("--log", help="append each request and what became of it to this file, as JSON lines")
    parser.add_argument("--until-stdin-closes", action="store_true")
    arguments = parser.parse_args()
    server = Server(arguments.port, load(arguments), arguments.misbehave, arguments.key, arguments.log)
    print(server.server_address[1], flush=True)
    if arguments.until_stdin_closes:
        def wait():
            sys.stdin.buffer.read()
            os._exit(0)

        threading.Thread(target=wait, daemon=True).start()
    server.serve_forever()


if __name__ == "__main__":
    main()
