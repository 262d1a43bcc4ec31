"""The providers' own Python packages understand what the model server sends: it is faithful to both protocols."""

import json
import os
import unittest
from unittest import mock

from harness import KEY, ModelServer
from test_model_server import FIRST_RESULT, Anthropic, OpenAi


class OfficialSdks(unittest.TestCase):
    def setUp(self):
        # Both packages let the environment change the headers that they send.
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "ANTHROPIC_"))}
        environment = mock.patch.dict(os.environ, kept, clear=True)
        environment.start()
        self.addCleanup(environment.stop)

    def test_openai_reads_streams_and_whole_answers(self):
        try:
            import openai
        except ImportError:
            self.skipTest("the package `openai` is not installed")
        with ModelServer("basics.json") as server:
            client = openai.OpenAI(api_key=KEY, base_url=server.base_url("openai"), max_retries=0)
            body = OpenAi.body()
            whole = client.chat.completions.create(**body)
            call = whole.choices[0].message.tool_calls[0]
            self.assertEqual((whole.choices[0].finish_reason, call.function.name), ("tool_calls", "execute_python"))
            result = {"role": "tool", "tool_call_id": call.id, "content": FIRST_RESULT}
            body["messages"] += [whole.choices[0].message.model_dump(exclude_none=True), result]
            arguments, text, finish, usage = "", "", None, None
            for chunk in client.chat.completions.create(**body, stream=True, stream_options={"include_usage": True}):
                usage = chunk.usage or usage
                for choice in chunk.choices:
                    text += choice.delta.content or ""
                    arguments += "".join(c.function.arguments or "" for c in choice.delta.tool_calls or [])
                    finish = choice.finish_reason or finish
            self.assertIn("`amount`", text)
            self.assertIn("most_common", json.loads(arguments)["code"])
            self.assertEqual(finish, "tool_calls")
            self.assertGreater(usage.completion_tokens, 0)
            with self.assertRaises(openai.BadRequestError):
                client.chat.completions.create(**{**body, "messages": body["messages"][:-1]})

    def test_anthropic_reads_streams_and_whole_answers(self):
        try:
            import anthropic
        except ImportError:
            self.skipTest("the package `anthropic` is not installed")
        with ModelServer("basics.json") as server:
            client = anthropic.Anthropic(api_key=KEY, base_url=server.base_url("anthropic"), max_retries=0)
            body = Anthropic.body()
            whole = client.messages.create(**body)
            self.assertEqual((whole.stop_reason, whole.content[1].type), ("tool_use", "tool_use"))
            block = {"type": "tool_result", "tool_use_id": whole.content[1].id, "content": FIRST_RESULT, "is_error": True}
            body["messages"] += [
                {"role": "assistant", "content": [part.model_dump(exclude_none=True) for part in whole.content]},
                {"role": "user", "content": [block]},
            ]
            with client.messages.stream(**body) as stream:
                final = stream.get_final_message()
            self.assertIn("`amount`", final.content[0].text)
            self.assertIn("most_common", final.content[1].input["code"])
            self.assertGreater(final.usage.output_tokens, 0)
            with self.assertRaises(anthropic.BadRequestError):
                client.messages.create(**{**body, "messages": body["messages"][:-1]})

    def test_they_name_the_errors_as_we_do(self):
        try:
            import anthropic
            import openai
        except ImportError:
            self.skipTest("the packages `openai` and `anthropic` are not installed")
        for misbehave, names in [
            ("rate_limit", "RateLimitError"),
            ("unauthorized", "AuthenticationError"),
            ("broken", "InternalServerError"),
        ]:
            with ModelServer("basics.json", misbehave) as server:
                with self.assertRaises(getattr(openai, names)):
                    client = openai.OpenAI(api_key=KEY, base_url=server.base_url("openai"), max_retries=0)
                    client.chat.completions.create(**OpenAi.body())
            with ModelServer("basics.json", misbehave) as server:
                with self.assertRaises(getattr(anthropic, names)):
                    client = anthropic.Anthropic(api_key=KEY, base_url=server.base_url("anthropic"), max_retries=0)
                    client.messages.create(**Anthropic.body())


if __name__ == "__main__":
    unittest.main()
