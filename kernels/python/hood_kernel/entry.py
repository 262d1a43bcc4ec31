"""The command line of the kernel."""

import sys

USAGE = """\
usage: hood_kernel --fd N                                  N is one end of a stream socket pair
       hood_kernel --nursery --fd N --joiner FILE --settings FILE"""


def run(arguments):
    """Serve on the descriptor that `--fd` names; the return value is the exit status."""
    match arguments:
        case ["--fd", fd] if fd.isdigit():
            sys.argv[:] = [""]
            from . import main

            main(int(fd))
        case ["--nursery", "--fd", fd, "--joiner", joiner, "--settings", settings] if fd.isdigit():
            sys.argv[:] = [""]
            from .nursery import run as nurse

            nurse(int(fd), joiner, settings)
        case _:
            print(USAGE, file=sys.stderr)
            return 2
    return 0
