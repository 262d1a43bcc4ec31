"""What user code can do to the Python kernel, by accident or on purpose."""

import unittest

from harness import Kernel, KernelDied, has


@unittest.skipUnless(has("IPython"), "needs IPython")
class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kernel = Kernel()

    @classmethod
    def tearDownClass(cls):
        cls.kernel.close()

    def run_cell(self, code, **options):
        return self.kernel.run(code, **options)

    def assert_alive(self):
        outcome = self.run_cell("print('out')\n1 + 1")
        self.assertEqual((outcome.text, outcome.stdout), ("2", "out\n"), outcome.error)

    def test_interrupts_of_sleep_loop_await_command_and_question(self):
        cells = (
            "import time; time.sleep(60)",
            "while True: pass",
            "import asyncio; await asyncio.sleep(60)",
            "!sleep 60",
            "while True: print('x' * 1000)",
            "while True: display(1)",
        )
        for code in cells:
            outcome = self.run_cell(code, interrupt_after=0.3)
            self.assertEqual(outcome.status, "interrupted", code)
            self.assertEqual(outcome.error["name"], "KeyboardInterrupt", code)
            self.assert_alive()

    def test_an_interrupted_coroutine_does_not_go_on(self):
        self.run_cell(
            "import asyncio\nticks = 0\nwhile True:\n    ticks += 1\n    await asyncio.sleep(0.01)",
            interrupt_after=0.2,
        )
        self.run_cell("before = ticks\nawait asyncio.sleep(0.1)")
        self.assertEqual(self.run_cell("ticks == before").text, "True")

    def test_a_caught_interrupt_is_no_error(self):
        code = "import time\ntry: time.sleep(60)\nexcept KeyboardInterrupt: print('caught')"
        outcome = self.run_cell(code, interrupt_after=0.3)
        self.assertEqual((outcome.status, outcome.stdout), ("ok", "caught\n"))

    def test_interrupts_between_cells_do_nothing(self):
        self.run_cell("import signal; signal.signal(signal.SIGINT, signal.default_int_handler)")
        for _ in range(20):
            self.kernel.interrupt()
            self.assert_alive_quietly()

    def assert_alive_quietly(self):
        # An interrupt can fall into the cell, which is then named as such.
        self.assertIn(self.run_cell("2").status, ("ok", "interrupted"))

    def test_alarms_do_not_tear_frames(self):
        self.run_cell(
            "import signal\nclass Ring(BaseException): pass\ndef ring(*_): raise Ring\n"
            "signal.signal(signal.SIGALRM, ring)"
        )
        code = "signal.setitimer(signal.ITIMER_REAL, 0.002)\nwhile True: display('x' * 10000)"
        for _ in range(20):
            self.assertEqual(self.run_cell(code).error["name"], "Ring")
        self.run_cell("signal.setitimer(signal.ITIMER_REAL, 0.05)")  # rings between cells
        self.run_cell("import time; time.sleep(0)")
        self.run_cell("signal.signal(signal.SIGALRM, signal.SIG_IGN)")
        self.assert_alive()

    def test_closed_and_replaced_streams_come_back(self):
        for code in (
            "import sys; sys.stdout.close(); sys.stderr.close()",
            "import sys; sys.stdout.buffer.close()",
            "import sys; sys.stdout.detach()",
            "import sys; sys.stdout = None",
            "import os; os.close(1); os.close(2)",
            "import os; os.closerange(0, 256)",
            "import os; os.dup2(os.open('/dev/null', os.O_WRONLY), 1)",
            "import fcntl, os; fcntl.fcntl(1, fcntl.F_SETFL, os.O_NONBLOCK)\nprint('y' * 500000)",
        ):
            self.run_cell(code)
            self.assert_alive()

    def test_patched_modules_do_not_break_the_protocol(self):
        for code in (
            "import json; json.dumps = json.loads = None; json.JSONEncoder.encode = None\n"
            "json.JSONEncoder.iterencode = None; json.JSONDecoder.decode = None",
            "import builtins; real = builtins.print; builtins.print = lambda *a: 1 / 0\n"
            "display(1); builtins.print = real",
            "__builtins__ = None",
            "import os; os.write = os.read = None",
            "del _oh, Out, In",
            "globals().clear()",
            "sys = os = json = 5",
        ):
            self.run_cell(code)
            self.assert_alive()

    def test_hostile_objects(self):
        bodies = (
            "def __repr__(self): raise KeyboardInterrupt",
            "def __repr__(self): raise SystemExit(3)",
            "def __repr__(self): return 5",
            "def __repr__(self): return 'a\\udcff'",
            "def __getattr__(self, name): raise BaseException(name)",
            "__class__ = property(lambda self: 1 / 0)",
            "def _repr_html_(self): raise ValueError",
            "def _repr_mimebundle_(self, **_): return {'a/b': self, 3: float('nan')}",
        )
        for body in bodies:
            self.run_cell(f"class Thing:\n    {body}\nThing()")
            self.assert_alive()
        outcome = self.run_cell("class Bad(Exception):\n    def __str__(self): raise ValueError\nraise Bad")
        self.assertEqual(outcome.error["name"], "Bad")
        self.assert_alive()

    def test_a_long_error_is_cut_visibly(self):
        error = self.run_cell("raise ValueError('x' * 3_000_000)").error
        self.assertLess(len(error["value"]), 70_000)
        self.assertIn("left out", error["value"])

    def test_a_forked_child_neither_speaks_nor_stays(self):
        outcome = self.run_cell(
            "import os, sys\npid = os.fork()\n"
            "if pid == 0:\n    print('child'); display('shown'); input_ = 1\n    sys.exit(7)\n"
            "os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])"
        )
        self.assertEqual(outcome.text, "7")
        self.assertEqual(outcome.stdout, "child\n'shown'\n")
        outcome = self.run_cell("pid = os.fork()\nif pid: os.waitpid(pid, 0)")
        self.assertEqual([message["type"] for message in outcome.messages], ["started", "done"])
        self.assert_alive()

    def test_multiprocessing_works(self):
        code = (
            "import multiprocessing as mp\ndef square(x): return x * x\n"
            "with mp.get_context('fork').Pool(2) as pool: got = pool.map(square, range(4))\ngot"
        )
        self.assertEqual(self.run_cell(code).text, "[0, 1, 4, 9]")

    def test_threads_may_display_and_print_after_their_cell(self):
        self.run_cell(
            "import threading, time\n"
            "thread = threading.Thread(target=lambda: (time.sleep(0.1), display(5), print(6)))\n"
            "thread.start()"
        )
        self.run_cell("thread.join()")
        self.assert_alive()

    def test_much_output_costs_no_memory(self):
        measure = "import resource; resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024"
        before = int(self.run_cell(measure).text)
        outcome = self.run_cell("for _ in range(100): print('x' * 1_000_000)")
        self.assertEqual(len(outcome.stdout), 100 * 1_000_001)
        self.run_cell("shown = display(1, display_id=True)\nfor i in range(5000): shown.update('y' * 10_000)")
        self.assertLess(int(self.run_cell(measure).text) - before, 30)


@unittest.skipUnless(has("IPython"), "needs IPython")
class Death(unittest.TestCase):
    def test_the_end_of_the_process_closes_the_socket(self):
        for code, status in (
            ("import os; os._exit(9)", 9),
            ("import ctypes; ctypes.string_at(0)", -11),
        ):
            kernel = Kernel()
            with self.assertRaises(KernelDied):
                kernel.run(code)
            self.assertEqual(kernel.process.wait(10), status)
            kernel.close()

    def test_the_kernel_ends_when_the_guest_goes(self):
        kernel = Kernel()
        kernel.close()
        self.assertEqual(kernel.process.returncode, 0)


if __name__ == "__main__":
    unittest.main()
