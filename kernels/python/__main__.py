"""Entry of `python3 <this folder> --fd N`.

Running the folder makes it `sys.path[0]`, so that neither PYTHONPATH (which every child of
the user's code would inherit) nor a `json.py` in the working directory has a say in what
the kernel imports while it starts.
"""

import sys

from hood_kernel.entry import run

if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
