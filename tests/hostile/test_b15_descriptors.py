"""B15. A descriptor left open, or a working directory that is one, is a door (runc's CVE-2024-21626)."""

import re

from e2b import SandboxException

from programs import shell

UP = "../../../../../../../../etc/hostname"


def test_no_working_directory_is_a_descriptor_of_the_guest(sandbox, trial, who):
    """Descriptor 4 was the host's group directory, and `../../..` from there the host's root."""
    refused = 0
    for number in range(3, 24):
        for cwd in (f"/proc/self/fd/{number}", f"/proc/1/fd/{number}", f"/proc/2/fd/{number}"):
            try:
                said = sandbox.commands.run(f"ls -a; cat {UP}", cwd=cwd, user=who).stdout
                assert said.strip().endswith(sandbox.sandbox_id) and "cgroup" not in said, cwd
            except SandboxException:
                refused += 1
    trial.saw = f"{refused} of 63 refused, the others are the sandbox's own root"


def test_a_templates_working_directory_may_be_a_trick(interpreter, trial, who):
    """A working directory that the sandbox swaps for a link before it is used: contexts, terminals and commands."""
    for number in range(3, 12):
        shell(interpreter, f"rm -rf /tmp/trick; ln -s /proc/self/fd/{number} /tmp/trick", who)
        try:
            context = interpreter.create_code_context(cwd="/tmp/trick")
            said = interpreter.run_code(f"print(open('{UP}').read())", context=context)
            assert said.error is not None or "".join(said.logs.stdout).strip() == interpreter.sandbox_id
            interpreter.remove_code_context(context)
        except SandboxException:
            continue
    trial.saw = "refused, or the sandbox's own root"


def test_a_working_directory_that_is_a_link_to_itself_or_elsewhere(sandbox, trial, who):
    tricks = {
        "/tmp/loop": "/tmp/loop",
        "/tmp/up": "../../../../..",
        "/tmp/other": "/proc/1/root",
        "/tmp/exe": "/proc/self/exe",
    }
    for link, target in tricks.items():
        shell(sandbox, f"ln -sfn {target} {link}", who)
        try:
            said = sandbox.commands.run(f"cat {UP}", cwd=link, user=who).stdout
            assert said.strip() == sandbox.sandbox_id
        except SandboxException:
            continue
    trial.saw = "refused, or the sandbox's own root"


def test_no_link_leads_through_a_descriptor_of_the_guest(sandbox, trial, who):
    """The guest follows links with its own `/proc/self`: its descriptors must lead nowhere."""
    refused = 0
    for number in range(3, 24):
        shell(sandbox, f"ln -sfn /proc/self/fd/{number}/{UP} /tmp/through", who)
        try:
            assert sandbox.files.read("/tmp/through", user=who).strip() == sandbox.sandbox_id
        except SandboxException:
            refused += 1
    trial.saw = f"{refused} of 21 refused"


def test_programs_inherit_only_their_stdio(interpreter, trial, who):
    """The guest's control socket was number 3, its group 4."""
    assert shell(interpreter, "ls /proc/$$/fd; true", who).split() == ["0", "1", "2"]
    found = interpreter.run_code(
        "import os; print([os.readlink(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd')"
        " if os.path.exists(f'/proc/self/fd/{n}')])"
    )
    targets = re.findall("'(.*?)'", "".join(found.logs.stdout))
    for target in targets:
        assert target.startswith(("pipe:", "socket:", "/dev/null", "anon_inode:")), target
    trial.saw = f"command: 0 1 2; context: {len(targets)}, pipes and sockets"


def test_a_cell_cannot_leave_through_an_open_directory(interpreter, trial):
    """`setns` resets the working directory, but an open directory of the nursery would still be a way (walls.md 2.1)."""
    said = interpreter.run_code("""
import os
found = []
for name in os.listdir('/proc/self/fd'):
    try:
        os.fchdir(int(name)); found.append(name)
    except OSError:
        pass
found""")
    assert said.text == "[]"
    trial.saw = "no descriptor of a directory"
