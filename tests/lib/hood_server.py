#!/usr/bin/env python3
"""Starts `hood serve` for tests, and gives them the environment that `hood env` prints and nothing else.

As a program, it runs a command with a server beside it: `HOOD_BIN=target/debug/hood HOOD_DATA_DIR=DIR hood_server.py
npm test`. The data directory must hold the built templates. Standard library only.
"""

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

READY = 60  # seconds until the server must have said that it accepts requests
STOP = 30  # seconds until it must have ended after SIGTERM


class HoodServer:
    """A server of its own on a free port; its log goes to a file that is shown when it fails to start."""

    def __init__(self, program, data_dir, options=()):
        self.program, self.data_dir = program, data_dir
        self.log = tempfile.NamedTemporaryFile(prefix="hood-server-", suffix=".log", delete=False)
        # Whoever started it may be killed; then it ends as after SIGTERM.
        command = ["setpriv", "--pdeathsig", "TERM", "--"]
        command += [program, "serve", "--data-dir", data_dir, "--listen", "127.0.0.1:0", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True, env=clean())
        self.ready = self._ready_line()

    def _ready_line(self):
        watchdog = threading.Timer(READY, self.process.kill)
        watchdog.start()
        # A new data directory's first line is its key.
        line = next((line for line in self.process.stdout if "is ready at" in line), None)
        watchdog.cancel()
        if line is None:
            self.process.kill()
            self.process.wait()
            raise RuntimeError(f"`hood serve` said no ready line within {READY} s; its log:\n{self.tail()}")
        # Whatever it says later must not fill the pipe.
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        return line.rstrip("\n")

    def env(self):
        """The variables that `eval "$(hood env)"` would set in a shell."""
        return hood_env(self.program, self.data_dir)

    def tail(self, size=4000):
        """The end of the log."""
        return Path(self.log.name).read_text(errors="replace")[-size:]

    def kill_hard(self):
        """As a crash would."""
        self.process.kill()
        self.process.wait()

    def stop(self):
        """As an administrator would; says how long it took."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP)
        except subprocess.TimeoutExpired:
            self.kill_hard()
            raise RuntimeError(f"`hood serve` did not end within {STOP} s of SIGTERM:\n{self.tail()}") from None
        finally:
            self.log.close()
        os.unlink(self.log.name)
        return time.monotonic() - began


def clean():
    """The tests' own settings must not reach `hood`: another server's address would win."""
    return {name: value for name, value in os.environ.items() if not name.startswith("E2B_")}


def hood_env(program, data_dir):
    """Reads `export NAME=value` lines as a shell does."""
    printed = subprocess.run(
        [program, "env", "--data-dir", data_dir],
        check=True,
        capture_output=True,
        text=True,
        timeout=READY,
        env=clean(),
    ).stdout
    pairs = {}
    for word in shlex.split(printed, comments=True):
        name, is_pair, value = word.partition("=")
        if is_pair:
            pairs[name] = value.rstrip(";")
    return pairs


def main():
    command = sys.argv[1:]
    program, data_dir = os.environ.get("HOOD_BIN"), os.environ.get("HOOD_DATA_DIR")
    if not command or not program or not data_dir:
        sys.exit(f"usage: HOOD_BIN=... HOOD_DATA_DIR=... {sys.argv[0]} COMMAND [ARGUMENT...]")
    server = HoodServer(program, data_dir)
    try:
        code = subprocess.run(command, env=os.environ | server.env()).returncode
    finally:
        server.stop()
    sys.exit(code)


if __name__ == "__main__":
    main()
