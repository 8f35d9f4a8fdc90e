"""Graph: puts ONNX nodes and constants together into a model file."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import onnx
from numpy.typing import ArrayLike
from onnx import TensorProto, helper, numpy_helper

OPSET: Final = 17
IR_VERSION: Final = 8  # the one that came with this opset

Shape = list[int | str]


class Graph:
    """A graph under construction; every method adds a node and returns the name of its output."""

    def __init__(self, input_name: str, input_shape: Shape) -> None:
        self.input = input_name
        self._shape = input_shape
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[bytes, tuple[str, onnx.TensorProto]] = {}

    def constant(self, values: ArrayLike, dtype: type[np.generic] = np.float32) -> str:
        """A constant; equal ones are kept once."""
        array = np.asarray(values, dtype)
        key = array.tobytes() + repr((array.shape, array.dtype)).encode()
        if key not in self._constants:
            name = f"c{len(self._constants)}"
            self._constants[key] = name, numpy_helper.from_array(array, name)
        return self._constants[key][0]

    def node(self, operator: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        output = name or f"{operator.lower()}{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, list(inputs), [output], output, **attributes))
        return output

    def conv(self, source: str, weights: ArrayLike, bias: ArrayLike | None = None, **attributes: Any) -> str:
        inputs = [source, self.constant(weights)]
        return self.node("Conv", *inputs, *([] if bias is None else [self.constant(bias)]), **attributes)

    def dense(self, source: str, weights: ArrayLike, bias: ArrayLike) -> str:
        """source @ weights + bias"""
        return self.node("Gemm", source, self.constant(weights), self.constant(bias))

    def average(self, source: str) -> str:
        """(1, C, H, W) to (1, C)."""
        return self.node("Flatten", self.node("GlobalAveragePool", source))

    def log(self, source: str, floor: float) -> str:
        return self.node("Log", self.node("Add", source, self.constant(floor)))

    def clip(self, source: str, low: float, high: float, name: str | None = None) -> str:
        return self.node("Clip", source, self.constant(low), self.constant(high), name=name)

    def model(self, name: str, output: str, output_shape: Shape, about: str) -> onnx.ModelProto:
        """The finished model, checked."""
        graph = helper.make_graph(
            self._nodes,
            name,
            [helper.make_tensor_value_info(self.input, TensorProto.FLOAT, self._shape)],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, output_shape)],
            [tensor for _, tensor in self._constants.values()],
        )
        made = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="acuity tools/train_tiny",
            doc_string=about,
        )
        onnx.checker.check_model(made, full_check=True)
        return made
