"""Entry of `python3 -m hood_kernel --fd N`."""

import sys

from hood_kernel.entry import run

if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
