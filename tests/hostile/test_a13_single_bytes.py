"""A13. A hundred thousand writes of one byte: a message for each would be a flood that costs more than the program."""

import shlex

SOURCE = "import os\nfor _ in range(100_000): os.write({fd}, b'x')"


def test_a_command(sandbox, trial, who):
    pieces = []
    handle = sandbox.commands.run(f"python3 -c {shlex.quote(SOURCE.format(fd=1))}", user=who, background=True)
    for out, _, _ in handle:
        pieces += [len(out)] if out else []
    assert sum(pieces) == 100_000
    assert len(pieces) <= 10_000, "a tenth at most: the pieces must be put together"
    trial.saw = f"{len(pieces)} messages for 100,000 writes"


def test_a_cell(interpreter, trial):
    pieces = []
    interpreter.run_code(SOURCE.format(fd=1), on_stdout=lambda message: pieces.append(len(message.line)), timeout=60)
    assert sum(pieces) == 100_000
    assert len(pieces) <= 10_000
    trial.saw = f"{len(pieces)} messages for 100,000 writes"


def test_a_cell_that_prints_and_flushes(interpreter, trial):
    pieces = []
    code = "for _ in range(100_000): print('x', end='', flush=True)"
    interpreter.run_code(code, on_stdout=lambda message: pieces.append(len(message.line)), timeout=60)
    assert sum(pieces) == 100_000
    assert len(pieces) <= 10_000
    trial.saw = f"{len(pieces)} messages for 100,000 prints"
