"""E12. Many small ones instead of a large one: the node's ceilings must be those of all together."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

SMALL = {"memoryMB": 64, "cpus": 0.05, "pids": 32, "diskMB": 16}
CEILING = 256  # sandboxes on one node, by default


@pytest.mark.slow
@pytest.mark.timeout(280)
def test_many_small_ones_meet_the_nodes_ceiling(api, trial, laboratory):
    made, statuses, messages = [], Counter(), set()

    def make(_):
        return api.post("/v2/sandboxes", json={"templateID": "base", "timeout": 200, "hood": SMALL}, timeout=90)

    try:
        with ThreadPoolExecutor(8) as pool:
            for answer in pool.map(make, range(CEILING + 24)):
                statuses[answer.status_code] += 1
                if answer.status_code == 201:
                    made.append(answer.json()["sandboxID"])
                else:
                    messages.add(answer.json()["message"])
        assert len(made) <= CEILING - 1, "the neighbour of the trial is one more"
        assert statuses[201] + statuses[429] + statuses[503] == CEILING + 24, statuses
        assert any(str(CEILING) in message for message in messages), messages
    finally:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda one: api.delete(f"/sandboxes/{one}", timeout=60), made))
    trial.saw = f"{len(made)} made; then: {next(iter(messages), '')[:80]}"


@pytest.mark.parametrize("size", [{"memoryMB": 1}, {"memoryMB": 10**9}, {"cpus": 0}, {"cpus": 10**6}, {"pids": 0}, {"pids": 10**9},
                                  {"diskMB": 0}, {"diskMB": 10**12}, {"memoryMB": -1}, {"cpus": 1e308}], ids=str)  # fmt: skip
def test_sizes_beyond_the_ceilings_are_refused(api, trial, size):
    answer = api.post("/v2/sandboxes", json={"templateID": "base", "timeout": 30, "hood": size})
    assert answer.status_code == 400, answer.text
    trial.saw = answer.json()["message"][:100]


@pytest.mark.parametrize("timeout", [-1, 0, 10**6, 2**31, 2**63, 1.5, "60"], ids=str)
def test_lives_beyond_the_ceiling_are_refused(api, trial, timeout):
    answer = api.post("/v2/sandboxes", json={"templateID": "base", "timeout": timeout})
    if answer.status_code == 201:
        api.delete(f"/sandboxes/{answer.json()['sandboxID']}")
    assert answer.status_code in (400, 422) or timeout == 0, answer.text
    trial.saw = f"{answer.status_code} {answer.json().get('message', '')[:80]}"
