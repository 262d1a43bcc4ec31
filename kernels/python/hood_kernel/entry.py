"""The command line of the kernel."""

import sys

USAGE = "usage: hood_kernel --fd N   (N is one end of a stream socket pair)"


def run(arguments):
    """Serve on the descriptor that `--fd` names; the return value is the exit status."""
    if len(arguments) != 2 or arguments[0] != "--fd" or not arguments[1].isdigit():
        print(USAGE, file=sys.stderr)
        return 2
    sys.argv[:] = [""]
    from . import main

    main(int(arguments[1]))
    return 0
