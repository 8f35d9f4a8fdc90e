# ruff: noqa: N802  # the names are CUDA's
"""CUDA without a card: the functions of CuPy's bindings that Acuity uses, with CUDA's own rules.

Work in a stream is done when somebody waits for it, so what is used too early shows. Copies from memory that
is not page-locked take their bytes at once, as in CUDA. Memory is the machine's; kernels run in the emulator.
Several threads may use it: lists of memory are copied before they are looked through.
"""

from __future__ import annotations

import ctypes
import itertools
import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest

from acuity.devices.cuda.compiler.build import KernelBuilder, kernel_names, kernel_source
from acuity.devices.cuda.compiler.compile import NvrtcCompiler
from acuity.devices.cuda.compiler.kernel_cache import KernelCache
from acuity.devices.cuda.hardware import cards, probe
from acuity.devices.cuda.hardware.bindings import Bindings
from acuity.devices.cuda.hardware.card import Card
from acuity.devices.cuda.hardware.card_context import Properties
from emulated_card import launch

_CONTEXT = 0x7000  # the handle of the first card's context
_HOST_TO_CARD, _CARD_TO_HOST, _CARD_TO_CARD = 1, 2, 3
_RUNNING = threading.RLock()  # one thread does the work of all streams at a time
_ELF = b"\x7fELF"
_HANDLES = itertools.count(3)
KERNELS: dict[int, tuple[str, str]] = {}  # program and kernel by the handles of functions, of all machines


class CUDARuntimeError(RuntimeError):
    """As CuPy's."""

    def __init__(self, status: int) -> None:
        super().__init__(f"cudaError{status}: what CUDA says")
        self.status = status


class NVRTCError(RuntimeError):
    """As CuPy's."""


def _nothing() -> None:
    """What is left in a stream of work that was done."""


@dataclass
class FakeStream:
    card: int
    queue: list[Callable[[], None]] = field(default_factory=list)
    done: int = 0

    def run(self, until: int) -> None:
        with _RUNNING:
            while self.done < until:
                work, self.queue[self.done] = self.queue[self.done], _nothing
                self.done += 1
                work()


@dataclass
class FakeEvent:
    card: int
    stream: FakeStream | None = None
    position: int = 0

    @property
    def reached(self) -> bool:
        return self.stream is None or self.stream.done >= self.position

    def wait(self) -> None:
        if self.stream is not None:
            self.stream.run(self.position)


@dataclass
class Attributes:
    type: int
    device: int


class FakeCuda:
    """A machine with cards, its runtime and its driver; what goes wrong is up to the test."""

    is_hip = False

    def __init__(self, cards: int = 1, memory: int = 1 << 30, architecture: tuple[int, int] = (9, 0)) -> None:
        self.cards = cards
        self.memory = memory
        self.architecture = architecture
        self.driver_version = self.runtime_version = 13000
        self.computes = True  # otherwise kernels do nothing
        self.lost: int | None = None  # the error that everything gives from now on
        self.failures: dict[str, int] = {}  # the error of single functions, by name
        self.calls: list[str] = []  # of functions that start something
        self.blocks: dict[int, Any] = {}  # memory on cards, by address
        self.homes: dict[int, int] = {}  # the card of each
        self.locked: dict[int, Any] = {}  # page-locked memory
        self.streams: dict[int, FakeStream] = {1: FakeStream(0)}  # the default stream of the first card
        self.events: dict[int, FakeEvent] = {}
        self.modules: dict[int, tuple[int, str]] = {}  # card and program
        self.functions: dict[int, int] = {}  # the card of each kernel
        self.launches: list[tuple[str, tuple[int, ...], list[bytes]]] = []
        self.refused: set[bytes] = set()  # code that the driver doesn't load
        self._thread = threading.local()
        self.nvrtc = FakeNvrtc()

    def bindings(self) -> Bindings:
        return Bindings(self, self, lambda: self.nvrtc, (CUDARuntimeError,))

    def builder(self, folder: str, architecture: str = "sm_90") -> KernelBuilder:
        return KernelBuilder(architecture, NvrtcCompiler(lambda: self.nvrtc), KernelCache(folder))

    # ---- for the functions ------------------------------------------------------------------

    @property
    def context(self) -> int:
        """The context of the calling thread; 0: it has none."""
        return int(getattr(self._thread, "context", 0))

    @context.setter
    def context(self, context: int) -> None:
        self._thread.context = context

    @property
    def card(self) -> int:
        """The card of the calling thread."""
        assert self.context, "CUDA would start card 0 here, which nobody asked for"
        return self.context - _CONTEXT

    def check(self, function: str) -> None:
        if self.lost is not None:
            raise CUDARuntimeError(self.lost)
        if (status := self.failures.get(function)) is not None:
            raise CUDARuntimeError(status)

    def in_use(self) -> int:
        return sum(ctypes.sizeof(block) for block in self.blocks.copy().values())

    def is_locked(self, address: int) -> bool:
        return any(start <= address < start + ctypes.sizeof(b) for start, b in self.locked.copy().items())

    # ---- the runtime ------------------------------------------------------------------------

    def driverGetVersion(self) -> int:
        return self.driver_version

    def runtimeGetVersion(self) -> int:
        return self.runtime_version

    def getDeviceCount(self) -> int:
        self.check("getDeviceCount")
        if not self.cards:
            raise CUDARuntimeError(100)
        return self.cards

    def getDeviceProperties(self, device: int) -> dict[str, Any]:
        major, minor = self.architecture
        version = {"major": major, "minor": minor, "multiProcessorCount": 132}
        return {"name": f"Fake {device}".encode(), "totalGlobalMem": self.memory, **version}

    def setDevice(self, device: int) -> None:
        self.check("setDevice")
        if not 0 <= device < self.cards:
            raise CUDARuntimeError(101)
        self.calls.append(f"setDevice {device}")
        self.context = _CONTEXT + device

    def memGetInfo(self) -> tuple[int, int]:
        self.check("memGetInfo")
        assert self.card >= 0
        return self.memory - self.in_use(), self.memory

    def malloc(self, size: int) -> int:
        self.check("malloc")
        assert self.card >= 0
        if size > self.memory - self.in_use():
            raise CUDARuntimeError(2)
        room = (ctypes.c_uint8 * (size + 256))()
        address = -(-ctypes.addressof(room) // 256) * 256
        ctypes.memset(address, 0xA5, size)  # what was not written is no use to anybody
        block = (ctypes.c_uint8 * size).from_buffer(room, address - ctypes.addressof(room))
        self.blocks[address] = block
        self.homes[address] = self.card
        return address

    def free(self, address: int) -> None:
        self.check("free")
        del self.blocks[address]

    def hostAlloc(self, size: int, flags: int) -> int:
        self.check("hostAlloc")
        assert self.card >= 0
        block = (ctypes.c_uint8 * size)()
        self.locked[ctypes.addressof(block)] = block
        return ctypes.addressof(block)

    def freeHost(self, address: int) -> None:
        self.check("freeHost")
        del self.locked[address]

    def pointerGetAttributes(self, address: int) -> Attributes:
        self.check("pointerGetAttributes")
        if (start := self._block_of(address)) is not None:
            return Attributes(2, self.homes[start])
        return Attributes(1 if self.is_locked(address) else 0, self.card)

    def memcpyAsync(self, to: int, source: int, size: int, kind: int, stream: int) -> None:
        self.memcpy2DAsync(to, size, source, size, size, 1, kind, stream)

    def memcpy2DAsync(
        self, to: int, pitch: int, source: int, step: int, width: int, rows: int, kind: int, stream: int
    ) -> None:
        self.check("memcpy2DAsync")
        assert width <= pitch
        assert width <= step
        host = source if kind == _HOST_TO_CARD else to
        if kind == _CARD_TO_CARD:
            assert self._block_of(to), "no memory on the card"
        else:
            assert not self._block_of(host), "memory on the card is no memory of the machine"
        assert self._block_of(to if kind == _HOST_TO_CARD else source), "no memory on the card"

        def copy() -> None:
            for row in range(rows):
                ctypes.memmove(to + row * pitch, source + row * step, width)

        if kind == _HOST_TO_CARD and not self.is_locked(source):
            held = [ctypes.string_at(source + row * step, width) for row in range(rows)]

            def copy() -> None:
                for row, data in enumerate(held):
                    ctypes.memmove(to + row * pitch, data, width)

        self.streams[stream].queue.append(copy)

    def _block_of(self, address: int) -> int | None:
        blocks = self.blocks.copy().items()
        return next((start for start, b in blocks if start <= address < start + ctypes.sizeof(b)), None)

    def memsetAsync(self, address: int, value: int, size: int, stream: int) -> None:
        self.check("memsetAsync")
        assert self._block_of(address)
        self.streams[stream].queue.append(lambda: ctypes.memset(address, value, size) and None)

    def streamCreateWithFlags(self, flags: int) -> int:
        self.check("streamCreateWithFlags")
        assert flags == 1, "a stream that waits for the default one"
        handle = next(_HANDLES)
        self.streams[handle] = FakeStream(self.card)
        return handle

    def streamDestroy(self, stream: int) -> None:
        self.check("streamDestroy")
        gone = self.streams.pop(stream)
        gone.run(len(gone.queue))

    def streamWaitEvent(self, stream: int, event: int) -> None:
        self.check("streamWaitEvent")
        waiting = self.events[event]
        held = FakeEvent(waiting.card, waiting.stream, waiting.position)  # as it is now
        self.streams[stream].queue.append(held.wait)

    def eventCreateWithFlags(self, flags: int) -> int:
        self.check("eventCreateWithFlags")
        assert flags == 3
        handle = next(_HANDLES)
        self.events[handle] = FakeEvent(self.card)
        return handle

    def eventRecord(self, event: int, stream: int) -> None:
        self.check("eventRecord")
        found, of = self.events[event], self.streams[stream]
        assert found.card == of.card, "an event of another card"
        found.stream, found.position = of, len(of.queue)

    def eventSynchronize(self, event: int) -> None:
        self.check("eventSynchronize")
        self.events[event].wait()

    def eventQuery(self, event: int) -> int:
        if self.lost is not None:
            return self.lost
        return 0 if self.events[event].reached else 600

    def check_status(self, status: int) -> None:
        if status:
            raise CUDARuntimeError(status)

    # ---- the driver -------------------------------------------------------------------------

    def ctxGetCurrent(self) -> int:
        return self.context

    def ctxSetCurrent(self, context: int) -> None:
        self.context = context

    def moduleLoadData(self, code: bytes) -> int:
        self.check("moduleLoadData")
        if code in self.refused or not code.startswith(_ELF):
            raise CUDARuntimeError(300)
        about = json.loads(code[len(_ELF) :])
        major, minor = self.architecture
        if about["target"] != f"sm_{major}{minor}":
            raise CUDARuntimeError(209)
        handle = next(_HANDLES)
        self.modules[handle] = self.card, about["program"]
        return handle

    def moduleGetFunction(self, module: int, name: str) -> int:
        card, program = self.modules[module]
        if name not in kernel_names(program):
            raise CUDARuntimeError(500)
        handle = next(_HANDLES)
        self.functions[handle] = card
        KERNELS[handle] = program, name
        return handle

    def launchKernel(self, function: int, *given: int) -> None:
        self.check("launchKernel")
        card, (program, name) = self.functions[function], KERNELS[function]
        shape, (_, stream, parameters, _) = given[:6], given[6:]
        into = self.streams[stream]
        assert card == into.card == self.card, "a kernel, its stream and the thread are of one card"
        pointers = (ctypes.c_uint64 * count_of_parameters(program, name)).from_address(parameters)
        values = [ctypes.string_at(pointer, 8) for pointer in pointers]  # CUDA has read them when it returns
        self.launches.append((name, shape, values))
        if self.computes:
            into.queue.append(lambda: _emulate(program, name, shape, values))


def _emulate(program: str, name: str, shape: tuple[int, ...], values: list[bytes]) -> None:
    held = [ctypes.create_string_buffer(value, 8) for value in values]
    pointers = (ctypes.c_void_p * len(held))(*[ctypes.addressof(buffer) for buffer in held])
    launch(program, name, shape[:3], shape[3:], pointers)


@cache
def count_of_parameters(program: str, name: str) -> int:
    """How many parameters a kernel has, also if a macro lists them."""
    source = kernel_source(program).replace("\\\n", " ")
    found = re.search(rf"\b{name}\(([^)]*)\)", source.split('extern "C"', 1)[1])
    assert found is not None
    macro = (
        re.search(rf"^#define {found[1]} (.*)$", source, re.MULTILINE) if found[1].isidentifier() else None
    )
    return (found if macro is None else macro)[1].count(",") + 1


class FakeNvrtc:
    """Compiles nothing, but says what it would have compiled."""

    def __init__(self, supported: tuple[int, ...] = (75, 80, 90, 100, 120)) -> None:
        self.supported = supported
        self.compiled: list[str] = []  # programs, with the targets
        self.error: str | None = None
        self._programs: dict[int, tuple[str, str, list[str]]] = {}
        self._lock = threading.Lock()

    def getVersion(self) -> tuple[int, int]:
        return 13, 4

    def getSupportedArchs(self) -> tuple[int, ...]:
        return self.supported

    def createProgram(self, source: str, name: str, headers: object, names: object) -> int:
        with self._lock:
            handle = len(self._programs) + 1
            self._programs[handle] = name, source, []
        return handle

    def destroyProgram(self, program: int) -> None:
        self._programs[program] = "", "", []

    def compileProgram(self, program: int, options: Any) -> None:
        if self.error is not None:
            raise NVRTCError("NVRTC_ERROR_COMPILATION (6)")
        assert "--fmad=false" in options
        self._programs[program][2].extend(options)

    def getProgramLog(self, program: int) -> str:
        return self.error or ""

    def _target(self, program: int) -> tuple[str, str]:
        name, _, options = self._programs[program]
        (target,) = [o.removeprefix("-arch=") for o in options if o.startswith("-arch=")]
        self.compiled.append(f"{name} {target}")
        return name.partition(".")[0], target

    def getCUBIN(self, program: int) -> bytes:
        name, target = self._target(program)
        assert target.startswith("sm_")
        return _ELF + json.dumps({"program": name, "target": target}).encode()

    def getPTX(self, program: int) -> bytes:
        name, target = self._target(program)
        return f".version 9.0 .target {target} // {name}".encode()


def fake_card(cuda: FakeCuda, folder: object, number: int = 0) -> Card:
    """A card of that machine, started, whose kernels are cached in the folder."""
    found = cards.Cards(cuda.bindings, lambda _, architecture: cuda.builder(str(folder), architecture))
    card = found.open(number)
    assert card is not None
    return card


class _Ready:
    """Has the code of every kernel at once."""

    def prefetch(self, program: str, names: object) -> None:
        """Nothing is compiled."""

    def code(self, program: str, name: str) -> bytes:
        return _ELF + json.dumps({"program": program, "target": "sm_90"}).encode()


def emulated_card(cuda: FakeCuda | None = None, processors: int = 1) -> Card:
    """The card of a machine, which was not tried with a kernel."""
    properties = Properties(0, "emulated", 1 << 30, "sm_90", "13.0", processors)
    return Card((cuda or FakeCuda()).bindings(), properties, _Ready())


def fake_cards(monkeypatch: pytest.MonkeyPatch, cuda: FakeCuda) -> None:
    """Let this machine have these cards, on which every kernel runs."""
    monkeypatch.delenv(cards.MASK, raising=False)
    for name in ("is_installed", "has_traces"):
        monkeypatch.setattr(f"acuity.devices.signs.{name}", lambda: True)
    monkeypatch.setattr(cards, "CARDS", cards.Cards(cuda.bindings))
    monkeypatch.setattr(probe, "check_card", lambda card: None)
