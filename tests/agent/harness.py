"""Starts the model server and `hood ask`, as a user would, and holds on to what came of it.

`HOOD_BIN` is the `hood` program, and `E2B_API_URL`, `E2B_SANDBOX_URL`, `E2B_API_KEY` say where its server is (as
printed by `hood env`). Instead, `HOOD_ASK` may be a whole command that takes the arguments of `hood ask`: with
`cargo run -p hood-agent --example ask_local --`, everything but the walls is tested without a server.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
CONVERSATIONS = HERE / "conversations"
KEY = "sk-test-hood-0123456789abcdef"
PROVIDERS = ["openai", "anthropic"]
LIMIT = 180  # seconds for one run of `hood ask`


class ModelServer:
    """The model that says what was written beforehand, on a free port."""

    def __init__(self, conversation, misbehave=None, question=None, files=(), key=KEY):
        self.folder = tempfile.TemporaryDirectory(prefix="hood-agent-")
        self.log_file = Path(self.folder.name) / "requests.jsonl"
        command = [sys.executable, HERE / "model_server.py", "--conversation", CONVERSATIONS / conversation]
        command += ["--log", self.log_file, "--key", key, "--until-stdin-closes"]
        command += ["--misbehave", misbehave] if misbehave else []
        command += ["--question", question] if question else []
        for name in files:
            command += ["--file", name]
        self.process = subprocess.Popen(
            list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.port = int(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()
        self.folder.cleanup()

    def base_url(self, provider):
        return f"http://127.0.0.1:{self.port}" + ("/v1" if provider == "openai" else "")

    def requests(self):
        """Each request, with the status that it got and, if it was refused, the reason."""
        if not self.log_file.exists():
            return []
        return [json.loads(line) for line in self.log_file.read_text(encoding="utf-8").splitlines()]

    def refusals(self):
        """Requests that did not fit the conversation."""
        return [entry["reason"] for entry in self.requests() if entry.get("kind") == "refused"]


class Done:
    """A finished run."""

    def __init__(self, finished, out):
        self.code, self.stdout, self.stderr, self.out = finished.returncode, finished.stdout, finished.stderr, out
        record = out / "run.json"
        self.run = json.loads(record.read_text(encoding="utf-8")) if record.is_file() else None

    def answer(self):
        path = self.out / "answer.md"
        return path.read_text(encoding="utf-8") if path.is_file() else None

    def calls(self):
        return [call for entry in self.run["rounds"] for call in entry["calls"]]

    def retries(self):
        return [retry for entry in self.run["rounds"] for retry in entry["retries"]]

    def names(self):
        return sorted(str(path.relative_to(self.out)) for path in self.out.rglob("*") if path.is_file())

    def shown(self):
        return f"exit code {self.code}\nstdout: {self.stdout[-2000:]}\nstderr: {self.stderr[-4000:]}"


def command():
    """How to call `hood ask`, or None and the reason."""
    if os.environ.get("HOOD_ASK"):
        return shlex.split(os.environ["HOOD_ASK"]), None
    if os.environ.get("HOOD_BIN"):
        return [os.environ["HOOD_BIN"], "ask"], None
    return None, "neither HOOD_BIN nor HOOD_ASK says how to ask"


def has_walls():
    return not os.environ.get("HOOD_ASK")


class AskTest(unittest.TestCase):
    """A test that runs `hood ask`."""

    @classmethod
    def setUpClass(cls):
        cls.command, reason = command()
        if reason:
            raise unittest.SkipTest(reason)

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hood-agent-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.runs = 0

    def next_out(self):
        self.runs += 1
        return self.folder / f"out-{self.runs}"

    def environment(self, provider, key=KEY, **more):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "ANTHROPIC_"))}
        if provider and key:
            kept[f"{provider.upper()}_API_KEY"] = key
        return {**kept, "HOOD_MODEL_IDLE_SECONDS": "2", "NO_COLOR": "1", **more}

    def arguments(self, question, files, out, provider=None, base_url=None, rounds=None, more=()):
        given = [*self.command, question, "--out", out, "--model", "written-beforehand", *more]
        for file in files:
            given += ["--file", file]
        given += ["--provider", provider] if provider else []
        given += ["--base-url", base_url] if base_url else []
        given += ["--rounds", rounds] if rounds else []
        return list(map(str, given))

    def ask_at(self, base_url, question, files, provider, rounds=None, more=(), **environment):
        out = self.next_out()
        finished = subprocess.run(
            self.arguments(question, files, out, provider, base_url, rounds, more),
            env=self.environment(provider, **environment),
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
        done = Done(finished, out)
        self.assert_no_key(done)
        return done

    def ask(self, server, question, files, provider, **more):
        """Asks, and makes sure that every request fitted the conversation and no message held the key."""
        done = self.ask_at(server.base_url(provider), question, files, provider, **more)
        self.assertEqual(server.refusals(), [], done.shown())
        for entry in server.requests():
            self.assertNotIn(KEY, entry["body"], "the key is in a message")
        return done

    def assert_no_key(self, done):
        self.assertNotIn(KEY, done.stdout + done.stderr, "the key was printed")
        for path in done.out.rglob("*"):
            if path.is_file():
                self.assertNotIn(KEY.encode(), path.read_bytes(), f"the key is in {path.name}")

    def assert_done(self, done):
        self.assertEqual(done.code, 0, done.shown())
        self.assertEqual(done.run["outcome"]["kind"], "answered", done.run["outcome"])

    def assert_failed(self, done, kind, *words):
        """It failed with exit code 1, said the words, and gave a hint."""
        self.assertEqual(done.code, 1, done.shown())
        if kind:
            self.assertEqual(done.run["outcome"]["kind"], kind, done.run["outcome"])
        for word in [*words, "hint:"]:
            self.assertIn(word, done.stderr)
