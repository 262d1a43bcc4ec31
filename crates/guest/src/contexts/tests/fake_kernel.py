"""A kernel for the guest's tests: runs the code with `exec`, and can misbehave on request."""

import json
import os
import signal
import socket
import sys

channel = socket.socket(fileno=3)
lines = channel.makefile("rb")
current = None


def raw(data):
    sys.stdout.flush()
    sys.stderr.flush()
    channel.sendall(data)


def say(**message):
    raw(json.dumps(message).encode() + b"\n")


def answer_to(key, value):
    while True:
        answer = json.loads(lines.readline())
        if answer.get(key) == value:
            return answer


def display(main=False, **data):
    say(type="display", id=current, data=data, metadata={}, main=main, ack=count)
    answer_to("ack", count)


def ask(prompt, name="r1"):
    say(type="request", id=current, request=name, kind="input", prompt=prompt, password=False)
    reply = answer_to("request", name)
    if "error" in reply:
        raise RuntimeError(reply["error"])
    return reply["value"]


def no_interrupts():
    signal.signal(signal.SIGINT, signal.SIG_IGN)


names = {"display": display, "ask": ask, "raw": raw, "no_interrupts": no_interrupts}
count = 0
signal.signal(signal.SIGINT, signal.SIG_IGN)
say(type="ready", language="python", version="3", implementation="fake")
for line in lines:
    order = json.loads(line)
    if order["type"] != "execute":
        continue
    count += 1
    current = order["id"]
    status = "ok"
    say(type="started", id=current, execution_count=count)
    before = dict(os.environ)
    os.environ.update(order["env"])
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        exec(order["code"], names)
    except BaseException as error:
        status = "error"
        say(type="error", id=current, name=type(error).__name__, value=str(error), traceback="tb")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.clear()
    os.environ.update(before)
    say(type="done", id=current, status=status)
