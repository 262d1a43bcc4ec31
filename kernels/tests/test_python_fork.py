"""Set-up apart from serving, as the nursery uses it: forks of one warm parent share nothing
that should be theirs alone."""

import json
import platform
import subprocess
import unittest

from harness import KERNELS, PYTHON, has

PARENT = """
import json, os, sys, tempfile
sys.path.insert(0, sys.argv[1])
import random, uuid, multiprocessing
if sys.argv[2] == "numpy":
    import numpy
from hood_kernel.kernel import setup
from hood_kernel.fork import after_fork

kernel = setup()
random.random(); uuid.uuid1(); uuid.getnode(); tempfile.mktemp()
assert len(os.listdir("/proc/self/task")) == 1, "the parent has threads"

def child(name, writer):
    after_fork(kernel.shell, {"NAME": name, "HOME": "/", "TZ": "Asia/Tokyo"}, "/usr")
    import time
    found = {
        "random": random.random(),
        "uuid1": str(uuid.uuid1()).split("-")[3],
        "authkey": bytes(multiprocessing.current_process().authkey).hex(),
        "tempfile": tempfile.mktemp(),
        "environment": dict(os.environ),
        "cwd": os.getcwd(),
        "zone": time.tzname[0],
        "numpy": sys.modules["numpy"].random.random() if "numpy" in sys.modules else None,
    }
    os.write(writer, json.dumps(found).encode())

found = []
for name in ("one", "two"):
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        child(name, writer)
        os._exit(0)
    os.close(writer)
    os.waitpid(pid, 0)
    found.append(json.loads(os.read(reader, 65536)))
print(json.dumps(found))
"""


WARM = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
from hood_kernel.nursery import Nursery

nursery = Nursery.__new__(Nursery)
before = set(os.listdir("/proc/self/fd"))
nursery.warm(["matplotlib.pyplot"], [sys.argv[2]])
with open("/proc/self/smaps_rollup") as file:
    huge = next(int(line.split()[1]) for line in file if line.startswith("AnonHugePages"))
pid = os.fork()
if pid == 0:
    os.closerange(3, 1000)
    # What matplotlib does in each fork, and what a cell does next.
    from matplotlib import font_manager
    font_manager._get_font.cache_clear()
    exec(sys.argv[2])
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
print(json.dumps({"files": sorted(set(os.listdir("/proc/self/fd")) - before), "huge": huge}))
"""

DRAW = """
import io
from matplotlib import pyplot
figure, axes = pyplot.subplots()
axes.set_title("warm")
figure.savefig(io.BytesIO(), format="png")
pyplot.close(figure)
"""


@unittest.skipUnless(has("IPython"), "needs IPython")
class Forks(unittest.TestCase):
    def test_two_forks_share_no_secrets(self):
        library = "numpy" if has("numpy") else "none"
        done = subprocess.run(
            [PYTHON, "-c", PARENT, str(KERNELS / "python"), library],
            capture_output=True,
            text=True,
            # OpenBLAS starts threads at import; the nursery forbids them in the same way.
            env={"OPENBLAS_NUM_THREADS": "1", "PATH": "/usr/bin:/bin", "HOME": "/"},
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        one, two = json.loads(done.stdout)
        for what in ("random", "uuid1", "authkey", "tempfile"):
            self.assertNotEqual(one[what], two[what], what)
        if library == "numpy":
            self.assertNotEqual(one["numpy"], two["numpy"])
        self.assertEqual(one["environment"], {"NAME": "one", "HOME": "/", "TZ": "Asia/Tokyo"})
        self.assertEqual((two["cwd"], two["zone"]), ("/usr", "JST"))

    @unittest.skipUnless(has("matplotlib"), "needs matplotlib")
    def test_a_warm_parent_holds_no_files_and_most_of_its_memory_in_huge_pages(self):
        done = subprocess.run(
            [PYTHON, "-c", WARM, str(KERNELS / "python"), DRAW],
            capture_output=True,
            text=True,
            env={"OPENBLAS_NUM_THREADS": "1", "PATH": "/usr/bin:/bin", "HOME": "/"},
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("Exception ignored", done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(found["files"], [])
        if tuple(map(int, platform.release().split(".")[:2])) >= (6, 1):
            self.assertGreater(found["huge"], 10 << 10, "kB")


if __name__ == "__main__":
    unittest.main()
