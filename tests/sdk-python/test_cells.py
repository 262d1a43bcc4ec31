"""Cells run one after another in one Python that remembers."""

from concurrent.futures import ThreadPoolExecutor

from helpers import ok, printed, value


def test_state_is_kept(interpreter):
    ok(interpreter.run_code("x = 20\ndef double(n):\n    return 2 * n"))
    ok(interpreter.run_code("import math"))
    assert value(interpreter, "double(x) + int(math.sqrt(4))") == "42"


def test_execution_count_rises(interpreter):
    assert [interpreter.run_code("1").execution_count for _ in range(3)] == [1, 2, 3]


def test_value_of_the_last_expression_only(interpreter):
    execution = ok(interpreter.run_code("1\n2\n3"))
    assert [r.text for r in execution.results] == ["3"] and execution.results[0].is_main_result
    assert ok(interpreter.run_code("x = 5")).results == []
    assert ok(interpreter.run_code("7;")).results == []
    assert ok(interpreter.run_code("")).results == []


def test_displays_come_before_the_value(interpreter):
    execution = ok(interpreter.run_code("for i in range(3):\n    display(i)\n'last'"))
    assert [r.text for r in execution.results] == ["0", "1", "2", "last"]
    assert [r.is_main_result for r in execution.results] == [False, False, False, True]
    assert execution.text == "last"


def test_strings_lose_their_quotes(interpreter):
    assert value(interpreter, "'plain'") == "plain"


def test_long_values_are_not_cut(interpreter):
    assert value(interpreter, "list(range(5000))").count(",") == 4999


def test_top_level_await(interpreter):
    assert value(interpreter, "import asyncio\nawait asyncio.sleep(0.01, result='waited')") == "waited"
    code = "async def f(n):\n    await asyncio.sleep(0.01)\n    return n\nsum(await asyncio.gather(*(f(i) for i in range(5))))"
    assert value(interpreter, code) == "10"


def test_an_event_loop_of_its_own(interpreter):
    assert printed(interpreter.run_code("import asyncio\nasync def f():\n    print('ran')\nawait f()")) == "ran\n"


def test_magics(interpreter):
    assert "test.txt" in printed(interpreter.run_code("!touch test.txt\n!ls"))
    ok(interpreter.run_code("%cd /tmp"))
    assert value(interpreter, "import os\nos.getcwd()") == "/tmp"
    assert "per loop" in printed(interpreter.run_code("%timeit -n 10 -r 1 sum(range(10))"))
    assert printed(interpreter.run_code("%%bash\necho from bash $((6*7))")) == "from bash 42\n"
    assert value(interpreter, "out = !echo captured\nout[0]") == "captured"
    ok(interpreter.run_code("%%writefile made.py\nANSWER = 42"))
    assert interpreter.files.read("/tmp/made.py").strip() == "ANSWER = 42"


def test_future_imports_and_line_numbers(interpreter):
    ok(interpreter.run_code("from __future__ import annotations\ndef f(x: NoSuchName): pass", envs={"A": "1"}))
    error = interpreter.run_code("a = 1\n\na / 0", envs={"A": "1"}).error
    assert "line 3" in error.traceback


def test_classes_pickle_and_dataclasses_work(interpreter):
    code = (
        "import pickle, dataclasses\n@dataclasses.dataclass\nclass P:\n    x: int\npickle.loads(pickle.dumps(P(3))).x"
    )
    assert value(interpreter, code) == "3"


def test_subprocesses_and_pools(interpreter):
    assert value(interpreter, "import subprocess\nsubprocess.check_output(['echo', 'sub']).decode().strip()") == "sub"
    code = "from concurrent.futures import ProcessPoolExecutor\nwith ProcessPoolExecutor(2) as p:\n    r = list(p.map(abs, [-1, -2]))\nr"
    assert value(interpreter, code) == "[1, 2]"


def test_cells_of_one_context_queue(interpreter):
    ok(interpreter.run_code("import time\norder = []"))
    with ThreadPoolExecutor(4) as pool:
        jobs = [
            pool.submit(interpreter.run_code, f"order.append({i}); time.sleep(0.2); order.append({i})")
            for i in range(4)
        ]
        [ok(job.result()) for job in jobs]
    order = eval(value(interpreter, "order"))
    assert sorted(order) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert all(order[i] == order[i + 1] for i in range(0, 8, 2)), order


def test_it_runs_as_the_default_user_at_home(interpreter):
    assert value(interpreter, "import os, getpass\n[getpass.getuser(), os.getcwd(), os.environ['HOME']]") == (
        "['user', '/home/user', '/home/user']"
    )


def test_files_and_code_meet(interpreter):
    interpreter.files.write("in.csv", "a,b\n1,2\n3,4\n")
    ok(
        interpreter.run_code(
            "import pandas as pd\nt = pd.read_csv('in.csv')\nt.assign(c=t.a * t.b).to_csv('out.csv', index=False)"
        )
    )
    assert interpreter.files.read("/home/user/out.csv") == "a,b,c\n1,2,2\n3,4,12\n"


def test_main_libraries_are_there(interpreter):
    code = "import numpy, pandas, scipy, sklearn, matplotlib, seaborn, plotly, PIL, openpyxl, xlsxwriter, reportlab\nimport requests, bs4, sympy, statsmodels, e2b_charts\n'all'"
    assert value(interpreter, code) == "all"
