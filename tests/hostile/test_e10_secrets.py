"""E10. Keys and tokens: whoever runs code inside looks for them first, and logs keep what they are given for years."""

import os

from programs import probe, shell

GREP = """
found = []
for folder in ("/proc", "/run", "/etc", "/tmp", "/home", "/root", "/var/lib", "/dev/shm"):
    for top, folders, names in os.walk(folder):
        if folder == "/proc":
            # One level: each process, but not its threads, descriptors and networks.
            folders[:] = [name for name in folders if name.isdigit()] if top == "/proc" else []
        for name in names:
            if folder == "/proc" and name not in ("environ", "cmdline", "maps", "comm"): continue
            try:
                with open(os.path.join(top, name), "rb") as file:
                    text = file.read(1 << 20)
            except OSError:
                continue
            if any(secret in text for secret in secrets): found.append(os.path.join(top, name))
seen["found"] = sorted(set(found))
"""


def test_neither_key_nor_token_lies_inside(create, trial, who):
    """The search's own command line holds pieces only: what is looked for must not be found in the looking."""
    sandbox = create(envs={"MARK": "visible-on-purpose"})
    secrets = [os.environ["E2B_API_KEY"], sandbox._envd_access_token]
    split = [(secret[:8], secret[8:]) for secret in secrets if secret]
    found = probe(sandbox, f"secrets = [(a + b).encode() for a, b in {split!r}]" + GREP, who, timeout=90)
    assert found["found"] == []
    # That the search finds anything at all:
    mark = probe(sandbox, 'secrets = [("visible-on" + "-purpose").encode()]' + GREP, who, timeout=90)
    assert mark["found"]
    trial.saw = f"neither; the search finds an ordinary variable in {len(mark['found'])} places"


def test_other_sandboxes_variables_do_not_show(create, trial, who):
    create(envs={"SECRET_OF": "the-other-one-4711"})
    sandbox = create()
    found = probe(sandbox, 'secrets = [("the-other" + "-one-4711").encode()]' + GREP, who, timeout=90)
    assert found["found"] == []
    trial.saw = "not found"


def test_a_contexts_parent_tells_nothing(interpreter, trial):
    """The nursery's environment and what it inherited: a fork must have the sandbox's only."""
    said = interpreter.run_code("import os; print(dict(os.environ)); print(open('/proc/self/environ', 'rb').read())")
    text = "".join(said.logs.stdout)
    for secret in (os.environ["E2B_API_KEY"], interpreter._envd_access_token, os.environ["HOOD_DATA_DIR"]):
        assert secret not in text
    trial.saw = "only the sandbox's own"


def test_the_servers_log_and_listings_keep_no_secret(api, create, trial):
    """Values of variables and tokens of a sandbox: not in its details, its log, or the server's log."""
    sandbox = create(envs={"PASSWORD": "swordfish-0815"}, metadata={"note": "plain"})
    shell(sandbox, "nonsense; env > /dev/null")
    said = [
        api.get(path).text
        for path in (f"/sandboxes/{sandbox.sandbox_id}", "/v2/sandboxes", f"/v2/sandboxes/{sandbox.sandbox_id}/logs")
    ]
    wrong = api.get("/sandboxes/nowhere", headers={"X-API-Key": "e2b_" + "0" * 40}).text
    for text in [*said, wrong]:
        assert "swordfish" not in text and os.environ["E2B_API_KEY"] not in text
    assert sandbox._envd_access_token not in said[1]
    trial.saw = "not in details, listings, logs, errors"


def test_a_neighbours_token_opens_nothing(create, trial, who):
    import httpx

    from wire import headers

    mine, other = create(), create()
    stolen = headers(other) | {"X-Access-Token": mine._envd_access_token}
    url = os.environ["E2B_SANDBOX_URL"] + "/files"
    answer = httpx.get(url, params={"path": "/etc/hostname", "username": who}, headers=stolen)
    assert answer.status_code in (401, 403)
    trial.saw = str(answer.status_code)
