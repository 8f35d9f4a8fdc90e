"""Runs the command where it is not installed as a program: python -m acuity.cli.vmaf."""

import sys

from acuity.cli.vmaf import main

if __name__ == "__main__":
    sys.exit(main())
