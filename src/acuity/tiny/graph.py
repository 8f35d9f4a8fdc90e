"""Graph: an ONNX model that may be run, and ways to look through the protobuf of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

_TYPES: Final = {"float": "float32", "double": "float64"}


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
    settled: bool  # every size follows from the file and the picture, so constants can be computed ahead


def nodes_of_model(model: ModelProto) -> Iterator[tuple[NodeProto, int]]:
    """All nodes of a model, those of functions and inner graphs too, with their depth."""
    yield from nodes_of(model.graph.node, 0)
    for function in model.functions:
        yield from nodes_of(function.node, 0)


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
            yield from _attribute_tensors(attribute)


def _attribute_tensors(attribute: AttributeProto) -> Iterator[TensorProto]:
    if attribute.HasField("t"):
        yield attribute.t
    yield from attribute.tensors
    for body in (*attribute.graphs, *((attribute.g,) if attribute.HasField("g") else ())):
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
