"""Graph: an ONNX model that may be run, and ways to look through the protobuf of one.

ShapeSizes counts the sizes of a graph's shapes without making them. An inference of shapes holds each one,
and the values of tensors that are computed as shapes. A few operators in a row make them very long: 24
Concats that double a shape of two sizes make one of 33 million.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

_TYPES: Final = {"float": "float32", "double": "float64"}


class Tensor(NamedTuple):
    """An input or output of a graph; None stands for a size that the file leaves open."""

    name: str
    type: str
    shape: tuple[int | None, ...] | None  # None: the file doesn't say even the rank

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)


class Graph(NamedTuple):
    """A model that passed the checks."""

    data: bytes  # the whole model, external weights included
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    opset: int
    external: dict[str, str]  # SHA-256 of files with weights, by name
    settled: bool  # every size follows from the file and the picture, so constants can be computed ahead


def nodes_of_model(model: ModelProto) -> Iterator[tuple[NodeProto, int]]:
    """All nodes of a model, those of functions and inner graphs too, with their depth."""
    for holder in (model.graph, *model.functions):
        yield from nodes_of(holder.node, 0)


def nodes_of(nodes: Iterable[NodeProto], depth: int) -> Iterator[tuple[NodeProto, int]]:
    """The nodes and those of their inner graphs, with their depth; `depth` is that of the first."""
    for node in nodes:
        yield node, depth
        for body in bodies_of(node):
            yield from nodes_of(body.node, depth + 1)


def bodies_of(node: NodeProto) -> Iterator[GraphProto]:
    """The inner graphs of a Loop, Scan or If."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def tensors_of(model: ModelProto) -> Iterator[TensorProto]:
    """All constant tensors of a model, wherever they are."""
    yield from model.graph.initializer
    for node, _ in nodes_of_model(model):
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors
        for body in bodies_of(node):
            yield from body.initializer


def constants_of(graph: GraphProto) -> dict[str, TensorProto]:
    """The constants of a graph by name."""
    found = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant" and node.output:
            for attribute in node.attribute:
                if attribute.name == "value" and attribute.HasField("t"):
                    found[node.output[0]] = attribute.t
    for value in graph.input:  # a caller may replace the default of an input
        found.pop(value.name, None)
    return found


def tensor_of(value: ValueInfoProto) -> Tensor:
    """An input, output or value of a graph as a record."""
    from onnx import TensorProto

    if not value.type.HasField("tensor_type"):
        return Tensor(value.name, str(value.type.WhichOneof("value") or "nothing"), None)
    kind = value.type.tensor_type
    shape = None
    if kind.HasField("shape"):
        shape = tuple(size.dim_value if size.dim_value > 0 else None for size in kind.shape.dim)
    try:
        type = TensorProto.DataType.Name(kind.elem_type).lower()
    except ValueError:
        type = f"type {kind.elem_type}"
    return Tensor(value.name, _TYPES.get(type, type), shape)


MAX_SIZES: Final = 1 << 20  # of all shapes

# How many axes the output of an operator may have beyond its inputs' most.
_NEW_AXES: Final = {"OneHot": 1, "ConcatFromSequence": 1, "If": 1, "Loop": 1, "Scan": 1}
_TO_A_SHAPE: Final = frozenset(("Reshape", "Expand", "ConstantOfShape", "Col2Im", "AffineGrid"))
# Beside Shape, Size, Concat, Gather and Slice: operators of whose outputs ONNX's inference knows the values.
_VALUES: Final = frozenset(("Add", "Cast", "Mul", "Squeeze", "Sub", "Unsqueeze"))


class ShapeSizes:
    """Counts the sizes of a graph's shapes; `longest` is the tensor that was one too many."""

    def __init__(self) -> None:
        self._axes: dict[str, int] = {}
        self._values: dict[str, int] = {}  # of tensors that may be computed as shapes
        self._total = 0
        self.longest: str | None = None

    def count(self, graph: GraphProto, outer: dict[str, TensorProto] | None = None, given: int = 0) -> int:
        """The most axes of the graph's outputs, if its inputs have `given` at most; ends beyond MAX_SIZES."""
        constants = {**(outer or {}), **constants_of(graph)}
        for value in graph.input:
            self._note(value.name, max(given, len(value.type.tensor_type.shape.dim)), None)
        for tensor in graph.initializer:
            self._note(tensor.name, len(tensor.dims), _whole(tensor))
        for node in graph.node:
            axes = self._most_axes(node)
            for body in bodies_of(node):
                axes = max(axes, self.count(body, constants, axes) + 1)
            values = self._most_values(node, constants)
            for name in node.output:
                self._note(name, axes, values)
            if self.longest is not None:
                break
        return max((self._axes.get(value.name, 0) for value in graph.output), default=0)

    def _note(self, name: str, axes: int, values: int | None) -> None:
        self._axes[name] = axes
        if values is not None:
            self._values[name] = values
        self._total += axes + (values or 0)
        if self._total > MAX_SIZES and self.longest is None:
            self.longest = name

    def _most_axes(self, node: NodeProto) -> int:
        axes = [self._axes.get(name, 0) for name in node.input]
        values = [self._values.get(name, 0) for name in node.input]
        listed = max((len(a.ints) or len(a.t.dims) for a in node.attribute), default=0)
        if node.op_type in ("Shape", "Size"):
            return 1
        if node.op_type in ("Gather", "GatherND"):
            return max(1, sum(axes) - 1)
        if node.op_type == "Unsqueeze":
            return sum(axes[:1]) + max(listed, *values[1:], 0, 0)
        if node.op_type in _TO_A_SHAPE:
            axes += values
        return max(*axes, listed, 0, 0) + _NEW_AXES.get(node.op_type, 0)

    def _most_values(self, node: NodeProto, constants: dict[str, TensorProto]) -> int | None:
        """How many values of the output an inference would hold; None: it knows none."""
        if node.op_type in ("Shape", "Size"):
            numbers = {attribute.name: attribute.i for attribute in node.attribute}
            return _span(self._axes.get(node.input[0], 0), numbers.get("start", 0), numbers.get("end"))
        if node.op_type == "Constant":
            tensor = constants.get(node.output[0])
            return max((len(a.ints) for a in node.attribute), default=0) if tensor is None else _whole(tensor)
        known = [self._values.get(name) for name in node.input if name]
        values = [count for count in known if count is not None]
        if not values or len(values) < len(known):
            return None
        if node.op_type == "Concat":
            return sum(values)
        if node.op_type == "Gather":
            return values[-1]
        if node.op_type == "Slice":
            ends = [_number(constants.get(name)) for name in node.input[1:3]]
            return _span(values[0], *ends) if len(ends) == 2 else values[0]
        return max(values) if node.op_type in _VALUES else None


def _whole(tensor: TensorProto) -> int | None:
    """How many values a constant has, if it may be a shape."""
    from onnx import TensorProto

    if len(tensor.dims) > 1 or tensor.data_type not in (TensorProto.INT64, TensorProto.INT32):
        return None
    return max(0, int(math.prod(tensor.dims)))


def _number(tensor: TensorProto | None) -> int | None:
    from onnx import numpy_helper

    if tensor is None or math.prod(tensor.dims) != 1:
        return None
    try:
        return int(numpy_helper.to_array(tensor).item())
    except Exception:  # a malformed constant, of which numpy_helper has several ways to complain
        return None


def _span(length: int, start: int | None, end: int | None) -> int:
    """How many of `length` values lie between two places, at most."""
    if start is None or end is None or (start < 0) != (end < 0):
        return length
    return min(length, max(0, end - start))
