"""The few calls of E2B's control plane that the tests need to look at the server from outside."""

import json
import os
import threading
import time
import urllib.request

PATIENCE = 60  # seconds until a sandbox must have been seen


def call(method, path):
    request = urllib.request.Request(
        os.environ["E2B_API_URL"].rstrip("/") + path, method=method, headers={"X-API-KEY": os.environ["E2B_API_KEY"]}
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        body = answer.read()
        return json.loads(body) if body else None


def running():
    """The ids of the sandboxes that are there now."""
    return {sandbox["sandboxID"] for sandbox in call("GET", "/v2/sandboxes")}


def kill_the_new_one(before, once):
    """Starts a thread that waits until `once()` holds and one sandbox is there that was not `before`; kills it."""

    def work():
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            new = running() - before
            if once() and len(new) == 1:
                # The code of the conversation sleeps far longer than it takes to get here.
                time.sleep(1)
                call("DELETE", f"/sandboxes/{new.pop()}")
                return
            time.sleep(0.1)

    thread = threading.Thread(target=work)
    thread.start()
    return thread
