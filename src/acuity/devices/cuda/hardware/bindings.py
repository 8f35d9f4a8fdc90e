# ruff: noqa: N802  # the names are CUDA's
"""CuPy's thin bindings of CUDA, as far as Acuity uses them: the runtime and NVRTC, and the driver.

`cupy_backends` is the part of CuPy that `cupy.cuda.runtime` and `nvrtc` come from. It is imported in 10 ms,
and all of CuPy in half a second, of which nothing else is needed here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, Final, NamedTuple, Protocol

from acuity.devices.cuda.hardware.driver import DriverError, LoadedDriver
from acuity.errors import BackendError, to_set

PACKAGE: Final = "cupy_backends"
_CUPY_FOLDER: Final = "CUPY_CACHE_DIR"
INSTALL: Final = "pip install 'acuity-vmaf[cuda]'"


class PointerAttributes(Protocol):
    """What CUDA knows of an address."""

    @property
    def type(self) -> int: ...

    @property
    def device(self) -> int: ...


class Runtime(Protocol):
    """The CUDA runtime. Addresses, streams and events are integers; failures raise CUDARuntimeError."""

    def driverGetVersion(self) -> int: ...
    def runtimeGetVersion(self) -> int: ...
    def getDeviceCount(self) -> int: ...
    def getDeviceProperties(self, device: int, /) -> Mapping[str, Any]: ...
    def setDevice(self, device: int, /) -> None: ...
    def memGetInfo(self) -> tuple[int, int]: ...
    def malloc(self, size: int, /) -> int: ...
    def free(self, address: int, /) -> None: ...
    def hostAlloc(self, size: int, flags: int, /) -> int: ...
    def freeHost(self, address: int, /) -> None: ...
    def pointerGetAttributes(self, address: int, /) -> PointerAttributes: ...
    def memcpyAsync(self, to: int, source: int, size: int, kind: int, stream: int, /) -> None: ...
    def memcpy2DAsync(
        self, to: int, pitch: int, source: int, step: int, width: int, rows: int, kind: int, stream: int, /
    ) -> None: ...
    def memsetAsync(self, address: int, value: int, size: int, stream: int, /) -> None: ...
    def streamCreateWithFlags(self, flags: int, /) -> int: ...
    def streamDestroy(self, stream: int, /) -> None: ...
    def streamWaitEvent(self, stream: int, event: int, /) -> None: ...
    def eventCreateWithFlags(self, flags: int, /) -> int: ...
    def eventDestroy(self, event: int, /) -> None: ...
    def eventRecord(self, event: int, stream: int, /) -> None: ...
    def eventSynchronize(self, event: int, /) -> None: ...
    def eventQuery(self, event: int, /) -> int: ...
    def check_status(self, status: int, /) -> None: ...


class Driver(Protocol):
    """The CUDA driver; failures raise DriverError."""

    def ctxGetCurrent(self) -> int: ...
    def ctxSetCurrent(self, context: int, /) -> None: ...
    def moduleLoadData(self, code: bytes, /) -> int: ...
    def moduleGetFunction(self, module: int, name: str, /) -> int: ...
    def launchKernel(
        self,
        function: int,
        grid_x: int,
        grid_y: int,
        grid_z: int,
        block_x: int,
        block_y: int,
        block_z: int,
        shared: int,
        stream: int,
        parameters: int,
        extra: int,
        /,
    ) -> None: ...


class Nvrtc(Protocol):
    """The run-time compiler; failures raise NVRTCError."""

    def getVersion(self) -> tuple[int, int]: ...
    def getSupportedArchs(self) -> tuple[int, ...]: ...
    def createProgram(
        self, source: str, name: str, headers: Sequence[bytes], names: Sequence[bytes], /
    ) -> int: ...
    def destroyProgram(self, program: int, /) -> None: ...
    def compileProgram(self, program: int, options: Sequence[str], /) -> None: ...
    def getProgramLog(self, program: int, /) -> str: ...
    def getCUBIN(self, program: int, /) -> bytes: ...
    def getPTX(self, program: int, /) -> bytes: ...


class Bindings(NamedTuple):
    """CUDA as CuPy shows it."""

    runtime: Runtime
    driver: Driver
    nvrtc: Callable[[], Nvrtc]  # loads the compiler, which takes a third of a second
    errors: tuple[type[Exception], ...]  # what failures of the runtime and the driver raise


def is_installed() -> bool:
    """Whether CuPy is installed; imports nothing."""
    try:
        return find_spec(PACKAGE) is not None
    except (ImportError, ValueError):  # a module of that name that was put in place by hand
        return False


def load_bindings() -> Bindings:
    """CuPy's bindings; raises BackendError if they aren't installed or can't be loaded."""
    if not is_installed():
        raise BackendError(f"CuPy is not installed: {INSTALL}, or pass ", to_set("backend", "cpu"))
    try:
        from cupy_backends.cuda.api import runtime
    except Exception as error:  # whatever a broken installation raises
        raise BackendError(
            f"CuPy can't be imported ({type(error).__name__}: {error}): install it anew, {INSTALL}, or pass ",
            to_set("backend", "cpu"),
        ) from error
    if runtime.is_hip:
        raise BackendError(
            f"the CuPy that is installed is made for AMD's ROCm: replace it, {INSTALL}, or pass ",
            to_set("backend", "cpu"),
        )
    return Bindings(runtime, LoadedDriver(), _load_nvrtc, (runtime.CUDARuntimeError, DriverError))


def _load_nvrtc() -> Nvrtc:
    from cupy_backends.cuda.libs import nvrtc

    found: Nvrtc = nvrtc
    with _folder_for_cupy():
        found.getVersion()  # looks for the library, and imports all of CuPy
    return found


@contextmanager
def _folder_for_cupy() -> Iterator[None]:
    """Lends CuPy an empty folder where it can't make its own, without which it isn't imported.

    It keeps kernels there that it compiles itself, and none of them is used here.
    """
    usual = os.environ.get(_CUPY_FOLDER)
    try:
        os.makedirs(usual or os.path.expanduser("~/.cupy/kernel_cache"), exist_ok=True)
    except OSError:  # the home directory is a file, missing or not ours
        pass
    else:
        yield
        return
    from tempfile import TemporaryDirectory  # which most homes don't need

    with TemporaryDirectory(prefix="acuity-cupy-") as folder:
        os.environ[_CUPY_FOLDER] = folder
        try:
            yield
        finally:
            os.environ.pop(_CUPY_FOLDER)
            if usual is not None:
                os.environ[_CUPY_FOLDER] = usual
