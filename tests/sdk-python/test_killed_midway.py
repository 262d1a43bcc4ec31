"""A sandbox that ends under a running call: the call ends too, at once, and says so."""

import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from e2b import Sandbox, SandboxNotRunningException, TimeoutException
from helpers import Stopwatch, until


def kill_soon(sandbox, seconds=1.0):
    timer = threading.Timer(seconds, lambda: Sandbox.kill(sandbox.sandbox_id))
    timer.start()
    return timer


def test_command(sandbox):
    kill_soon(sandbox)
    with pytest.raises(SandboxNotRunningException) as caught, Stopwatch() as took:
        sandbox.commands.run("sleep 60")
    assert "killed or reached its end of life" in str(caught.value)
    assert took.seconds < 5


def test_command_that_talks(sandbox):
    kill_soon(sandbox)
    with pytest.raises(SandboxNotRunningException) as caught:
        sandbox.commands.run("while true; do echo on and on; done", retain_output=False)
    assert "killed or reached its end of life" in str(caught.value)


def test_command_at_the_deadline(create):
    sandbox = create(timeout=2)
    with pytest.raises(SandboxNotRunningException) as caught, Stopwatch() as took:
        sandbox.commands.run("sleep 60")
    assert "killed or reached its end of life" in str(caught.value)
    assert took.seconds < 5


@pytest.mark.parametrize(
    "code",
    ["import time\nprint('partial', flush=True)\ntime.sleep(60)", "while True:\n    print('x' * 1000)"],
    ids=["quiet", "loud"],
)
def test_cell(interpreter, code):
    kill_soon(interpreter)
    with pytest.raises(TimeoutException) as caught, Stopwatch() as took:
        interpreter.run_code(code)
    assert "sandbox was killed while the request was in progress" in str(caught.value)
    assert took.seconds < 5


def test_cell_at_the_deadline(interpret):
    interpreter = interpret(timeout=3)
    with pytest.raises(TimeoutException) as caught:
        interpreter.run_code("import time\ntime.sleep(60)")
    assert "sandbox was killed while the request was in progress" in str(caught.value)


def test_cell_in_a_dead_sandbox(interpreter):
    interpreter.kill()
    with pytest.raises(TimeoutException) as caught:
        interpreter.run_code("1")
    assert "was not found" in str(caught.value)


def test_background_handle(sandbox):
    handle = sandbox.commands.run("sleep 60", background=True)
    Sandbox.kill(sandbox.sandbox_id)
    with pytest.raises(SandboxNotRunningException):
        handle.wait()


def test_upload(sandbox):
    def endless():
        while True:
            yield b"x" * 65536

    kill_soon(sandbox, 0.5)
    with pytest.raises(Exception), Stopwatch() as took:
        sandbox.files.write("endless", endless(), use_octet_stream=True)
    assert took.seconds < 10


def test_download_is_cut_and_not_short(sandbox):
    sandbox.commands.run("head -c 200000000 /dev/zero > big")
    with pytest.raises(Exception):
        with sandbox.files.read("big", format="stream") as stream:
            next(stream)
            Sandbox.kill(sandbox.sandbox_id)
            for _ in stream:
                pass


def test_a_port_of_the_user(sandbox, data_url):
    code = "import http.server, time\nclass H(http.server.BaseHTTPRequestHandler):\n    def do_GET(self):\n        self.send_response(200); self.end_headers(); self.wfile.write(b'start'); self.wfile.flush(); time.sleep(60)\nhttp.server.HTTPServer(('127.0.0.1', 8001), H).serve_forever()"
    sandbox.files.write("slow.py", code)
    sandbox.commands.run("python3 slow.py", background=True, timeout=0)
    route = {"E2b-Sandbox-Id": sandbox.sandbox_id, "E2b-Sandbox-Port": "8001"}

    def fetch():
        with httpx.stream("GET", data_url, headers=route, timeout=30) as answer:
            if answer.status_code != 200:
                return None
            for _ in answer.iter_raw():
                kill_soon(sandbox, 0)
        return "ended cleanly"

    with pytest.raises(httpx.TransportError):
        assert until(fetch, 10) != "ended cleanly"


def test_many_at_once(create):
    boxes = [create() for _ in range(5)]

    def run_one(box):
        with pytest.raises(SandboxNotRunningException):
            box.commands.run("sleep 60")
        return True

    with ThreadPoolExecutor(5) as pool:
        jobs = [pool.submit(run_one, box) for box in boxes]
        for box in boxes:
            kill_soon(box, 0.5)
        assert all(job.result(timeout=15) for job in jobs)


def test_kill_from_two_sides(sandbox):
    with ThreadPoolExecutor(4) as pool:
        said = list(pool.map(lambda _: Sandbox.kill(sandbox.sandbox_id), range(4)))
    assert said.count(True) >= 1
    assert not sandbox.is_running()
