"""Checks an ONNX file before ONNX Runtime sees it.

A model file may come from anyone, and a graph is a program. These are refused, each with its own sentence:

    what is no ONNX model, is truncated, or doesn't pass ONNX's own checker
    more than 50 MB, weights in other files included (files.py)
    operators of other domains than ONNX's own, which need libraries beside the file
    random operators: the same pictures would have another score each time
    loops whose number of rounds isn't a constant of at most 1024, bodies that are large, deep nesting,
    functions that call themselves, and more steps than a million in all
    shapes of more than 2^20 sizes in all, those that the graph computes included (graph.py)
    tensors of more than 2^30 values, as far as shapes follow from the file for a 1080p picture
    more than 2^26 values in tensors that operators make of constants alone, whatever the picture

Sizes that only show while it runs are bounded by the session's memory (session.py).
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from acuity.errors import MissingExtra, ModelError
from acuity.text import one_line, quoted, shortened
from acuity.tiny.files import take_in
from acuity.tiny.graph import (
    MAX_SIZES,
    Graph,
    ShapeSizes,
    bodies_of,
    constants_of,
    nodes_of,
    nodes_of_model,
    tensor_of,
    tensors_of,
)
from acuity.tiny.options import NEEDS_EXTRA

if TYPE_CHECKING:
    from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

MAX_TRIPS: Final = 1024  # rounds of a loop
MAX_BODY: Final = 256  # nodes in it
MAX_DEPTH: Final = 8  # of graphs in graphs, and of functions that call functions
MAX_STEPS: Final = 1_000_000  # nodes, each as often as it runs
MAX_VALUES: Final = 1 << 30  # of a tensor
MAX_MADE: Final = 1 << 26  # of all tensors that are made of constants alone: 256 MiB of float32

_OWN: Final = ("", "ai.onnx")  # ONNX's domain of operators, under both its names
_ML: Final = "ai.onnx.ml"  # trees, support vectors and so on, as scikit-learn's converters write
_RANDOM: Final = frozenset(
    ("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli")
)
# Operators whose output may be larger than everything they read.
_GROWING: Final = frozenset(
    {
        *("ConstantOfShape", "Expand", "Tile", "Range", "Resize", "Upsample", "Pad", "OneHot"),
        *("ConvTranspose", "MaxUnpool", "EyeLike", "Col2Im", "CenterCropPad"),
    }
)
_USUAL_SIZE: Final = (1080, 1920)  # rows and columns that stand for any


def check_graph(path: Path, data: bytes) -> Graph:
    """Parse and check a model; raises ModelError with one sentence, MissingExtra without onnx."""
    if importlib.util.find_spec("onnx") is None:
        raise MissingExtra(NEEDS_EXTRA)
    checks = _Checks(str(path))
    model = checks.parse(data)
    checks.operators(model)
    external = take_in(path, len(data), list(tensors_of(model)))
    if model.functions:
        from onnx import inliner

        checks.functions(model)
        model = inliner.inline_local_functions(model)
        data = model.SerializeToString()
    elif external:
        data = model.SerializeToString()
    checks.validity(model)
    checks.steps(model)
    settled = checks.sizes(model)
    given = {tensor.name for tensor in model.graph.initializer}
    return Graph(
        data,
        tuple(tensor_of(value) for value in model.graph.input if value.name not in given),
        tuple(tensor_of(value) for value in model.graph.output),
        max(entry.version for entry in model.opset_import if entry.domain in _OWN),
        external,
        settled,
    )


class _Checks:
    """The checks of one file."""

    def __init__(self, file: str) -> None:
        self._file = file

    def fail(self, problem: str) -> ModelError:
        return ModelError(f"the tiny model {self._file!r} {problem}")

    def parse(self, data: bytes) -> ModelProto:
        """The model, if it is one at all."""
        from onnx import ModelProto

        model = ModelProto()
        try:
            model.ParseFromString(data)
        except Exception:  # protobuf's DecodeError, and what its three implementations raise beside it
            raise self.fail("is no ONNX model, or a truncated one: it cannot be parsed") from None
        if not model.HasField("graph") or not model.graph.node or not model.ir_version:
            raise self.fail("is no ONNX model, or a truncated one: it has no graph")
        if not any(entry.domain in _OWN for entry in model.opset_import):
            raise self.fail("does not say its opset, or is truncated")
        return model

    def operators(self, model: ModelProto) -> None:
        """Refuse operators of other domains, random ones, and graphs that are nested too deeply."""
        own = {(function.domain, function.name) for function in model.functions}
        for node, depth in nodes_of_model(model):
            if depth > MAX_DEPTH:
                raise self.fail(f"nests graphs more than {MAX_DEPTH} deep, which no model needs")
            if node.domain not in _OWN and (node.domain, node.op_type) not in own:
                if node.domain == _ML:
                    raise self.fail(
                        f"has the operator {quoted(node.op_type)} of ONNX's domain for classic machine "
                        f"learning ({_ML}), which is not run here: export it with those of ai.onnx alone"
                    )
                raise self.fail(
                    f"has the custom operator {quoted(f'{node.domain}.{node.op_type}')}, and only those of "
                    "ONNX itself are run: export it with standard operators"
                )
            if node.domain in _OWN and node.op_type in _RANDOM:
                raise self.fail(
                    f"has the random operator {node.op_type}, so its scores would differ each time: "
                    "export it for inference"
                )
            if any(a.HasField("sparse_tensor") or a.sparse_tensors for a in node.attribute):
                raise self.fail("has sparse constants, which are not supported: export them as dense ones")
        if model.graph.sparse_initializer:
            raise self.fail("has sparse weights, which are not supported: export them as dense ones")

    def functions(self, model: ModelProto) -> None:
        """Refuse functions that call themselves or make a graph beyond all bounds."""
        table: dict[tuple[str, str], FunctionProto] = {
            (function.domain, function.name): function for function in model.functions
        }
        if len(table) < len(model.functions):
            raise self.fail("defines a function twice")
        sizes: dict[tuple[str, str], int] = {}

        def size(key: tuple[str, str], callers: tuple[tuple[str, str], ...]) -> int:
            if key in callers:
                raise self.fail(f"has the function {quoted(key[1])}, which calls itself")
            if len(callers) > MAX_DEPTH:
                raise self.fail(f"has functions that call each other more than {MAX_DEPTH} deep")
            if key not in sizes:
                inner = [node for node, _ in nodes_of(table[key].node, 0)]
                sizes[key] = count(inner, (*callers, key))
            return sizes[key]

        def count(nodes: Iterable[NodeProto], callers: tuple[tuple[str, str], ...]) -> int:
            total = 0
            for node in nodes:
                key = node.domain, node.op_type
                total += size(key, callers) if key in table else 1
                if total > MAX_STEPS:
                    raise self.fail(f"has functions that unfold to more than {MAX_STEPS} nodes")
            return total

        count((node for node, _ in nodes_of(model.graph.node, 0)), ())
        for key in table:  # also those that nothing calls
            size(key, ())

    def validity(self, model: ModelProto) -> None:
        """Refuse what ONNX's own checker refuses."""
        from onnx import checker

        try:
            checker.check_model(model)
        except Exception as error:  # of several kinds, without a common base
            text = shortened(one_line(" ".join(str(error).split("\n\n==>")[0].split())), 240)
            raise self.fail(f"is no valid ONNX model: {text}") from None

    def steps(self, model: ModelProto) -> None:
        """Refuse loops without a small, constant number of rounds, and too many steps in all."""
        if self._steps(model.graph, {}) > MAX_STEPS:
            raise self.fail(f"takes more than {MAX_STEPS} steps a frame, which is the most")

    def _steps(self, graph: GraphProto, outer: dict[str, TensorProto]) -> int:
        """How many nodes run for one frame."""
        constants = {**outer, **constants_of(graph)}
        total = 0
        for node in graph.node:
            total += 1
            bodies = list(bodies_of(node))
            if node.op_type == "Dropout" and len(node.input) > 2 and node.input[2]:
                self._check_dropout(constants.get(node.input[2]))
            if node.op_type in ("Loop", "Scan"):
                (body,) = bodies or (None,)
                size = 0 if body is None else sum(1 for _ in nodes_of(body.node, 0))
                if body is None or size > MAX_BODY:
                    raise self.fail(f"has a {node.op_type} of {size} nodes, and {MAX_BODY} are the most")
                rounds = self._rounds(node, constants) if node.op_type == "Loop" else MAX_TRIPS
                total += rounds * self._steps(body, constants)
            else:
                total += sum(self._steps(body, constants) for body in bodies)
            if total > MAX_STEPS:
                break
        return total

    def _check_dropout(self, training: TensorProto | None) -> None:
        """Refuse dropout as in training, which is random."""
        from onnx import numpy_helper

        if training is None or numpy_helper.to_array(training).any():
            raise self.fail("has dropout as in training, which is random: export it for inference")

    def _rounds(self, node: NodeProto, constants: dict[str, TensorProto]) -> int:
        """The constant number of rounds of a Loop."""
        from onnx import numpy_helper

        limit = node.input[0] if node.input else ""
        if limit not in constants:
            raise self.fail(
                f"has a Loop whose number of rounds is not a constant: export it with at most "
                f"{MAX_TRIPS} rounds"
            )
        try:
            rounds = int(numpy_helper.to_array(constants[limit]).reshape(-1)[0])
        except Exception:  # a malformed constant, of which numpy_helper has several ways to complain
            raise self.fail(f"has a Loop with a malformed number of rounds, {quoted(limit)}") from None
        if not 0 <= rounds <= MAX_TRIPS:
            raise self.fail(f"has a Loop of {rounds} rounds, and {MAX_TRIPS} are the most")
        return rounds

    def sizes(self, model: ModelProto) -> bool:
        """Refuse tensors that would be huge; returns whether the sizes of all that may grow are known."""
        from onnx import ModelProto, shape_inference

        for tensor in tensors_of(model):
            self._check_size(tensor.name, tensor.dims)
        counted = ShapeSizes()
        counted.count(model.graph)
        if counted.longest is not None:
            raise self.fail(
                f"makes shapes of more than {MAX_SIZES} sizes, such as {quoted(counted.longest)}, and that "
                "is the most: export it with shapes that are constants"
            )
        concrete = ModelProto()
        concrete.CopyFrom(model)
        for value in concrete.graph.input:
            _settle(value)
        del concrete.graph.value_info[:]  # what the file claims is not believed
        for value in concrete.graph.output:
            value.type.tensor_type.ClearField("shape")
        try:
            inferred = shape_inference.infer_shapes(concrete, data_prop=True)
        except Exception as error:  # as above
            text = shortened(one_line(" ".join(str(error).split())), 240)
            raise self.fail(f"has shapes that contradict each other: {text}") from None
        known: dict[str, tuple[int | None, ...]] = {}
        for value in (*inferred.graph.value_info, *inferred.graph.output, *inferred.graph.input):
            shape = tensor_of(value).shape
            if shape is not None:
                known[value.name] = shape
                self._check_size(value.name, [size or 1 for size in shape])
        self._check_made(inferred.graph, known)
        settled = True
        for node in inferred.graph.node:
            if node.op_type == "Scan":
                self._check_scan(node, known)
            if node.op_type in _GROWING or any(bodies_of(node)):
                settled &= all(None not in known.get(name, (None,)) for name in node.output if name)
        return settled

    def _check_made(self, graph: GraphProto, known: dict[str, tuple[int | None, ...]]) -> None:
        """Refuse large tensors that don't depend on the picture, which a file asks for in few bytes."""
        inputs = {value.name for value in graph.input}
        constant = {"", *(tensor.name for tensor in graph.initializer)} - inputs
        total = 0
        for node in graph.node:  # in the order they run: the checker saw to that
            if any(bodies_of(node)) or not constant.issuperset(node.input):
                continue
            constant.update(node.output)
            if node.op_type == "Constant":  # is in the file, and counted there
                continue
            total += sum(math.prod(size or 1 for size in known.get(name, ())) for name in node.output)
            if total > MAX_MADE:
                raise self.fail(
                    f"makes more than {MAX_MADE} values of constants alone, such as {quoted(node.output[0])} "
                    f"by {node.op_type}, and that is the most"
                )

    def _check_size(self, name: str, sizes: Iterable[int]) -> None:
        total = 1
        for size in sizes:
            if size < 0:
                raise self.fail(f"has the tensor {quoted(name)} with the size {size}")
            total *= size
        if total > MAX_VALUES:
            raise self.fail(
                f"makes the tensor {quoted(name)} of {total} values from a 1080p picture, and "
                f"{MAX_VALUES} are the most"
            )

    def _check_scan(self, node: NodeProto, known: dict[str, tuple[int | None, ...]]) -> None:
        """Refuse a Scan over an axis that is long or of unknown length."""
        settings = {attribute.name: attribute for attribute in node.attribute}
        count = settings["num_scan_inputs"].i if "num_scan_inputs" in settings else 0
        axes = list(settings["scan_input_axes"].ints) if "scan_input_axes" in settings else [0] * count
        for name, axis in zip(list(node.input)[-count:] if count > 0 else [], axes, strict=False):
            shape = known.get(name, ())
            rounds = shape[axis] if -len(shape) <= axis < len(shape) else None
            if rounds is None or rounds > MAX_TRIPS:
                shown = "an unknown number of" if rounds is None else rounds
                raise self.fail(f"has a Scan of {shown} rounds, and {MAX_TRIPS} are the most")


def _settle(value: ValueInfoProto) -> None:
    """Give the open sizes of an input those of one usual picture."""
    sizes = value.type.tensor_type.shape.dim
    usual = (1, 1, *_USUAL_SIZE) if len(sizes) == 4 else (1,) * len(sizes)
    for size, number in zip(sizes, usual, strict=True):
        if not size.HasField("dim_value") or size.dim_value <= 0:
            size.dim_value = number
