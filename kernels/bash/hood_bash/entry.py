"""The command line of the kernel."""

import sys

from .kernel import serve

USAGE = "usage: hood_bash --fd N   (N is one end of a stream socket pair)"


def run(arguments):
    """Serve on the descriptor that `--fd` names; the return value is the exit status."""
    if len(arguments) != 2 or arguments[0] != "--fd" or not arguments[1].isdigit():
        print(USAGE, file=sys.stderr)
        return 2
    return serve(int(arguments[1]))
