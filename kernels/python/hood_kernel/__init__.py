"""The Python kernel: one interpreter with state, driven by the guest over one socket.

Not an ipykernel: ZeroMQ and ipykernel start threads, and the nursery forks contexts from a
warm parent that must be single-threaded. IPython's `InteractiveShell` does the language
(magics, top-level await, display formatters, tracebacks); this package does the rest.

Reading order: `entry` (command line), `kernel` (set-up and the loop), `cell` (one
execution), `session` (what is running now and where its results go), `protocol` (frames).

May not import at its own start: pandas, numpy, matplotlib or any other heavy library. What
those need is hooked in when the user's code imports them (`libraries`).
"""


def main(fd):
    """Set up and serve: what a freshly started process does."""
    from .kernel import serve, setup

    serve(setup(), fd)
