"""Checks an ONNX file before ONNX Runtime sees it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

from acuity.errors import MissingExtra, ModelError

MAX_BYTES: Final = 50_000_000
_TYPES: Final = {1: "float32", 10: "float16", 11: "float64", 6: "int32", 7: "int64", 2: "uint8", 9: "bool"}


class Tensor(NamedTuple):
    """An input or output of a graph; None stands for a size that the file leaves open."""

    name: str
    type: str
    shape: tuple[int | None, ...] | None  # None: the file doesn't say even the rank


class Graph(NamedTuple):
    """A model that passed the checks."""

    data: bytes  # the whole model, external weights included
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    opset: int
    external: dict[str, str]  # SHA-256 of files with weights, by name


def check_graph(path: Path, data: bytes) -> Graph:
    """Parse and check a model; raises ModelError with one sentence, MissingExtra without onnx."""
    onnx = import_onnx()
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except Exception:
        raise ModelError(f"'{path}' is no ONNX model, or it is truncated: it cannot be parsed") from None
    given = {tensor.name for tensor in model.graph.initializer}
    return Graph(
        data,
        tuple(_tensor(value) for value in model.graph.input if value.name not in given),
        tuple(_tensor(value) for value in model.graph.output),
        max((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), default=0),
        {},
    )


def import_onnx() -> Any:
    """The module onnx; raises MissingExtra without it."""
    try:
        import onnx
    except ImportError:
        raise MissingExtra("tiny models need the extra 'tiny': pip install 'acuity[tiny]'") from None
    return onnx


def _tensor(value: Any) -> Tensor:
    kind = value.type.tensor_type
    shape = None
    if kind.HasField("shape"):
        shape = tuple(
            dim.dim_value if dim.HasField("dim_value") and dim.dim_value > 0 else None
            for dim in kind.shape.dim
        )
    return Tensor(value.name, _TYPES.get(kind.elem_type, f"type {kind.elem_type}"), shape)
