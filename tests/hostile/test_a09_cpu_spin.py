"""A9. Sixty-four threads that spin: the owner must be able to look and to stop it, the neighbour must not notice."""

import time

from programs import answers, python, shell

SPIN = "for i in $(seq 64); do (while :; do :; done) & done; wait"
USAGE = "/sys/fs/cgroup/cpuacct/cpuacct.usage"


def test_the_spinning_sandbox_still_answers(sandbox, trial, who):
    spin = sandbox.commands.run(SPIN, user=who, background=True, timeout=60)
    time.sleep(2)
    began = time.monotonic()
    sandbox.files.list("/tmp")
    listed = time.monotonic() - began
    assert listed < 5
    assert sandbox.get_info().state.value == "running"
    spin.kill()
    assert answers(sandbox)
    trial.saw = f"its own listing after {listed * 1000:.0f} ms"


def test_the_quota_holds(sandbox, trial, who):
    """Two cores are the template's, however many threads ask."""
    source = f"""
for _ in range(63):
    if os.fork() == 0:
        while True: pass
read = lambda: int(open("{USAGE}").read()) if os.path.exists("{USAGE}") else \\
    int(open("/sys/fs/cgroup/cpu.stat").read().split()[1]) * 1000
before, began = read(), time.monotonic()
while time.monotonic() - began < 2: pass
print((read() - before) / 1e9 / (time.monotonic() - began), flush=True)
os.killpg(0, 9)
"""
    spent = float(shell(sandbox, f"setsid -w {python(source)}; true", who).split()[0])
    assert spent <= 2.2
    trial.saw = f"{spent:.2f} cores of 2"
