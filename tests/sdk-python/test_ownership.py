"""What the API makes belongs to whom commands run as, and keeps its marks.

A call on files may what a command of its user may: the user decides the home, the owner and the rights. The sandbox's
token opens all of it, for who holds the token may name root.
"""

import pytest
from e2b import InvalidArgumentException, SandboxException
from helpers import fails, run


def test_the_api_and_commands_are_one_user(sandbox):
    sandbox.files.make_dir("made")
    sandbox.files.write("made/by-api", "1")
    assert run(sandbox, "stat -c '%U:%G %a' made made/by-api") == "user:user 755\nuser:user 644"
    run(sandbox, "echo 2 >> made/by-api && mv made/by-api made/moved && rm made/moved && rmdir made")


def test_parents_belong_to_the_user_too(sandbox):
    sandbox.files.write("a/b/c.txt", "x")
    assert run(sandbox, "stat -c %U a a/b a/b/c.txt") == "user\nuser\nuser"


def test_sticky_directories(sandbox):
    sandbox.files.write("/tmp/shared", "api")
    run(sandbox, "echo shell > /tmp/shared")
    sandbox.files.write("/tmp/shared", "api again")
    assert run(sandbox, "cat /tmp/shared") == "api again"


def test_code_made_files_are_the_users(interpreter):
    interpreter.run_code("open('by-code.txt', 'w').write('x')")
    assert interpreter.files.get_info("by-code.txt").owner == "user"
    interpreter.files.write("by-code.txt", "y")
    run(interpreter, "echo z > by-code.txt")


def test_overwriting_keeps_the_mode(sandbox):
    sandbox.files.write("run.sh", "#!/bin/sh\necho one")
    run(sandbox, "chmod 755 run.sh")
    sandbox.files.write("run.sh", "#!/bin/sh\necho two")
    assert run(sandbox, "./run.sh") == "two"


def test_commands_of_the_user_may_not_what_root_may(sandbox):
    assert fails(sandbox, "echo x > /etc/passwd").exit_code != 0
    assert fails(sandbox, "rm /etc/passwd").exit_code != 0
    assert fails(sandbox, "cat /etc/shadow").exit_code != 0
    assert run(sandbox, "head -1 /etc/passwd").startswith("root:")


def test_code_of_the_user_may_not_what_root_may(interpreter):
    assert interpreter.run_code("open('/etc/passwd', 'w')").error.name == "PermissionError"
    assert interpreter.run_code("import os; os.setuid(0)").error.name == "PermissionError"


def test_calls_of_the_user_may_not_what_root_may(sandbox):
    for attempt in (
        lambda: sandbox.files.write("/etc/made.conf", "x"),
        lambda: sandbox.files.write("/made/at/the/root", "x"),
        lambda: sandbox.files.read("/etc/shadow"),
        lambda: sandbox.files.remove("/etc/passwd"),
    ):
        with pytest.raises(SandboxException) as caught:
            attempt()
        assert "name it as the user" in str(caught.value)


def test_overwriting_keeps_the_owner(sandbox):
    sandbox.files.write("mine", "x")
    sandbox.files.write("/home/user/mine", "y", user="root")
    assert run(sandbox, "stat -c %U mine; echo z >> mine; cat mine") == "user\nyz"


def test_root_may(sandbox):
    sandbox.files.write("/etc/made.conf", "x", user="root")
    assert run(sandbox, "stat -c %U /etc/made.conf") == "root"
    sandbox.files.remove("/etc/made.conf", user="root")
    assert not sandbox.files.exists("/etc/made.conf")


def test_set_user_id_works_inside(sandbox):
    run(sandbox, "cp /usr/bin/id /tmp/rid && chown root /tmp/rid && chmod 4755 /tmp/rid", user="root")
    assert run(sandbox, "/tmp/rid -u") == "0"
    assert run(sandbox, "/tmp/rid -ru") == "1000"


def test_metadata(sandbox):
    info = sandbox.files.write("m.txt", "x", metadata={"origin": "tests", "Step": "2"})
    assert info.metadata == {"origin": "tests", "step": "2"}
    assert sandbox.files.get_info("m.txt").metadata == {"origin": "tests", "step": "2"}
    [entry] = [e for e in sandbox.files.list(".") if e.name == "m.txt"]
    assert entry.metadata == {"origin": "tests", "step": "2"}
    assert sandbox.files.rename("m.txt", "n.txt").metadata == {"origin": "tests", "step": "2"}
    sandbox.files.write("n.txt", "y")
    assert sandbox.files.get_info("n.txt").metadata in (None, {})


@pytest.mark.parametrize(
    "metadata", [{"k": "v" * 5000}, {"k": "line\nbreak"}, {"k" * 300: "v"}], ids=["long", "lines", "key"]
)
def test_impossible_metadata(sandbox, metadata):
    with pytest.raises((InvalidArgumentException, SandboxException)):
        sandbox.files.write("m.txt", "x", metadata=metadata)
    sandbox.files.write("m.txt", "fine")
    assert sandbox.files.read("m.txt") == "fine"
