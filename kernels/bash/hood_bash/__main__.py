"""Entry of `python3 -m hood_bash --fd N`."""

import sys

from hood_bash.entry import run

if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
