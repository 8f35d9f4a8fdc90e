"""Small ONNX graphs for tests, and what NumPy makes of the same numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper
from onnx.helper import make_node

OPSET = 17
TYPES = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "int64": TensorProto.INT64}
Shape = Sequence[int | str]


def value(name: str, shape: Shape | None, type: str = "float32") -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TYPES[type], shape)


def constant(name: str, values: Any, type: str = "float32") -> TensorProto:
    return numpy_helper.from_array(np.asarray(values, type), name)


def graph(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[ValueInfoProto],
    constants: Sequence[TensorProto] = (),
) -> ModelProto:
    """A model of the standard operators."""
    inner: GraphProto = helper.make_graph(list(nodes), "small", list(inputs), list(outputs), list(constants))
    return helper.make_model(inner, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)


def save(model: ModelProto, path: Path, sidecar: Mapping[str, Any] | None = None) -> Path:
    path.write_bytes(model.SerializeToString())
    if sidecar is not None:
        path.with_suffix(".json").write_text(json.dumps(sidecar))
    return path


class Regressor:
    """Two layers on features, with the codec block behind them if that has a size."""

    def __init__(self, features: int = 6, hidden: int = 8, codec: int = 0, seed: int = 1) -> None:
        random = np.random.default_rng(seed)
        self.w1 = random.normal(size=(features + codec, hidden)).astype(np.float32)
        self.b1 = random.normal(size=hidden).astype(np.float32)
        self.w2 = random.normal(size=(hidden, 1)).astype(np.float32)
        self.b2 = np.float32([70.0])
        self.features, self.codec = features, codec

    def model(
        self,
        type: str = "float32",
        batch: int | str = "N",
        codec_name: str = "codec",
        output: Shape | None = None,
    ) -> ModelProto:
        inputs = [value("features", [batch, self.features], type)]
        nodes = []
        first = "features"
        if self.codec:
            inputs.append(value(codec_name, [batch, self.codec], type))
            nodes.append(make_node("Concat", ["features", codec_name], ["all"], axis=1))
            first = "all"
        nodes += [
            make_node("Gemm", [first, "w1", "b1"], ["h"]),
            make_node("Relu", ["h"], ["r"]),
            make_node("Gemm", ["r", "w2", "b2"], ["score"]),
        ]
        constants = [constant(name, getattr(self, name), type) for name in ("w1", "b1", "w2", "b2")]
        return graph(nodes, inputs, [value("score", output or [batch, 1], type)], constants)

    def numpy(self, features: NDArray[Any], codec: NDArray[Any] | None = None) -> NDArray[np.float64]:
        """The same in double precision."""
        rows = np.asarray(features, np.float64)
        if codec is not None:
            rows = np.hstack([rows, np.broadcast_to(codec, (len(rows), len(codec)))])
        hidden = np.maximum(rows @ self.w1 + self.b1, 0)
        found: NDArray[np.float64] = (hidden @ self.w2 + self.b2)[:, 0]
        return found


class ConvNet:
    """A 3x3 convolution, ReLU, the mean over the picture, and a weighted sum of it."""

    def __init__(self, channels: int = 1, kernels: int = 4, pictures: int = 1, seed: int = 2) -> None:
        random = np.random.default_rng(seed)
        self.channels, self.pictures = channels, pictures
        self.kernel = random.normal(size=(kernels, channels * pictures, 3, 3)).astype(np.float32)
        self.bias = random.normal(size=kernels).astype(np.float32)
        self.weights = random.normal(size=(kernels, 1)).astype(np.float32)

    def model(
        self,
        names: Sequence[str] = ("picture",),
        size: Shape = ("H", "W"),
        type: str = "float32",
        batch: int | str = "N",
    ) -> ModelProto:
        inputs = [value(name, [batch, self.channels, *size], type) for name in names]
        nodes = []
        first = names[0]
        if len(names) > 1:
            nodes.append(make_node("Concat", list(names), ["all"], axis=1))
            first = "all"
        nodes += [
            make_node("Conv", [first, "kernel", "bias"], ["c"], pads=[0, 0, 0, 0]),
            make_node("Relu", ["c"], ["r"]),
            make_node("GlobalAveragePool", ["r"], ["g"]),
            make_node("Flatten", ["g"], ["f"]),
            make_node("MatMul", ["f", "weights"], ["score"]),
        ]
        constants = [constant(name, getattr(self, name), type) for name in ("kernel", "bias", "weights")]
        return graph(nodes, inputs, [value("score", [batch, 1], type)], constants)

    def numpy(self, planes: NDArray[Any]) -> float:
        """The score of channels x rows x columns, in double precision."""
        windows = np.lib.stride_tricks.sliding_window_view(planes.astype(np.float64), (3, 3), axis=(1, 2))
        found = np.einsum("cyxij,kcij->kyx", windows, self.kernel.astype(np.float64))
        hidden = np.maximum(found + self.bias[:, None, None], 0).mean(axis=(1, 2))
        return float(hidden @ self.weights[:, 0])
