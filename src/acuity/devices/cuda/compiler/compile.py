"""The compiler of kernels: NVRTC, by way of CuPy's bindings. It needs no card."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from acuity.devices.cuda.hardware.bindings import INSTALL
from acuity.devices.cuda.hardware.cuda_errors import INSTEAD
from acuity.errors import BackendError

# No fused multiply-add: it rounds once where the CPU rounds twice.
OPTIONS: Final = ("--fmad=false", "--std=c++17")
_PACKAGE_FOLDER: Final = re.compile(r"^(nvidia_cuda_nvrtc\S*)\.dist-info$", re.MULTILINE)
_PER_MAJOR: Final = 10  # sm_89 is 8.9, sm_120 is 12.0
_LONGEST_LOG: Final = 300  # characters that a sentence repeats


class NvrtcCompiler:
    """NVRTC, which is loaded when something has to be compiled; any thread may use it."""

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load
        self._identity: str | None = None

    @property
    def identity(self) -> str:
        """The compiler and its version; cached code of another one isn't used."""
        # Loading the library takes a third of a second, and the package tells its version without that.
        if self._identity is None:
            self._identity = _package_version() or "nvrtc {}.{}".format(*self._nvrtc().getVersion())
        return self._identity

    def _nvrtc(self) -> Any:
        try:
            nvrtc = self._load()
            nvrtc.getVersion()  # looks for the library
        except Exception as error:  # CuPy's, or those of the package that looks for libraries
            told = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise BackendError(
                f"NVRTC, which compiles the kernels, can't be loaded ({told}): {INSTALL}", *INSTEAD
            ) from error
        return nvrtc

    def compile(self, name: str, source: str, architecture: str) -> bytes:
        """The code for an architecture such as sm_90; raises BackendError."""
        nvrtc = self._nvrtc()
        target = target_for(architecture, nvrtc.getSupportedArchs())
        handle = nvrtc.createProgram(source, f"{name}.cu", (), ())
        try:
            nvrtc.compileProgram(handle, (*OPTIONS, f"-arch={target}"))
            code: bytes = nvrtc.getCUBIN(handle) if target.startswith("sm_") else nvrtc.getPTX(handle)
            return code
        except RuntimeError as error:
            log = " ".join(nvrtc.getProgramLog(handle).split())[:_LONGEST_LOG]
            raise BackendError(
                f"the kernel '{name}' can't be compiled for {architecture} ({log or error})", *INSTEAD
            ) from error
        finally:
            nvrtc.destroyProgram(handle)


def target_for(architecture: str, supported: Sequence[int]) -> str:
    """The architecture to compile for: the card's, or the nearest that the compiler knows.

    Code for an architecture runs on later ones of the same generation. For a later generation the driver
    compiles PTX, in which every operation is as exact as in the source.
    """
    wanted = int(architecture.removeprefix("sm_"))
    known = [entry for entry in supported if entry <= wanted]
    if not known:
        oldest = f"sm_{min(supported)}"
        raise BackendError(
            f"the card's architecture is {architecture}, and this CUDA needs {oldest} or a newer one",
            *INSTEAD,
        )
    nearest = max(known)
    same = nearest // _PER_MAJOR == wanted // _PER_MAJOR
    return f"{'sm' if same else 'compute'}_{nearest}"


def _package_version() -> str | None:
    """What the folders of installed packages say; `importlib.metadata` takes 0.1 s beside a starting card."""
    found = set()
    for folder in sys.path:
        with suppress(OSError):  # one that isn't there, or is an archive
            found.update(_PACKAGE_FOLDER.findall("\n".join(os.listdir(folder or "."))))
    return " ".join(sorted(found)) or None
