"""Tables of rated clips, and small ONNX models that read them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from onnx import helper

from tiny_graphs import constant, graph, save, value

SIX = ("adm2", "vif_scale0", "vif_scale1", "vif_scale2", "vif_scale3", "motion2")


def keys_of(split: str) -> Iterator[str]:
    """Keys of one part of the split, by the rule as it is written down."""
    number = 0
    while True:
        key = f"clip{number}"
        found = (
            int.from_bytes(hashlib.sha256(f"vmaf-train-splits-v1:{key}".encode()).digest()[:8], "big") / 2**64
        )
        if {"test": found < 0.1, "val": 0.1 <= found < 0.2, "train": found >= 0.2}[split]:
            yield key
        number += 1


def some_keys(split: str, count: int) -> list[str]:
    found = keys_of(split)
    return [next(found) for _ in range(count)]


def columns(rows: int, *, seed: int = 1, noise: float = 5.0, names: Sequence[str] = SIX) -> dict[str, Any]:
    """Features and a rating that is mostly their sum."""
    random = np.random.default_rng(seed)
    made: dict[str, Any] = {name: random.uniform(0, 1, rows) for name in names}
    made["mos"] = 100 * sum(made.values()) / len(names) + random.normal(0, noise, rows)
    return made


def write(path: Path, table: dict[str, Any], **options: Any) -> Path:
    pq.write_table(pa.table(table), path, **options)
    return path


def linear(
    path: Path,
    weights: Sequence[float],
    bias: float = 0.0,
    *,
    input_name: str = "features",
    outputs: int = 1,
    sidecar: dict[str, Any] | None = None,
) -> Path:
    """A model that is a weighted sum, for each output the same."""
    matrix = np.repeat(np.array(weights, np.float32)[:, None], outputs, axis=1)
    model = graph(
        [helper.make_node("Gemm", [input_name, "w", "b"], ["score"])],
        [value(input_name, ["n", len(weights)])],
        [value("score", ["n", outputs])],
        [constant("w", matrix), constant("b", np.full(outputs, bias))],
    )
    return save(model, path, sidecar)
