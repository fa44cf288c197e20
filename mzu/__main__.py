"""`python -m mzu` is the same as `mzu`."""

import sys

from mzu.commands.cli import main

if __name__ == "__main__":
    sys.exit(main())
