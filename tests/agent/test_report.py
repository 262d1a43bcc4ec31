"""The demonstration's question: 45,000 rows become a report whose numbers are right to the kopeck."""

import hashlib
import json
import subprocess
import sys
import unittest

import check_report
import make_sales
from harness import CONVERSATIONS, HERE, PROVIDERS, AskTest, ModelServer


class Report(AskTest):
    def test_the_report_equals_an_independent_computation(self):
        script = json.loads((CONVERSATIONS / "sales_report.json").read_text(encoding="utf-8"))
        table = self.folder / "sales.csv"
        make_sales.make(table, make_sales.ROWS, make_sales.SEED)
        for provider in PROVIDERS:
            with self.subTest(provider), ModelServer("sales_report.json") as server:
                done = self.ask(server, script["question"], [table], provider)
                self.assert_done(done)
                wrong, compared = check_report.differences(done.out, table)
                self.assertEqual(wrong, [])
                self.assertGreaterEqual(compared, 25)
                self.assertFalse(done.calls()[0]["ok"], "the first code names a column that is not there")
                self.assertTrue(all(call["ok"] for call in done.calls()[1:]))
        other = self.folder / "other.csv"
        make_sales.make(other, make_sales.ROWS, make_sales.SEED + 1)
        wrong, _ = check_report.differences(done.out, other)
        self.assertGreaterEqual(len(wrong), 8, "the check passes a report about another table")


class Sales(unittest.TestCase):
    def test_the_table_is_the_same_on_every_machine(self):
        digests = set()
        for _ in range(2):
            made = subprocess.run(
                [sys.executable, HERE / "make_sales.py", "--out", "/dev/stdout"], check=True, capture_output=True
            )
            digests.add(hashlib.sha256(made.stdout).hexdigest())
            self.assertEqual(made.stdout.count(b"\n"), make_sales.ROWS + 1)
        self.assertEqual(len(digests), 1)


if __name__ == "__main__":
    unittest.main()
