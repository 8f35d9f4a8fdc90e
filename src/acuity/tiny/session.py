"""Runs a graph with ONNX Runtime on the execution provider that was asked for, or refuses.

ONNX Runtime itself falls back to the CPU without a word where a provider is missing or doesn't start. Here a
provider that isn't in this installation, or isn't the first of the finished session, is a BackendError.

Threads. A measurement has worker threads, each with a frame of its own, and all of them use one session,
which ONNX Runtime allows. With threads=0 each call runs in the worker's own thread: every core is busy with a
frame already, and the figures are the same on machines with other numbers of cores. With threads=N the calls
share a pool of N threads, for few workers and large models.

Memory. All sessions of a process take it from one arena with a limit: half of the machine's memory, or three
quarters of what the process may have, if that is limited. A graph that asks for more fails with a sentence
and leaves the process alive.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any, Final, NamedTuple

from numpy.typing import NDArray

from acuity.errors import BackendError, MissingExtra, ModelError, to_set
from acuity.machine_memory import machine_memory, process_memory
from acuity.text import one_line, shortened
from acuity.tiny.graph import Graph
from acuity.tiny.options import NEEDS_EXTRA, TinyOptions

_CPU: Final = "CPUExecutionProvider"
_FATAL: Final = 4  # the only severity that is logged
# '[ONNXRuntimeError] : 1 : FAIL : ' and '/onnxruntime_src/…/graph.cc:1486 void onnxruntime::…(…) '.
_NOISE: Final = re.compile(
    r"\[ONNXRuntimeError\] : \d+ : [A-Z_]+ : |/onnxruntime_src/\S+:\d+ [^()]*\([^()]*\)[^:]*?(?=[A-Z\[])"
)
_LEAST_ARENA: Final = 2 << 30


class Provider(NamedTuple):
    """An execution provider of ONNX Runtime, its options, and the package that brings it."""

    name: str
    options: Mapping[str, str]
    package: str


_UNITS: Final = {"": "ALL", "-ane": "CPUAndNeuralEngine", "-gpu": "CPUAndGPU", "-cpu": "CPUOnly"}
PROVIDERS: Final[Mapping[str, Provider]] = {
    "cpu": Provider(_CPU, {}, "onnxruntime"),
    "cuda": Provider("CUDAExecutionProvider", {}, "onnxruntime-gpu"),
    **{
        f"openvino{end}": Provider("OpenVINOExecutionProvider", {"device_type": type}, "onnxruntime-openvino")
        for end, type in (("", "AUTO"), ("-npu", "NPU"), ("-cpu", "CPU"), ("-gpu", "GPU"))
    },
    **{
        f"coreml{end}": Provider("CoreMLExecutionProvider", {"MLComputeUnits": units}, "onnxruntime on macOS")
        for end, units in _UNITS.items()
    },
    "rocm": Provider("ROCMExecutionProvider", {}, "onnxruntime-rocm"),
}
# What 'auto' takes, if it is installed and starts.
_AUTOMATIC: Final = ("cuda", "rocm")


class Session:
    """A graph that is ready to run; any thread may call run()."""

    def __init__(self, label: str, graph: Graph, options: TinyOptions) -> None:
        """Raises BackendError if the provider isn't here, and ModelError if the graph can't be run."""
        self._label = label
        self._outputs = [output.name for output in graph.outputs]
        self.threads = options.threads
        self._session, self.provider = _open(label, graph, options)

    def run(self, feeds: Mapping[str, NDArray[Any]], outputs: list[str] | None = None) -> list[NDArray[Any]]:
        """The outputs, in order; raises ModelError if the graph fails on these inputs."""
        try:
            found: list[NDArray[Any]] = self._session.run(outputs or self._outputs, dict(feeds))
        except Exception as error:  # ONNX Runtime's errors have no common base
            if "bfc_arena" in str(error):
                raise ModelError(
                    f"the model '{self._label}' asks for more memory than the {arena_limit() >> 20} MB that "
                    "tiny models may take: use fewer threads, smaller pictures or a smaller model"
                ) from None
            raise ModelError(f"the model '{self._label}' failed: {reason(error)}") from None
        return found


def import_runtime() -> Any:
    """The module onnxruntime, which then reports nothing to its makers; raises MissingExtra without it."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when the library is loaded
    try:
        import onnxruntime
    except ImportError:
        raise MissingExtra(NEEDS_EXTRA) from None
    return onnxruntime


def reason(error: Exception) -> str:
    """ONNX Runtime's own words on one line, without its codes and the places in its source."""
    return shortened(_NOISE.sub("", one_line(" ".join(str(error).split()))).strip(), 300)


def _open(label: str, graph: Graph, options: TinyOptions) -> tuple[Any, str]:
    runtime = import_runtime()
    runtime.set_default_logger_severity(_FATAL)
    there = runtime.get_available_providers()
    automatic = options.device == "auto"
    for word in _AUTOMATIC if automatic else ():
        if PROVIDERS[word].name in there:
            with suppress(BackendError):  # installed without its device: 'auto' promises none
                return _start(label, graph, options, PROVIDERS[word])
    provider = PROVIDERS["cpu" if automatic else options.device]
    if provider.name not in there:
        raise BackendError(
            to_set("tiny_device", options.device),
            f" needs the {provider.name} of ONNX Runtime, and this "
            f"installation has {', '.join(there)}: install {provider.package}, or pass ",
            to_set("tiny_device", "cpu"),
        )
    return _start(label, graph, options, provider)


def _start(label: str, graph: Graph, options: TinyOptions, provider: Provider) -> tuple[Any, str]:
    runtime = import_runtime()
    settings = runtime.SessionOptions()
    settings.log_severity_level = _FATAL
    settings.intra_op_num_threads = options.threads or 1
    settings.inter_op_num_threads = 1
    settings.execution_mode = runtime.ExecutionMode.ORT_SEQUENTIAL
    # Threads that wait for work would otherwise keep a core from the measurement's workers.
    settings.add_session_config_entry("session.intra_op.allow_spinning", "0")
    settings.add_session_config_entry("session.use_env_allocators", "1")
    _make_arena(runtime)
    # Constants computed ahead lie outside the arena, so those of unknown size are computed with each frame.
    left_out = [] if graph.settled else ["ConstantFolding"]
    # The CPU takes the operators that the provider doesn't have.
    entries = {provider.name: dict(provider.options)}
    entries.setdefault(_CPU, {})
    try:
        session = runtime.InferenceSession(
            graph.data,
            settings,
            providers=list(entries.items()),
            enable_fallback=0,
            disabled_optimizers=left_out,
        )
    except Exception as error:
        if provider.name != _CPU:
            raise BackendError(
                f"the {provider.name} of ONNX Runtime did not start: {reason(error)}; pass ",
                to_set("tiny_device", "cpu"),
            ) from None
        raise ModelError(f"ONNX Runtime cannot run '{label}': {reason(error)}") from None
    if session.get_providers()[:1] != [provider.name]:
        raise BackendError(
            f"the {provider.name} of ONNX Runtime did not start, and it would have gone on with "
            f"{', '.join(session.get_providers())}: check its driver, or pass ",
            to_set("tiny_device", "cpu"),
        )
    return session, provider.name


@cache
def _make_arena(runtime: Any) -> None:
    """Give the sessions of this process an arena with a limit, once."""
    kind = runtime.OrtAllocatorType.ORT_ARENA_ALLOCATOR
    place = runtime.OrtMemoryInfo("Cpu", kind, 0, runtime.OrtMemType.DEFAULT)
    # Strategy 1: grow by what is asked for, not to the next power of two.
    limits = runtime.OrtArenaCfg({"max_mem": arena_limit(), "arena_extend_strategy": 1})
    with suppress(Exception):  # another thread, or the program that Acuity is part of, has made one already
        runtime.create_and_register_allocator(place, limits)


def arena_limit() -> int:
    """The most memory that all sessions together may take, in bytes."""
    allowed = process_memory()
    if allowed is not None:  # the rest is for pictures and the program itself
        return allowed * 3 // 4
    return max(_LEAST_ARENA, machine_memory() // 2)
