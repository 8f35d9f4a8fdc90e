"""Reproduces the held-out figures of the shipped tiny models, and compares them with those in their sidecars.

    python tools/train_tiny/check.py          # or: make check-tiny
    python tools/train_tiny/check.py --write  # puts the figures into the sidecars and the card instead

Makes, encodes and scores the held-out clips again, unless build/tiny has them. Exits with 1 if a figure is
farther from the sidecar's than TOLERANCE, which leaves room for other versions of ONNX Runtime and NumPy.
"""

from __future__ import annotations

import argparse
import sys
from typing import Final

import feature_model
import picture_model
from card import table, write_tables
from contents import HELD_OUT
from held_out import differences, judge
from measured import measure_splits, versions
from model_files import read_sidecar, write_sidecar

# By the name of a figure. Correlations of single contents, which have few clips, are compared no finer.
TOLERANCE: Final = {"plcc": 0.01, "srocc": 0.02, "rmse": 0.25}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the figures into the sidecars and the card")
    write = parser.parse_args().write
    clips = measure_splits(HELD_OUT)
    wrong = 0
    for name in (feature_model.NAME, picture_model.NAME):
        about = read_sidecar(name)
        judged = judge(name, clips, about["baselines"])
        print(f"{name}\n{table(judged)}")
        if write:
            write_sidecar(name, {**about, "held_out": {**about["held_out"], **judged}})
            write_tables(name, judged)
            continue
        for split in set(about["held_out"]) - set(judged):
            print(f"{split} was not compared: name the folder of the golden clips in ACUITY_GOLDEN")
        said = {split: figures for split, figures in about["held_out"].items() if split in judged}
        lines = differences(said, judged, TOLERANCE)
        for line in lines:
            print(f"{name} {line}")
        if lines and about["training"]["encoders"] != versions():
            print(f"these encoders are not those of the sidecar: {versions()}")
        wrong += len(lines)
    print("the figures are those of the sidecars" if not wrong else f"{wrong} figures differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
