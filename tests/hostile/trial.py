"""One hostile program from its first sandbox to the last trace of it.

Three things are asserted around every test: its own outcome (the test says which), that the host is as before within
`BASELINE` seconds of the sandboxes' kill, and that the control plane and a neighbour were answered in time meanwhile.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

from e2b import Sandbox

from premises import GROWTH, KernelLog, Premises

BASELINE = 5.0  # seconds from the kill until nothing is left
CONTROL = 0.2  # p99 of a control call
# A neighbour's command and cell need the processor, which the program shares by right, in equal parts: the time slices of
# a process that starts (`echo`) or of a warm kernel behind a whole group of spinning threads, and not just a wake-up.
NEIGHBOUR = 1.5
LEAST = 0.5  # seconds of sampling, however fast the program is
KINDS = {"health": CONTROL, "look": CONTROL, "echo": NEIGHBOUR, "cell": NEIGHBOUR}


class Laboratory:
    """What all trials of a session share: the server's premises, the kernel's log, the prober with its neighbour."""

    def __init__(self, data_dir, server):
        self.premises = Premises(data_dir, server)
        self.kernel_log = KernelLog()
        prober = Path(__file__).with_name("prober.py")
        self.prober = subprocess.Popen([sys.executable, "-B", str(prober)], stdin=-1, stdout=-1, text=True)
        self.premises.neighbour = json.loads(self.prober.stdout.readline())["neighbour"]
        self.settle(Sandbox.default_template)

    def settle(self, template):
        """Counts once everything is in place: the template's helpers run, pools fill up, nurseries warm up."""
        Sandbox.create(template, timeout=60).kill()
        self.counts = self.premises.stable(20)

    def tell(self, word):
        self.prober.stdin.write(word + "\n")
        self.prober.stdin.flush()

    def close(self):
        self.prober.stdin.close()
        self.prober.wait(30)


class Trial:
    """`made` holds the sandboxes of this trial; `saw` is what the report says of the outcome."""

    def __init__(self, laboratory):
        self.laboratory, self.made, self.saw = laboratory, [], ""
        self.times, self.settled, self.baseline = {}, None, BASELINE
        premises = laboratory.premises
        laboratory.kernel_log.complaints()
        self.before = premises.elsewhere()
        self.memory = premises.memory()
        self.began = time.monotonic()
        laboratory.tell("go")

    def end(self):
        """Kills, looks, and raises what is not as it was; everything is looked at before anything is said."""
        wrong = list(self._unkilled())
        killed = time.monotonic()
        time.sleep(max(0.0, LEAST - (killed - self.began)))
        self.laboratory.tell("end")
        self.times = json.loads(self.laboratory.prober.stdout.readline())
        wrong += self._late()
        wrong += self._left(killed)
        assert not wrong, "\n".join(wrong)

    def _unkilled(self):
        for sandbox in self.made:
            try:
                sandbox.kill()
            except Exception as error:  # noqa: BLE001 - the others must be killed all the same
                yield f"{sandbox.sandbox_id} was not killed: {error}"

    def _late(self):
        for kind, bound in KINDS.items():
            if (took := p99(self.times[kind])) > bound:
                yield f"{kind}: p99 of {len(self.times[kind])} calls is {took * 1000:.0f} ms, not {bound * 1000:.0f}"

    def _left(self, killed):
        premises = self.laboratory.premises
        while True:
            wrong = list(self._differences(premises))
            self.settled = time.monotonic() - killed
            if not wrong or self.settled > self.baseline:
                break
            time.sleep(0.1)
        wrong = [f"{self.baseline:.0f} s after the kill: {line}" for line in wrong]
        return wrong + [f"the kernel says: {line}" for line in self.laboratory.kernel_log.complaints()]

    def _differences(self, premises):
        for name, now in premises.counts().items():
            # Less than at first is a pool that is being filled again.
            if now > self.laboratory.counts[name]:
                yield f"{now} {name}, before {self.laboratory.counts[name]}"
        after = premises.elsewhere()
        for name in after:
            if after[name] != self.before[name]:
                yield f"{name} was {self.before[name]!r} and is {after[name]!r}"
        for holder, now in premises.memory().items():
            if (growth := now - self.memory[holder]) > GROWTH[holder]:
                yield f"{growth >> 20} MiB more of memory are held ({holder})"

    def worst_control(self):
        return max((took for kind in ("health", "look") for took in self.times.get(kind, ())), default=0.0)

    def worst_neighbour(self):
        return max((took for kind in ("echo", "cell") for took in self.times.get(kind, ())), default=0.0)


def p99(samples):
    """The largest but one in a hundred."""
    return sorted(samples)[max(0, len(samples) - 1 - len(samples) // 100)] if samples else 0.0


def find_server(data_dir):
    """The pid of the server on a data directory, whoever started it."""
    return json.loads((Path(data_dir) / "server.json").read_text())["pid"]
