"""Tables of rated clips, and small ONNX models that read them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from onnx.helper import make_node

from acuity.tiny.evaluate.choices import split_of
from tiny_graphs import constant, graph, save, value

SIX = ("adm2", "vif_scale0", "vif_scale1", "vif_scale2", "vif_scale3", "motion2")
SUM = (100 / 6,) * 6  # weights that predict what columns() rates


def some_keys(split: str, number: int) -> list[str]:
    """Keys of one part of the split."""
    return list(islice((key for n in count() if split_of(key := f"clip{n}") == split), number))


def columns(rows: int, *, noise: float = 5.0, names: Sequence[str] = SIX) -> dict[str, Any]:
    """Features and a rating that is mostly their sum."""
    random = np.random.default_rng(1)
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
        [make_node("Gemm", [input_name, "w", "b"], ["score"])],
        [value(input_name, ["n", len(weights)])],
        [value("score", ["n", outputs])],
        [constant("w", matrix), constant("b", np.full(outputs, bias))],
    )
    return save(model, path, sidecar)
