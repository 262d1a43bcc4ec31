"""The guest's ceilings on contexts and cells, and those of the Python kernel."""

import contextlib
import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from e2b import SandboxException
from e2b_code_interpreter import Sandbox as Interpreter
from helpers import Stopwatch, ok, run
from page import meets

INSIDE, KERNEL = "Inside a sandbox", "The Python kernel"


@pytest.mark.slow
@meets(INSIDE, "MAX_CONTEXTS")
def test_contexts(limit, sized, calls):
    http = calls(sized(Interpreter, memoryMB=4096, pids=4096))
    statuses = []
    for _ in range(limit + 1):
        answer = http.http.post("/contexts", json={"language": "python"}, headers=http.port(49999))
        statuses.append(answer.status_code)
    assert set(statuses[: limit - 2]) == {200} and statuses[-1] == 429, statuses[-5:]
    assert answer.text


def crowd(http, count, **more):
    """So many cells at once in one context, of which the first does not end; those that are answered at once."""
    said = []

    def run_one(_):
        with contextlib.suppress(Exception), http.cell("import time\ntime.sleep(100)", **more) as answer:
            if answer.status_code != 200:
                said.append((answer.status_code, answer.read().decode()))
                return
            time.sleep(4)

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(run_one, range(count)))
    return said


@meets(INSIDE, "MAX_QUEUED_CELLS")
def test_cells_that_wait(limit, interpreter, calls):
    ok(interpreter.run_code("1"))
    said = crowd(calls(interpreter), limit + 3)
    assert said and {status for status, _ in said} == {429}, said
    assert len(said) <= 3 and str(limit) in said[0][1]


@meets(INSIDE, "MAX_WAITING_CELLS")
def test_cells_whose_requests_are_answered(limit, interpreter, calls):
    ok(interpreter.run_code("1"))
    said = crowd(calls(interpreter), limit + 2, requests="wait")
    assert said and {status for status, _ in said} == {429}, said
    assert str(limit) in said[0][1]


@meets(INSIDE, "MAX_BODY")
def test_code(limit, interpreter, calls):
    with calls(interpreter).cell("#" * limit) as answer:
        assert answer.status_code == 413 and answer.read()


@meets(INSIDE, "MAX_ENV_VARS")
def test_variables_of_a_cell(limit, interpreter, calls):
    http = calls(interpreter)
    for count, status in ((limit, 200), (limit + 1, 400)):
        with http.cell("1", env_vars={f"V{n}": "x" for n in range(count)}) as answer:
            assert answer.status_code == status and answer.read()


@meets(INSIDE, "CELL_SIGN_OF_LIFE")
def test_a_silent_cell_shows_signs_of_life(limit, interpreter, calls):
    with calls(interpreter).cell(f"import time\ntime.sleep({2.5 * limit})") as answer:
        began, lines = time.monotonic(), []
        for line in answer.iter_lines():
            if line:
                lines.append((json.loads(line)["type"], time.monotonic() - began))
    alive = [at for kind, at in lines if kind == "keepalive"]
    assert len(alive) == 2 and limit * 0.9 < alive[0] < limit * 1.3, lines


@meets(INSIDE, "CELL_ROOM")
def test_a_cell_waits_for_its_reader(_, interpreter, calls):
    code = "import sys\nfor n in range(100): sys.stdout.write('x' * 1_000_000)\nopen('/tmp/printed', 'w').close()"
    with calls(interpreter).cell(code) as answer:
        time.sleep(3)
        assert not interpreter.files.exists("/tmp/printed"), "the cell did not wait"
        size = sum(len(json.loads(line).get("text", "")) for line in answer.iter_lines() if '"stdout"' in line)
    assert size == 100_000_000
    assert interpreter.files.exists("/tmp/printed")


@meets(INSIDE, "MERGED_TEXT")
def test_a_flood_of_small_writes_is_no_flood_of_lines(limit, interpreter, calls):
    with calls(interpreter).cell("import os\nfor n in range(200_000): os.write(1, b'x' * 10)") as answer:
        time.sleep(1)
        texts = [json.loads(line)["text"] for line in answer.iter_lines() if '"stdout"' in line]
    assert sum(map(len, texts)) == 2_000_000
    assert max(map(len, texts)) <= limit and len(texts) < 20_000


@meets(INSIDE, "MAX_MANIFEST")
def test_the_list_of_kernels(limit, sized):
    interpreter = sized(Interpreter)
    path = "/usr/local/lib/hood/kernels/kernels.json"
    run(interpreter, f"head -c {limit} /dev/zero | tr '\\0' ' ' > /tmp/k; cat {path} >> /tmp/k; mv /tmp/k {path}", user="root")
    with pytest.raises(SandboxException), Stopwatch() as took:
        interpreter.create_code_context(language="bash")
    assert took.seconds < 10


@meets(KERNEL, "MAX_ERROR_VALUE")
def test_error_value(limit, interpreter):
    error = interpreter.run_code(f"raise ValueError('a' + 'x' * {2 * limit} + 'z')").error
    assert limit * 0.9 < len(error.value) < limit * 1.1
    assert error.value.startswith("a") and error.value.endswith("z")


@meets(KERNEL, "MAX_TRACEBACK")
def test_traceback(limit, interpreter):
    error = interpreter.run_code(f"raise ValueError('a' + 'x' * {2 * limit} + 'z')").error
    assert len(error.traceback) < limit * 1.1


@meets(KERNEL, "MAX_JSON_DEPTH")
def test_depth_of_json(limit, interpreter):
    code = "value = 1\nfor n in range({}): value = [value]\ndisplay({{'application/json': value}}, raw=True)"
    assert ok(interpreter.run_code(code.format(limit - 5))).results[0].json is not None
    results = ok(interpreter.run_code(code.format(limit + 5))).results
    assert not results or results[0].json is None


@meets(KERNEL, "MAX_TABLE_CELLS")
def test_cells_of_a_table(limit, interpreter):
    code = f"import pandas, numpy\npandas.DataFrame(numpy.zeros(({limit} // 10 + 1, 10)))"
    execution = ok(interpreter.run_code(code))
    assert execution.results[0].data is None and execution.results[0].html
    assert execution.logs.stderr
