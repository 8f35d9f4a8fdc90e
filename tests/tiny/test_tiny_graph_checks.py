"""Graphs that would run other code, without end or beyond all memory are refused before they run."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, shape_inference
from onnx.helper import make_node

from acuity.errors import AcuityError, ModelError
from acuity.tiny.graph_checks import MAX_DEPTH, MAX_TRIPS, check_graph
from acuity.tiny.load import load_tiny_model
from tiny_graphs import ConvNet, Regressor, constant, graph, save, value


def refused(model: ModelProto, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        check_graph(Path("m.onnx"), model.SerializeToString())


def features(nodes: Sequence[NodeProto], *constants: TensorProto) -> ModelProto:
    """A graph from 'x' of six features to 'y'."""
    return graph(nodes, [value("x", ["N", 6])], [value("y", ["N", 1])], constants)


def body(nodes: Sequence[NodeProto], level: str = "") -> GraphProto:
    """The body of a loop that carries 'v'; inside other bodies the names need a level behind them."""
    return helper.make_graph(
        [make_node("Identity", [f"go_in{level}"], [f"go_out{level}"]), *nodes],
        "body",
        [
            helper.make_tensor_value_info(f"i{level}", TensorProto.INT64, []),
            helper.make_tensor_value_info(f"go_in{level}", TensorProto.BOOL, []),
            value(f"v{level}", ["N", 6]),
        ],
        [helper.make_tensor_value_info(f"go_out{level}", TensorProto.BOOL, []), value(f"w{level}", ["N", 6])],
    )


def loop(trips: str, inner: GraphProto) -> list[NodeProto]:
    looped = make_node("Loop", [trips, "", "x"], ["looped"], body=inner)
    return [looped, make_node("MatMul", ["looped", "ones"], ["y"])]


ONES = constant("ones", np.ones((6, 1)))
ADD = [make_node("Add", ["v", "v"], ["w"])]


def test_a_loop_of_a_few_rounds(tmp_path: Path) -> None:
    model = features(loop("m", body(ADD)), ONES, constant("m", 3, "int64"))
    found = load_tiny_model(save(model, tmp_path / "loop.onnx")).outputs(np.ones((1, 6)))
    assert found["loop"].tolist() == [48]


def test_loops_without_a_small_number_of_rounds() -> None:
    refused(features(loop("m", body(ADD)), ONES, constant("m", 2**40, "int64")), f"{MAX_TRIPS} are the most")
    refused(features(loop("m", body(ADD)), ONES, constant("m", -1, "int64")), "a Loop of -1 rounds")
    refused(features(loop("", body(ADD)), ONES), "number of rounds is not a constant")
    computed = [
        make_node("ReduceSum", ["x"], ["s"], keepdims=0),
        make_node("Cast", ["s"], ["m"], to=TensorProto.INT64),
        *loop("m", body(ADD)),
    ]
    refused(features(computed, ONES), "number of rounds is not a constant")


def test_large_bodies() -> None:
    chain = [make_node("Add", ["v", "v"], ["a0"])]
    chain += [make_node("Add", [f"a{i}", "v"], [f"a{i + 1}"]) for i in range(300)]
    inner = body([*chain, make_node("Identity", ["a300"], ["w"])])
    refused(features(loop("m", inner), ONES, constant("m", 3, "int64")), "has a Loop of 303 nodes, and 256")


def test_deep_nesting() -> None:
    def nested(depth: int) -> list[NodeProto]:
        if not depth:
            return [make_node("Identity", ["x"], [f"o{depth}"])]
        branch = helper.make_graph(nested(depth - 1), "branch", [], [value(f"o{depth - 1}", ["N", 6])])
        return [make_node("If", ["yes"], [f"o{depth}"], then_branch=branch, else_branch=branch)]

    yes = helper.make_tensor("yes", TensorProto.BOOL, [], [True])
    deep = MAX_DEPTH + 1
    nodes = [*nested(deep), make_node("MatMul", [f"o{deep}", "ones"], ["y"])]
    refused(features(nodes, ONES, yes), f"nests graphs more than {MAX_DEPTH} deep")


def test_a_scan_over_a_long_axis() -> None:
    step = make_node("Identity", ["e"], ["f"])
    scanned = helper.make_graph([step], "scan", [value("e", [1])], [value("f", [1])])
    nodes = [
        make_node("ConstantOfShape", ["s"], ["long"]),
        make_node("Scan", ["long"], ["out"], body=scanned, num_scan_inputs=1),
        make_node("ReduceMean", ["out"], ["m"], keepdims=1),
        make_node("MatMul", ["x", "ones"], ["p"]),
        make_node("Add", ["m", "p"], ["y"]),
    ]
    refused(features(nodes, ONES, constant("s", [5000, 1], "int64")), "has a Scan of 5000 rounds, and 1024")
    check_graph(Path("m"), features(nodes, ONES, constant("s", [500, 1], "int64")).SerializeToString())


@pytest.mark.parametrize(
    ("domain", "operator", "words"),
    [
        (
            "com.microsoft",
            "Gelu",
            "custom operator 'com.microsoft.Gelu', and only those of ONNX itself",
        ),
        ("ai.onnx.ml", "LinearRegressor", "operator 'LinearRegressor' of ONNX's domain for classic machine"),
    ],
)
def test_operators_of_other_domains(domain: str, operator: str, words: str) -> None:
    model = features([make_node(operator, ["x"], ["y"], domain=domain)])
    model.opset_import.append(helper.make_opsetid(domain, 1))
    refused(model, f"has the {words}")


def test_unknown_and_random_operators() -> None:
    refused(features([make_node("Nonsense", ["x"], ["y"])]), "is no valid ONNX model: .*Nonsense")
    nodes = [make_node("RandomNormalLike", ["x"], ["r"]), make_node("MatMul", ["r", "ones"], ["y"])]
    refused(features(nodes, ONES), "has the random operator RandomNormalLike, so its scores would differ")


def test_dropout_as_in_training() -> None:
    def model(training: bool) -> ModelProto:
        dropout = make_node("Dropout", ["x", "half", "training"], ["d"])
        nodes = [dropout, make_node("MatMul", ["d", "ones"], ["y"])]
        flag = helper.make_tensor("training", TensorProto.BOOL, [], [training])
        return features(nodes, ONES, constant("half", 0.5), flag)

    check_graph(Path("m"), model(False).SerializeToString())
    refused(model(True), "has dropout as in training, which is random")


def recursive(*calls: str) -> ModelProto:
    """Functions f0, f1 …, each of which calls the ones named."""
    model = features([make_node("f0", ["x"], ["y"], domain="own")])
    for index, called in enumerate(calls):
        names = called.split()
        nodes = [
            make_node(name, [f"b{step}"], [f"b{step + 1}"], domain="own" if name[0] == "f" else "")
            for step, name in enumerate(names)
        ]
        nodes.append(make_node("Identity", [f"b{len(names)}"], ["z"]))
        imports = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
        model.functions.append(helper.make_function("own", f"f{index}", ["b0"], ["z"], nodes, imports))
    model.opset_import.append(helper.make_opsetid("own", 1))
    return model


def test_functions_that_call_themselves_or_unfold() -> None:
    refused(recursive("f0"), "has the function 'f0', which calls itself")
    refused(recursive("f1", "f0"), "which calls itself")
    chain = [f"f{i + 1}" for i in range(20)]
    refused(recursive(*chain, "Abs"), "call each other more than 8 deep")
    twelve = [" ".join([name] * 12) for name in chain[:7]]
    refused(recursive(*twelve, "Abs"), "unfold to more than 1000000")


def ending(name: str) -> list[NodeProto]:
    """Makes 'y' of a tensor and 'x'."""
    return [
        make_node("ReduceMax", [name], ["largest"], keepdims=0),
        make_node("Cast", ["largest"], ["float"], to=TensorProto.FLOAT),
        make_node("MatMul", ["x", "ones"], ["product"]),
        make_node("Add", ["product", "float"], ["y"]),
    ]


@pytest.mark.parametrize(
    ("operator", "inputs"),
    [
        ("ConstantOfShape", ["s"]),
        ("Expand", ["step", "s"]),
        ("Tile", ["ones", "s"]),
        ("Pad", ["ones", "p"]),
        ("Resize", ["ones", "", "r"]),
        ("Range", ["zero", "far", "step"]),
    ],
)
def test_tensors_beyond_all_memory(operator: str, inputs: list[str]) -> None:
    constants = [
        ONES,
        constant("s", [300000, 300000], "int64"),
        constant("p", [0, 0, 300000, 300000], "int64"),
        constant("r", [300000.0, 300000.0]),
        constant("zero", 0, "int64"),
        constant("far", 10**12, "int64"),
        constant("step", 1, "int64"),
    ]
    used = (c for c in constants if c.name in [*inputs, "ones"])
    model = features([make_node(operator, inputs, ["big"]), *ending("big")], *used)
    refused(model, r"makes the tensor 'big' of \d+ values from a 1080p picture, and 1073741824 are the most")


@pytest.mark.parametrize(
    ("first", "step"),
    [
        ([make_node("Shape", ["x"], ["s0"])], "Concat"),
        ([make_node("Constant", [], ["s0"], value_ints=[1, 2])], "Concat"),
        ([make_node("Constant", [], ["s0"], value=constant("", [[0]], "int64"))], "Gather"),
    ],
    ids=["computed shapes", "constant shapes", "axes"],
)
def test_shapes_beyond_all_memory(first: list[NodeProto], step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are refused before anything infers them, which would take the memory."""
    monkeypatch.setattr(shape_inference, "infer_shapes", lambda *_, **__: pytest.fail("shapes were inferred"))
    tower = [make_node(step, [f"s{i}", f"s{i}"], [f"s{i + 1}"], axis=0) for i in range(24)]
    model = features([*first, *tower, *ending("s24")], ONES)
    refused(model, r"makes shapes of more than 1048576 sizes, such as 's\d+'")


def test_sparse_weights() -> None:
    model = Regressor().model()
    sparse = model.graph.sparse_initializer.add()
    sparse.values.CopyFrom(constant("s", [1.0]))
    sparse.indices.CopyFrom(constant("", [0], "int64"))
    sparse.dims[:] = [1 << 60]
    refused(model, "has sparse weights")


# ---- damaged files: always one AcuityError, or a model that loads


def damaged(data: bytes, seed: int) -> bytes:
    rng = random.Random(seed)
    found = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        place = rng.randrange(len(found))
        found[place : place + rng.randint(0, 9)] = rng.randbytes(rng.randint(0, 9))
    return bytes(found)


def tried(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    try:
        model = load_tiny_model(path)
        if model.features:
            model.outputs(np.zeros((1, len(model.features))))
    except AcuityError as error:
        return type(error).__name__ if "\n" not in str(error) else "several lines"
    return "loads"


@pytest.mark.parametrize(
    "net", [Regressor(), Regressor(codec=14), ConvNet()], ids=["features", "codec", "conv"]
)
def test_truncated_files(tmp_path: Path, net: Any) -> None:
    data = net.model().SerializeToString()
    for length in range(0, len(data), max(1, len(data) // 60)):
        assert tried(tmp_path / "m.onnx", data[:length]) == "ModelError"


@pytest.mark.parametrize("net", [Regressor(hidden=3), ConvNet(kernels=2)], ids=["features", "conv"])
def test_damaged_files(tmp_path: Path, net: Any) -> None:
    data = net.model().SerializeToString()
    outcomes = {tried(tmp_path / "m.onnx", damaged(data, seed)) for seed in range(300)}
    assert outcomes <= {"ModelError", "loads"}


@pytest.mark.parametrize(("size", "count"), [(1 << 30, 1), (1 << 25, 3)])
def test_large_tensors_of_constants_alone(size: int, count: int) -> None:
    nodes = []
    for number in range(count):
        nodes += [
            make_node("ConstantOfShape", ["size"], [f"c{number}"]),
            make_node("ReduceSum", [f"c{number}"], [f"s{number}"], keepdims=0),
            make_node("Add", [f"y{number - 1}" if number else "x", f"s{number}"], [f"y{number}"]),
        ]
    nodes[-1].output[0] = "y"
    model = features(nodes, constant("size", [size], "int64"))
    refused(model, r"makes more than 67108864 values of constants alone, such as 'c\d' by ConstantOfShape")


def test_loops_in_loops_are_multiplied() -> None:
    inner = body([make_node("Add", ["v2", "v2"], ["w2"])], "2")
    middle = body([make_node("Loop", ["m", "", "v1"], ["w1"], body=inner)], "1")
    outer = body([make_node("Loop", ["m", "", "v"], ["w"], body=middle)])
    refused(features(loop("m", outer), ONES, constant("m", 1000, "int64")), "takes more than 1000000 steps")
