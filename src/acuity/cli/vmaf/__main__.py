"""Runs the command where it is not installed as a program: python -m acuity.cli.vmaf."""

import sys

from acuity.cli.start import vmaf

if __name__ == "__main__":
    sys.exit(vmaf())
