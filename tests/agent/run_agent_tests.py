#!/usr/bin/env python3
"""Runs all tests of the agent: `HOOD_BIN=target/debug/hood run_agent_tests.py`, with a server and `eval "$(hood env)"`.

See harness.py for the variables. `-k WORD` runs only the tests whose name holds the word. Standard library only;
reading PDFs needs poppler-utils or pypdf. Closes with a line "N passed, N failed, N skipped".
"""

import argparse
import sys
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))


class Result(unittest.TextTestResult):
    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self.passed, self.broken = 0, set()

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self.broken.add(test.id())

    def stopTest(self, test):
        took = time.monotonic() - self.began
        if took > 10:
            self.stream.writeln(f"  slow: {test.id()} took {took:.0f} s")
        super().stopTest(test)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-k", action="append", help="only tests whose name holds this word")
    arguments = parser.parse_args()
    loader = unittest.TestLoader()
    if arguments.k:
        loader.testNamePatterns = [f"*{word}*" for word in arguments.k]
    suite = loader.discover(str(HERE), pattern="test_*.py", top_level_dir=str(HERE))
    result = unittest.TextTestRunner(resultclass=Result, verbosity=2).run(suite)
    for test, reason in result.skipped:
        print(f"skipped: {test}: {reason}")
    whole = [test for test, _ in result.failures + result.errors if not hasattr(test, "test_case")]
    failed = len(whole) + len(result.broken)
    print(f"{result.passed} passed, {failed} failed, {len(result.skipped)} skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
