"""E6. Contexts are forks of one warm interpreter: whatever it had drawn before, all of them would draw alike.

Forks of whole sandboxes come with snapshots; this is the part that contexts have.
"""

import json
from collections import Counter

import pytest
from e2b_code_interpreter import Sandbox

FORKS = 64
BOXES = 8  # contexts of one sandbox and of several: a nursery serves all of a template
DRAW = """
import json, multiprocessing, os, random, secrets, socket, ssl, sys, tempfile, time, uuid, hashlib
import numpy
draws = {
    "random": random.random(), "random.getrandbits": random.getrandbits(64), "random.SystemRandom": random.SystemRandom().random(),
    "random.Random()": random.Random().random(),
    "numpy.random": float(numpy.random.rand()), "numpy default_rng": float(numpy.random.default_rng().random()),
    "numpy RandomState": float(numpy.random.RandomState().rand()), "numpy global state": hashlib.sha256(numpy.random.get_state()[1].tobytes()).hexdigest(),
    "uuid1": str(uuid.uuid1()), "uuid1 clock and node": str(uuid.uuid1()).split("-", 3)[3], "uuid4": str(uuid.uuid4()),
    "secrets": secrets.token_hex(16), "os.urandom": os.urandom(16).hex(), "ssl": ssl.RAND_bytes(16).hex(),
    "tempfile": os.path.basename(tempfile.mktemp()), "tempfile names": next(tempfile._get_candidate_names()),
    "authkey": bytes(multiprocessing.current_process().authkey).hex(),
}
try:
    import pandas
    draws["pandas sample"] = str(pandas.Series(range(1_000_000)).sample(4).tolist())
except ImportError:
    pass
print(json.dumps(draws))
"""


@pytest.mark.slow
def test_sixty_four_forks_share_nothing(trial, interpret):
    drawn = []
    for _ in range(BOXES):
        sandbox: Sandbox = interpret()
        for n in range(FORKS // BOXES):
            context = sandbox.create_code_context() if n else None
            said = sandbox.run_code(DRAW, context=context) if n else sandbox.run_code(DRAW)
            assert said.error is None, said.error
            drawn.append(json.loads("".join(said.logs.stdout)))
    alike = {
        name: most for name in drawn[0] if (most := Counter(str(one[name]) for one in drawn).most_common(1)[0])[1] > 1
    }
    assert alike == {}, f"of {len(drawn)} forks"
    trial.saw = f"{len(drawn)} forks, {len(drawn[0])} sources, all distinct"


def test_the_clock_is_right(interpreter, trial):
    """Within half a second of the host's, in a fork of an interpreter that may have started an hour ago."""
    import time

    said = float(interpreter.run_code("import time; time.time()").text)
    assert abs(said - time.time()) < 0.5
    trial.saw = f"{abs(said - time.time()) * 1000:.0f} ms off"


def test_forks_of_sandboxes():
    pytest.skip("sandboxes cannot be forked or restored yet: comes with snapshots, as does E7")
