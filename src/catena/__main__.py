"""`python -m catena` is the program `catena`."""

import sys

from catena.cli import main

if __name__ == "__main__":
    sys.exit(main())
