"""The model server refuses what does not fit its conversation, and says why."""

import copy
import json
import unittest
import urllib.error
import urllib.request

from harness import KEY, ModelServer

QUESTION = "What do the orders add up to, and which city ordered most?\n\nFiles in /home/user:\n- orders.csv (61 bytes)"
SCHEMA = {"type": "object", "properties": {"code": {"type": "string"}, "description": {"type": "string"}}}
FIRST_RESULT = "error: KeyError: 'price'\nTraceback"


def post(server, path, body, headers):
    request = urllib.request.Request(
        f"http://127.0.0.1:{server.port}{path}", json.dumps(body).encode(), {"Content-Type": "application/json", **headers}
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


class OpenAi:
    path, headers = "/v1/chat/completions", {"Authorization": f"Bearer {KEY}"}
    question = {"role": "user", "content": QUESTION}

    @staticmethod
    def body():
        function = {"name": "execute_python", "description": "Runs code", "parameters": SCHEMA}
        messages = [{"role": "system", "content": "You are."}, copy.deepcopy(OpenAi.question)]
        return {"model": "m", "messages": messages, "tools": [{"type": "function", "function": function}]}

    @staticmethod
    def question_of(body):
        return next(message for message in body["messages"] if message["role"] == "user")

    @staticmethod
    def assistant(answer):
        return answer["choices"][0]["message"]

    @staticmethod
    def results(answer, text, wrong_id=None):
        call = answer["choices"][0]["message"]["tool_calls"][0]
        return {"role": "tool", "tool_call_id": wrong_id or call["id"], "content": text}

    @staticmethod
    def tool_name(body, name):
        body["tools"][0]["function"]["name"] = name


class Anthropic:
    path, headers = "/v1/messages", {"x-api-key": KEY, "anthropic-version": "2023-06-01"}
    question = {"role": "user", "content": QUESTION}

    @staticmethod
    def body():
        tool = {"name": "execute_python", "description": "Runs code", "input_schema": SCHEMA}
        messages = [copy.deepcopy(Anthropic.question)]
        return {"model": "m", "max_tokens": 1000, "system": "You are.", "messages": messages, "tools": [tool]}

    @staticmethod
    def question_of(body):
        return next(message for message in body["messages"] if message["role"] == "user")

    @staticmethod
    def assistant(answer):
        return {"role": "assistant", "content": answer["content"]}

    @staticmethod
    def results(answer, text, wrong_id=None):
        call = next(block for block in answer["content"] if block["type"] == "tool_use")
        block = {"type": "tool_result", "tool_use_id": wrong_id or call["id"], "content": text, "is_error": True}
        return {"role": "user", "content": [block]}

    @staticmethod
    def tool_name(body, name):
        body["tools"][0]["name"] = name


class Refusals(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = ModelServer("basics.json")

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def post(self, wire, body, **headers):
        return post(self.server, wire.path, body, {**wire.headers, **headers})

    def refused(self, reason, change):
        """`change` is made to a second request that would fit; the server must name the reason."""
        for wire in (OpenAi, Anthropic):
            with self.subTest(wire.__name__):
                status, answer = self.post(wire, wire.body())
                self.assertEqual(status, 200, answer)
                body = wire.body()
                body["messages"] += [wire.assistant(answer), wire.results(answer, FIRST_RESULT)]
                changed = change(wire, copy.deepcopy(body), answer)
                status, refusal = self.post(wire, changed)
                self.assertEqual(status, 400, refusal)
                self.assertIn(reason, refusal["error"]["message"])
                status, answer = self.post(wire, body)
                self.assertEqual(status, 200, "what was not changed fits")

    def test_a_question_without_the_files(self):
        def change(wire, body, _):
            body["messages"] = [m for m in body["messages"] if m["role"] == "system"] + [
                {"role": "user", "content": QUESTION.split("\n")[0]}
            ]
            return body

        self.refused("lacks 'orders.csv'", change)

    def test_another_question(self):
        def change(wire, body, _):
            body["messages"] = [m for m in body["messages"] if m["role"] == "system"] + [
                {"role": "user", "content": "How are you? orders.csv"}
            ]
            return body

        self.refused("lacks 'What do the orders", change)

    def test_no_tool_result(self):
        self.refused("nothing to answer", lambda wire, body, _: {**body, "messages": body["messages"][:-1]})

    def test_a_result_for_another_call(self):
        def change(wire, body, answer):
            body["messages"][-1] = wire.results(answer, FIRST_RESULT, wrong_id="call_9_9")
            return body

        self.refused("results for ['call_9_9']", change)

    def test_an_empty_result(self):
        def change(wire, body, answer):
            body["messages"][-1] = wire.results(answer, " ")
            return body

        self.refused("an empty result", change)

    def test_a_result_that_hides_the_error(self):
        def change(wire, body, answer):
            body["messages"][-1] = wire.results(answer, "all is well")
            return body

        self.refused("lacks \"KeyError: 'price'\"", change)

    def test_no_tools(self):
        def change(wire, body, _):
            del body["tools"]
            return body

        for wire in (OpenAi, Anthropic):
            status, refusal = self.post(wire, change(wire, wire.body(), None))
            self.assertEqual(status, 400)
            self.assertIn("the tools are []", refusal["error"]["message"])

    def test_another_tool(self):
        def change(wire, body, _):
            wire.tool_name(body, "shell")
            return body

        self.refused("the tools are ['shell']", change)

    def test_words_put_into_the_models_mouth(self):
        def change(wire, body, _):
            for message in body["messages"]:
                if message["role"] == "assistant" and isinstance(message["content"], str):
                    message["content"] = "Something else."
                elif message["role"] == "assistant":
                    message["content"][0]["text"] = "Something else."
            return body

        self.refused("the model's turn 1 was changed", change)

    def test_a_conversation_that_is_over(self):
        for wire in (OpenAi, Anthropic):
            with self.subTest(wire.__name__):
                with ModelServer("sleeper.json") as server:
                    body = wire.body()
                    wire.question_of(body)["content"] = "Wait for a while."
                    status, answer = post(server, wire.path, body, wire.headers)
                    self.assertEqual(status, 200, answer)
                    body["messages"] += [wire.assistant(answer), wire.results(answer, "waiting")]
                    status, answer = post(server, wire.path, body, wire.headers)
                    self.assertEqual(status, 200, answer)
                    body["messages"] += [wire.assistant(answer), copy.deepcopy(wire.question)]
                    status, refusal = post(server, wire.path, body, wire.headers)
                    self.assertEqual(status, 400, refusal)
                    self.assertIn("message of kind user where the results of turn 2 belong", refusal["error"]["message"])

    def test_a_wrong_key_and_a_wrong_path(self):
        for wire in (OpenAi, Anthropic):
            wrong = {name: "Bearer sk-wrong" if name == "Authorization" else "sk-wrong" for name in wire.headers}
            self.assertEqual(self.post(wire, wire.body(), **wrong)[0], 401)
            self.assertEqual(post(self.server, "/v2/other", wire.body(), wire.headers)[0], 404)

    def test_what_is_no_request_at_all(self):
        for wire in (OpenAi, Anthropic):
            self.assertEqual(self.post(wire, {"hello": 1})[0], 400)
            self.assertEqual(self.post(wire, [1, 2])[0], 400)


if __name__ == "__main__":
    unittest.main()
