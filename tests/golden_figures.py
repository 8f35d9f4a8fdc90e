"""Finds and reads libvmaf's figures for real clips.

The clips are too large for this repository. Name their folder in ACUITY_GOLDEN, or put it at ../shared/golden
beside the checkout; tests that need it carry the mark needs_golden and are skipped elsewhere.
"""

from __future__ import annotations

import functools
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

_DEFAULT = Path(__file__).resolve().parents[2] / "shared" / "golden"


def _locate() -> Path | None:
    folder = Path(os.environ.get("ACUITY_GOLDEN") or _DEFAULT)
    return folder if (folder / "cases").is_dir() else None


GOLDEN: Path | None = _locate()

needs_golden = pytest.mark.skipif(
    GOLDEN is None, reason="the golden figures are not here: name their folder in ACUITY_GOLDEN"
)


@dataclass(frozen=True)
class GoldenRun:
    """One run of libvmaf over one pair of clips."""

    case: str
    name: str
    args: tuple[str, ...]  # the vmaf arguments besides input, geometry and output
    exit: int  # 0, or libvmaf refused (positive) or crashed (negative)
    frames: list[int]
    metrics: dict[str, NDArray[np.float64]]  # feature to one value per frame; libvmaf's null is infinity here
    pooled: dict[str, dict[str, float]]
    aggregate: dict[str, float]

    @property
    def models(self) -> list[str]:
        """The model specs of the run, with paths that exist."""
        specs = [value for flag, value in zip(self.args, self.args[1:], strict=False) if flag == "-m"]
        return [_located(spec) for spec in specs]


@dataclass(frozen=True)
class GoldenCase:
    """A pair of clips, and what libvmaf said about it."""

    name: str
    reference: Path
    distorted: Path
    width: int | None  # geometry is None for Y4M, which carries it
    height: int | None
    pixel_format: str | None
    bitdepth: int | None
    runs: dict[str, GoldenRun]


@functools.cache
def load_cases() -> dict[str, GoldenCase]:
    """Every case by name; empty where the figures are not here."""
    if GOLDEN is None:
        return {}
    return {path.stem: _load_case(GOLDEN, path) for path in sorted((GOLDEN / "cases").glob("*.json"))}


def _load_case(folder: Path, path: Path) -> GoldenCase:
    case = json.loads(path.read_text())
    pixel_format = case["pixel_format"]
    return GoldenCase(
        name=path.stem,
        reference=folder / "clips" / case["ref"],
        distorted=folder / "clips" / case["dis"],
        width=case["width"],
        height=case["height"],
        pixel_format=None if pixel_format is None else str(pixel_format),
        bitdepth=case["bitdepth"],
        runs={name: _load_run(path.stem, name, run) for name, run in case["runs"].items()},
    )


def _load_run(case: str, name: str, run: dict[str, Any]) -> GoldenRun:
    frames = run.get("frames") or []
    pooled = run.get("pooled") or {}
    return GoldenRun(
        case=case,
        name=name,
        args=tuple(run["args"]),
        exit=run["exit"],
        frames=list(range(frames)) if isinstance(frames, int) else list(frames),
        metrics={
            key: np.array([_figure(v) for v in values]) for key, values in run.get("metrics", {}).items()
        },
        pooled={key: {m: _figure(v) for m, v in methods.items()} for key, methods in pooled.items()},
        aggregate={key: _figure(value) for key, value in (run.get("aggregate") or {}).items()},
    )


def _located(spec: str) -> str:
    """Some of the models that libvmaf has built in are here as files."""
    if GOLDEN is None:
        return spec
    name, colon, options = spec.removeprefix("version=").partition(":")
    if spec.startswith("version=") and (file := GOLDEN / "models" / f"{name}.json").is_file():
        return f"path={file}{colon}{options}"
    return spec.replace("path=models/", f"path={GOLDEN}/models/")


def _figure(value: float | None) -> float:
    return float("inf") if value is None else float(value)
