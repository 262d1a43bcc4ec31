"""A4. A dead kernel must be told apart from an exception, and must cost its context only."""

HOG = "b = []\nwhile True: b.append(b'x' * (64 << 20))"


def test_the_context_dies_and_the_next_cell_runs(interpreter, trial):
    execution = interpreter.run_code(HOG, timeout=60)
    assert execution.error is not None and execution.error.name == "KernelOutOfMemory", execution.error
    assert interpreter.run_code("1 + 1").text == "2"
    trial.saw = execution.error.name


def test_a_hog_started_by_a_cell_dies_instead_of_it(interpreter, trial, who):
    """The child is the larger one: the context with its variables lives on."""
    interpreter.run_code("kept = 42")
    sudo = ["sudo", "-n"] if who == "root" else []
    code = f"import subprocess\nsubprocess.run({[*sudo, 'python3', '-c', HOG]!r}).returncode"
    assert interpreter.run_code(code, timeout=60).text in ("-9", "137")
    assert interpreter.run_code("kept").text == "42"
    trial.saw = "child killed, variables kept"


def test_a_context_beside_it_lives_on(interpreter, trial):
    other = interpreter.create_code_context()
    interpreter.run_code("y = 7", context=other)
    interpreter.run_code(HOG, timeout=60)
    assert interpreter.run_code("y", context=other).text == "7"
    trial.saw = "the other context kept its variables"
