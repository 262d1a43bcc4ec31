"""`hood ask` with a small table: both providers, every way in which an endpoint misbehaves, every error a user meets."""

import json
import shutil
import unittest

from harness import CONVERSATIONS, KEY, PROVIDERS, AskTest, ModelServer, has_walls
from sandboxes import kill_the_new_one, running

QUESTION = "What do the orders add up to, and which city ordered most?"
ORDERS = CONVERSATIONS / "orders.csv"
ANSWER = "3 orders add up to **45.75**; most came from Казань (25.50). The table is `cities.csv`.\n"


class Basics(AskTest):
    def play(self, provider, misbehave=None, **more):
        with ModelServer("basics.json", misbehave) as server:
            return self.ask(server, QUESTION, [ORDERS], provider, **more)

    def assert_answered(self, done):
        self.assert_done(done)
        self.assertEqual(done.answer(), ANSWER)
        self.assertEqual((done.out / "cities.csv").read_text(encoding="utf-8"), "Казань,25.50\nOmsk,20.25\n")

    def each(self, *ways):
        for provider in PROVIDERS:
            for misbehave in ways:
                with self.subTest(provider=provider, misbehave=misbehave):
                    yield provider, misbehave

    def test_an_error_is_mended_and_the_answer_comes_from_the_results(self):
        for provider, _ in self.each(None):
            done = self.play(provider)
            self.assert_answered(done)
            calls = done.calls()
            self.assertEqual([call["ok"] for call in calls], [False, True, True, True])
            self.assertEqual(calls[0]["error"]["name"], "KeyError")
            self.assertEqual(done.names(), ["answer.md", "cities.csv", "run.json"])
            self.assertEqual(done.run["uploads"][0]["name"], "orders.csv")
            self.assertGreater(done.run["usage"]["input_tokens"], 0)
            self.assertGreater(done.run["usage"]["output_tokens"], 0)
            self.assertEqual(done.run["model"], "written-beforehand")
            self.assertTrue(all(call["duration_ms"] >= 0 and call["code"] for call in calls))

    def test_what_passes_by_itself_is_waited_for(self):
        retries = {"rate_limit": 1, "overloaded": 2, "cut_stream": 4, "stream_error": 1, "silent": 1, "empty": 1}
        for provider, misbehave in self.each(*retries):
            done = self.play(provider, misbehave)
            self.assert_answered(done)
            self.assertEqual(len(done.retries()), retries[misbehave], done.retries())
            if misbehave == "rate_limit":
                self.assertEqual(done.retries()[0]["after_ms"], 1000, "Retry-After was not kept")

    def test_other_shapes_of_answers_are_understood(self):
        calling = {"slow": "tools", "no_stream": "tools", "no_tools": "fenced", "fenced": "fenced"}
        for provider, misbehave in self.each(*calling):
            done = self.play(provider, misbehave)
            self.assert_answered(done)
            self.assertEqual(done.run["calling"], calling[misbehave])

    def test_broken_arguments_are_the_models_to_mend(self):
        for provider, misbehave in self.each("bad_arguments"):
            done = self.play(provider, misbehave)
            self.assert_answered(done)
            self.assertFalse(done.calls()[0]["ran"])

    def test_endless_calls_end_with_the_rounds_and_a_summary(self):
        for provider, misbehave in self.each("endless"):
            done = self.play(provider, misbehave, rounds=3)
            self.assert_failed(done, "rounds_exhausted", "3 rounds", "--rounds")
            self.assertIn("I stopped after 3 steps.", done.answer())
            self.assertEqual(len(done.calls()), 3)

    def test_a_conversation_too_long_keeps_what_was_done(self):
        for provider, misbehave in self.each("context_length"):
            done = self.play(provider, misbehave)
            self.assert_failed(done, "model_failed", "too long")
            self.assertEqual(len(done.calls()), 1)

    def test_a_refused_key_is_said_and_not_shown(self):
        for provider, misbehave in self.each("unauthorized"):
            self.assert_failed(self.play(provider, misbehave), "model_failed", "refused the key (401)", "API_KEY")

    def test_an_endpoint_that_fails_for_good(self):
        for provider, misbehave in self.each("broken"):
            self.assert_failed(self.play(provider, misbehave), "model_failed", "failed 5 times (500)")

    def test_a_model_that_declines(self):
        for provider, misbehave in self.each("refuse"):
            done = self.play(provider, misbehave)
            self.assert_failed(done, "refused", "declined")
            self.assertIn("I can't help with that.", done.answer())

    def test_a_request_that_does_not_fit_is_refused_by_the_model_server(self):
        with ModelServer("basics.json") as server:
            done = self.ask_at(server.base_url("openai"), "Another question", [ORDERS], "openai")
            self.assert_failed(done, "model_failed", "conversation: the first message lacks")
            self.assertEqual(len(server.refusals()), 1)


class Errors(AskTest):
    def test_no_key(self):
        done = self.ask_at(None, QUESTION, [ORDERS], None)
        self.assert_failed(done, None, "no key", "OPENAI_API_KEY", "ANTHROPIC_API_KEY")
        self.assertIsNone(done.run)

    def test_no_key_for_the_chosen_provider(self):
        for provider in PROVIDERS:
            done = self.ask_at(None, QUESTION, [ORDERS], provider, key=None)
            self.assert_failed(done, None, f"{provider.upper()}_API_KEY")

    def test_both_keys_and_no_choice(self):
        done = self.ask_at(None, QUESTION, [ORDERS], None, OPENAI_API_KEY=KEY, ANTHROPIC_API_KEY=KEY)
        self.assert_failed(done, None, "both", "--provider")

    def test_the_key_that_is_set_and_the_variable_choose(self):
        with ModelServer("basics.json") as server:
            url = server.base_url("anthropic")
            done = self.ask_at(None, QUESTION, [ORDERS], None, ANTHROPIC_API_KEY=KEY, ANTHROPIC_BASE_URL=url)
            self.assert_done(done)

    def test_an_endpoint_that_is_down(self):
        done = self.ask_at("http://127.0.0.1:9/v1", QUESTION, [ORDERS], "openai")
        self.assert_failed(done, "model_failed", "cannot reach the model at `http://127.0.0.1:9/v1`", "--base-url")

    def test_an_endpoint_that_is_none(self):
        with ModelServer("basics.json") as server:
            done = self.ask_at(f"http://127.0.0.1:{server.port}/nothing", QUESTION, [ORDERS], "openai")
            self.assert_failed(done, "model_failed", "404", "/v1")
        self.assert_failed(self.ask_at("not a url", QUESTION, [ORDERS], "openai"), None, "`not a url`")

    def test_a_file_that_is_not_there(self):
        with ModelServer("basics.json") as server:
            done = self.ask_at(server.base_url("openai"), QUESTION, [self.folder / "none.csv"], "openai")
            self.assert_failed(done, None, "none.csv")
            self.assertEqual(server.requests(), [], "a model was asked in vain")

    def test_a_directory_that_is_not_empty(self):
        with ModelServer("basics.json") as server:
            out = self.folder / "out-1"
            out.mkdir()
            (out / "mine.txt").write_text("mine")
            done = self.ask_at(server.base_url("openai"), QUESTION, [ORDERS], "openai")
            self.assert_failed(done, None, "not empty", "--out")
            self.assertEqual(done.names(), ["mine.txt"])
            self.assertEqual(server.requests(), [])

    def test_usage_errors_have_their_own_exit_code(self):
        for more in (["--rounds", "many"], ["--rounds", "0"], ["--rounds", "65"], ["--provider", "nobody"], ["--unknown"]):
            done = self.ask_at(None, QUESTION, [ORDERS], None, more=more)
            self.assertEqual(done.code, 2, done.shown())

    def test_json_is_one_object_on_stdout(self):
        with ModelServer("basics.json") as server:
            done = self.ask(server, QUESTION, [ORDERS], "openai", more=["--json"])
            self.assert_done(done)
            summary = json.loads(done.stdout)
            self.assertEqual(summary["outcome"]["kind"], "answered")
            self.assertEqual(summary["answer"].strip(), ANSWER.strip())

    def test_two_files_of_one_name(self):
        other = self.folder / "orders.csv"
        shutil.copy(ORDERS, other)
        with ModelServer("basics.json") as server:
            done = self.ask(server, QUESTION, [ORDERS, other], "openai")
            self.assert_done(done)
            self.assertEqual([upload["name"] for upload in done.run["uploads"]], ["orders.csv", "orders-2.csv"])


class Walls(AskTest):
    """What only a real sandbox can show."""

    def setUp(self):
        super().setUp()
        if not has_walls():
            self.skipTest("HOOD_ASK names a command without walls")

    def test_the_key_is_not_in_the_sandbox(self):
        with ModelServer("key_inside.json") as server:
            done = self.ask(server, "Is the model's key in here?", [], "openai")
            self.assert_done(done)
            self.assertIn("found 0 keys", done.answer())

    def test_a_sandbox_that_dies_is_not_replaced(self):
        before = running()
        with ModelServer("sleeper.json") as server:
            killer = kill_the_new_one(before, once=lambda: len(server.requests()) >= 1)
            done = self.ask(server, "Wait for a while.", [], "openai")
            killer.join()
        self.assert_failed(done, "sandbox_failed", "sandbox")
        self.assertEqual(running() - before, set(), "a new sandbox was made, or the old one left")

    def test_no_sandbox_is_left(self):
        before = running()
        with ModelServer("basics.json") as server:
            self.assert_done(self.ask(server, QUESTION, [ORDERS], "anthropic"))
        self.assertEqual(running() - before, set())


if __name__ == "__main__":
    unittest.main()
