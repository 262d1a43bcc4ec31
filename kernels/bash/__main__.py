"""Entry of `python3 <this folder> --fd N`; see the Python kernel's for why a folder."""

import sys

from hood_bash.entry import run

if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
