"""Cells of the bash kernel."""

import sys
import unittest

from harness import KERNELS, Kernel

sys.path.insert(0, str(KERNELS / "bash"))
from hood_bash.shell import Shell, ShellEnded  # noqa: E402


class Bash(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kernel = Kernel("bash")

    @classmethod
    def tearDownClass(cls):
        cls.kernel.close()

    def run_cell(self, code, **options):
        return self.kernel.run(code, **options)

    def assert_alive(self):
        outcome = self.run_cell("echo alive")
        self.assertEqual((outcome.status, outcome.stdout, outcome.stderr), ("ok", "alive\n", ""))

    def test_ready_names_language_and_version(self):
        self.assertEqual(self.kernel.ready["language"], "bash")
        self.assertRegex(self.kernel.ready["version"], r"^\d+\.\d+")

    def test_variables_functions_aliases_and_directory_are_kept(self):
        self.run_cell("x=5; f() { echo fn $x; }; alias say='echo said'; cd /usr; declare y=6")
        self.assertEqual(self.run_cell("f; say $y; pwd").stdout, "fn 5\nsaid 6\n/usr\n")

    def test_a_failing_command_is_an_error_with_its_status(self):
        error = self.run_cell("false").error
        self.assertEqual((error["name"], error["value"]), ("ExitStatus", "exit status 1"))
        outcome = self.run_cell("nosuchcommand")
        self.assertEqual(outcome.error["value"], "exit status 127")
        self.assertIn("nosuchcommand: command not found", outcome.stderr)
        self.assertEqual(self.run_cell("false; true").status, "ok")

    def test_unfinished_code_ends_with_its_cell(self):
        for code in ("if true; then", "echo 'abc", 'echo "abc', "echo $(", "{", "f() {", "echo `"):
            self.assertEqual(self.run_cell(code).status, "error", code)
            self.assert_alive()
        self.assertEqual(self.run_cell("cat <<EOF\nhello").stdout, "hello\n")
        self.assert_alive()

    def test_stdin_is_empty_and_not_our_script(self):
        self.assertEqual(self.run_cell("cat; echo end").stdout, "end\n")
        self.assertEqual(self.run_cell("read line || echo none").stdout, "none\n")

    def test_children_get_three_descriptors(self):
        self.assertEqual(self.run_cell("ls /proc/self/fd | wc -l").stdout.strip(), "4")

    def test_the_environment_of_a_cell_is_put_back(self):
        awkward = "a'b\"c\n$x`"
        outcome = self.run_cell("printf %s \"$FOO\"; sh -c 'printf %s \"$FOO\"'", env={"FOO": awkward})
        self.assertEqual(outcome.stdout, awkward * 2)
        self.assertEqual(self.run_cell("echo ${FOO:-default}").stdout, "default\n")
        self.run_cell("FOO='not exported'")
        self.run_cell("true", env={"FOO": "x"})
        self.assertEqual(self.run_cell("echo $FOO; sh -c 'echo =$FOO'").stdout, "not exported\n=\n")
        self.run_cell("unset FOO")
        self.assertEqual(self.run_cell("true", env={"A-B": "x"}).error["name"], "ValueError")

    def test_interrupts_end_the_cell_and_keep_the_shell(self):
        self.run_cell("kept=yes")
        for code in ("sleep 60; echo no", "while :; do :; done", "while :; do sleep 1; done", "yes"):
            outcome = self.run_cell(code, interrupt_after=0.3)
            self.assertEqual((outcome.status, outcome.error["name"]), ("interrupted", "Interrupted"))
            self.assertNotIn("no", outcome.stdout.split("\n")[0])
        self.assertEqual(self.run_cell("echo $kept").stdout, "yes\n")

    def test_interrupts_between_cells_do_nothing(self):
        for _ in range(30):
            self.kernel.interrupt()
            self.assertIn(self.run_cell("true").status, ("ok", "interrupted"))
        self.run_cell("true")  # takes up what idle interrupts left on stderr
        self.assert_alive()

    def test_the_end_of_the_shell_is_told_and_a_new_one_starts(self):
        for code, told in (
            ("exit 3", "status 3"),
            ("set -e\nfalse\necho no", "status 1"),
            ("kill -9 $$", "SIGKILL"),
            ("exec echo replaced", "status 0"),
        ):
            self.run_cell("marker=1; cd /")
            outcome = self.run_cell(code)
            self.assertEqual(outcome.error["name"], "ShellExited", code)
            self.assertIn(told, outcome.error["value"])
            self.assertNotIn("no\n", outcome.stdout)
            self.assertEqual(self.run_cell("echo ${marker:-gone}; pwd").stdout, f"gone\n{self.kernel.home}\n")

    def test_a_shell_that_is_gone_before_it_is_asked_can_be_closed(self):
        shell = Shell(lambda: False)
        shell._process.kill()
        shell._process.wait()
        with self.assertRaises(ShellEnded):
            shell.run("true")
        shell.close()  # with a line still unwritten

    def test_odd_settings_of_the_user_do_not_reach_us(self):
        for code in (
            "set -u; echo $nosuch",
            "set +u; IFS=,; set -f",
            "read() { :; }; printf() { :; }; eval() { :; }; alias builtin=false",
            "trap 'true' INT DEBUG EXIT",
            "unset -f read printf eval; unalias -a; trap - INT DEBUG EXIT; unset IFS; set +f",
            "break; continue; return 1",
            "set -x",
        ):
            self.run_cell(code)
            self.assertEqual(self.run_cell("echo alive").stdout, "alive\n", code)
        self.run_cell("set +x")
        self.assert_alive()

    def test_a_pipe_that_breaks_is_silent(self):
        outcome = self.run_cell("yes | head -c 3000000 | tail -c 2")
        self.assertEqual((outcome.status, outcome.stdout, outcome.stderr), ("ok", "y\n", ""))

    def test_big_cells_and_nul(self):
        self.assertEqual(self.run_cell(f"x={'a' * 1_000_000}; echo ${{#x}}").stdout, "1000000\n")
        self.assertEqual(self.run_cell("echo \0").error["name"], "ValueError")

    def test_bad_messages_are_faults(self):
        for bad in (b"{nonsense\n", b"[1]\n", b'{"type":"dance"}\n', b'{"type":"execute"}\n'):
            self.kernel.send_raw(bad)
            self.assertEqual(self.kernel.next_message()["type"], "fault")
        self.assert_alive()


if __name__ == "__main__":
    unittest.main()
