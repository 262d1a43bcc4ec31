"""Cells of the Python kernel: state, output, errors, environment, questions."""

import unittest

from harness import Kernel, has


@unittest.skipUnless(has("IPython"), "needs IPython")
class Cells(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kernel = Kernel()

    @classmethod
    def tearDownClass(cls):
        cls.kernel.close()

    def run_cell(self, code, **options):
        return self.kernel.run(code, **options)

    def test_ready_names_language_and_version(self):
        ready = self.kernel.ready
        self.assertEqual((ready["type"], ready["language"]), ("ready", "python"))
        self.assertRegex(ready["version"], r"^3\.\d+\.\d+$")
        self.assertRegex(ready["implementation"], r"^IPython \d")

    def test_state_is_kept_and_the_last_expression_is_the_result(self):
        self.run_cell("x = 1")
        self.assertEqual(self.run_cell("x += 1; x").text, "2")
        self.assertIsNone(self.run_cell("x;").result)

    def test_the_execution_count_goes_up_by_one(self):
        counts = [self.run_cell("1").of("started")[0]["execution_count"] for _ in range(2)]
        self.assertEqual(counts[1], counts[0] + 1)

    def test_output_keeps_its_order_with_child_processes(self):
        outcome = self.run_cell("print('a', end='')\n!printf b; printf c >&2\nprint('d')")
        self.assertEqual((outcome.stdout, outcome.stderr), ("abcd\n", ""))
        self.assertEqual(self.run_cell("import os\nos.system('echo x')").stdout, "x\n")

    def test_commands_expand_variables_and_can_be_captured(self):
        self.run_cell("name = 'world'")
        self.assertEqual(self.run_cell("!echo hello $name").stdout, "hello world\n")
        self.assertEqual(self.run_cell("got = !echo hi\ngot[0]").text, "'hi'")
        outcome = self.run_cell("%%capture seen\n!echo inside\nprint('too')")
        self.assertEqual(outcome.stdout, "")
        self.assertEqual(self.run_cell("seen.stdout").text, "'inside\\ntoo\\n'")

    def test_magics_work(self):
        self.assertEqual(self.run_cell("%%bash\necho from bash").stdout, "from bash\n")
        self.assertEqual(self.run_cell("%nosuchmagic").error["name"], "UsageError")
        self.assertIn("Docstring", self.run_cell("print?").stdout)

    def test_top_level_await_and_tasks_that_outlive_their_cell(self):
        self.run_cell("import asyncio\nq = asyncio.Queue()")
        self.run_cell(
            "async def later():\n    await asyncio.sleep(0.01)\n    await q.put(7)\n"
            "task = asyncio.get_running_loop().create_task(later())\nawait asyncio.sleep(0)"
        )
        self.assertEqual(self.run_cell("await q.get()").text, "7")
        self.assertEqual(self.run_cell("asyncio.run(asyncio.sleep(0, 5))").text, "5")

    def test_tasks_go_on_between_cells(self):
        self.run_cell(
            "import asyncio\ndone = False\nasync def later():\n    global done\n"
            "    await asyncio.sleep(0.05)\n    done = True\n    print('between')\n"
            "task = asyncio.ensure_future(later())\nawait asyncio.sleep(0)"
        )
        self.assertEqual(self.run_cell("import time; time.sleep(0.1); 1").text, "1")
        self.assertEqual(self.run_cell("await task; done").text, "True")

    def test_an_error_has_name_value_and_plain_traceback(self):
        outcome = self.run_cell("def f():\n    return missing\nf()")
        error = outcome.error
        self.assertEqual(error["name"], "NameError")
        self.assertEqual(error["value"], "name 'missing' is not defined")
        self.assertIn("----> 2", error["traceback"])
        self.assertNotIn("\x1b", error["traceback"])
        self.assertEqual(outcome.status, "error")

    def test_syntax_errors_and_exception_groups_are_errors(self):
        self.assertEqual(self.run_cell("def f(:").error["name"], "SyntaxError")
        group = self.run_cell("raise ExceptionGroup('g', [ValueError(1)])").error
        self.assertEqual(group["name"], "ExceptionGroup")
        self.assertIn("ValueError: 1", group["traceback"])
        self.assertNotIn("IPython/core", group["traceback"])

    def test_exit_ends_the_cell_and_not_the_context(self):
        for code, value in (("exit()", "0"), ("exit", "0"), ("quit(4)", "4")):
            error = self.run_cell(code).error
            self.assertEqual((error["name"], error["value"]), ("SystemExit", value))
        outcome = self.run_cell("import sys; sys.exit('no luck')")
        self.assertEqual(outcome.error["value"], "no luck")
        self.assertEqual(outcome.stderr, "")
        self.assertEqual(self.run_cell("1 + 1").text, "2")

    def test_the_environment_of_a_cell_is_put_back(self):
        awkward = "a'b\"c\n$x`"
        read = "import os; os.environ.get('FOO')"
        self.assertEqual(self.run_cell(read).result, None)
        self.assertEqual(self.run_cell(read, env={"FOO": awkward}).text, repr(awkward))
        self.assertIsNone(self.run_cell(read).result)
        self.run_cell("os.environ['FOO'] = 'mine'")
        self.assertEqual(self.run_cell("!echo $FOO", env={"FOO": "theirs"}).stdout, "theirs\n")
        self.assertEqual(self.run_cell(read).text, "'mine'")
        self.run_cell("del os.environ['FOO']")
        self.assertEqual(self.run_cell("1", env={"A=B": "x"}).error["name"], "BadEnvironment")

    def test_the_environment_does_not_move_lines_or_cell_magics(self):
        outcome = self.run_cell("%%bash\necho $FOO", env={"FOO": "bar"})
        self.assertEqual(outcome.stdout, "bar\n")
        error = self.run_cell("from __future__ import annotations\n1/0", env={"FOO": "b"}).error
        self.assertEqual(error["name"], "ZeroDivisionError")
        self.assertIn("line 2", error["traceback"])

    def test_input_is_answered_or_refused_at_once(self):
        self.kernel.answers = {"name? ": "Ada"}
        self.assertEqual(self.run_cell("input('name? ')").text, "'Ada'")
        outcome = self.run_cell("input('age? ')")
        self.assertEqual(outcome.error["name"], "EOFError")
        self.assertIn("nobody can answer input() here", outcome.error["value"])
        outcome = self.run_cell("import getpass; getpass.getpass('key: ')")
        self.assertTrue(outcome.of("request")[0]["password"])

    def test_bad_messages_are_faults_and_do_no_harm(self):
        for bad in (b"{nonsense\n", b"[1]\n", b'{"type":"dance"}\n', b'{"type":"execute"}\n', b"\xff\n"):
            self.kernel.send_raw(bad)
            self.assertEqual(self.kernel.next_message()["type"], "fault")
        self.kernel.send(type="reply", id="old", request="r0", value="late")
        self.assertEqual(self.run_cell("3").text, "3")


@unittest.skipUnless(has("IPython"), "needs IPython")
class Start(unittest.TestCase):
    def test_modules_in_the_working_directory_cannot_break_the_start(self):
        import tempfile
        from pathlib import Path

        with tempfile.TemporaryDirectory() as folder:
            for name in ("json", "random", "socket", "IPython", "hood_kernel"):
                (Path(folder) / f"{name}.py").write_text("raise SystemExit('shadowed')\n")
            (Path(folder) / "mine.py").write_text("value = 42\n")
            kernel = Kernel(cwd=folder)
            self.addCleanup(kernel.close)
            self.assertEqual(kernel.run("import mine; mine.value").text, "42")
            self.assertEqual(kernel.run("import sys; sys.path[0]").text, "''")
            self.assertEqual(kernel.run("import os; os.environ.get('PYTHONPATH')").result, None)

    def test_a_start_leaves_no_files_threads_or_descriptors(self):
        kernel = Kernel()
        self.addCleanup(kernel.close)
        outcome = kernel.run("import os; len(os.listdir('/proc/self/task'))")
        self.assertEqual(outcome.text, "1")
        self.assertEqual(list(kernel.home.iterdir()), [])
        inherited = kernel.run("!ls /proc/self/fd | wc -l").stdout.strip()
        self.assertEqual(inherited, "4")  # three, and the folder that ls reads
        loaded = kernel.run(
            "import sys; sorted({'numpy', 'pandas', 'matplotlib', 'PIL'} & set(sys.modules))"
        )
        self.assertEqual(loaded.text, "[]")


if __name__ == "__main__":
    unittest.main()
