"""Twelve questions about tables that people uploaded, each held against the accepted answer."""

import json
import unittest

import dabench
from harness import PROVIDERS, AskTest, ModelServer


class Dabench(AskTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tables, reason = dabench.folder()
        if reason:
            raise unittest.SkipTest(reason)
        cls.questions = dabench.questions(cls.tables)

    def answer(self, path, provider):
        entry = self.questions[json.loads(path.read_text(encoding="utf-8"))["dabench"]]
        question = dabench.full_question(entry)
        with ModelServer(f"dabench/{path.name}", question=question, files=[entry["file_name"]]) as server:
            done = self.ask(server, question, [self.tables / entry["file_name"]], provider)
        self.assert_done(done)
        self.assertEqual(dabench.differences(done.answer(), entry), [])

    def test_there_are_twelve_of_all_levels(self):
        levels = [json.loads(path.read_text(encoding="utf-8"))["level"] for path in dabench.conversations()]
        self.assertEqual({level: levels.count(level) for level in levels}, {"easy": 4, "medium": 4, "hard": 4})


def add(number, path):
    provider = PROVIDERS[number % 2]  # both speak to the same code; each question once is enough
    setattr(Dabench, f"test_{path.stem}_by_{provider}", lambda self: self.answer(path, provider))


for number, path in enumerate(dabench.conversations()):
    add(number, path)

if __name__ == "__main__":
    unittest.main()
