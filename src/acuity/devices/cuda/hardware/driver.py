# ruff: noqa: N802  # the names are CUDA's
"""The functions of NVIDIA's driver that Acuity calls itself: libcuda by way of ctypes.

CuPy has them too. It looks for the library with a package that is imported in a fifth of a second, and keeps
Python's lock while a card starts and while code is loaded.
"""

from __future__ import annotations

import ctypes
from ctypes import byref, c_char_p, c_int, c_uint, c_void_p
from functools import cached_property
from typing import Any, Final

LIBRARY: Final = "libcuda.so.1"

_NO_LIBRARY: Final = 35  # CUDA's number for a driver that is missing or too old
# The parameters of each function.
_FUNCTIONS: Final[dict[str, tuple[Any, ...]]] = {
    "cuInit": (c_uint,),
    "cuDeviceGet": (c_void_p, c_int),
    "cuDevicePrimaryCtxRetain": (c_void_p, c_int),
    "cuCtxGetCurrent": (c_void_p,),
    "cuCtxSetCurrent": (c_void_p,),
    "cuModuleLoadData": (c_void_p, c_char_p),
    "cuModuleGetFunction": (c_void_p, c_void_p, c_char_p),
    "cuLaunchKernel": (c_void_p, *[c_uint] * 7, c_void_p, c_void_p, c_void_p),
    "cuGetErrorName": (c_int, c_void_p),
    "cuGetErrorString": (c_int, c_void_p),
}
# Functions that may take long: other threads run meanwhile. The others take less time than changing threads.
_LONG: Final = frozenset({"cuInit", "cuDevicePrimaryCtxRetain", "cuModuleLoadData"})


class DriverError(RuntimeError):
    """A failure of the driver, with CUDA's number for it."""

    def __init__(self, status: int, told: str) -> None:
        super().__init__(told)
        self.status = status


class LoadedDriver:
    """The driver, whose library is loaded at the first call; failures raise DriverError."""

    def __init__(self, library: str = LIBRARY) -> None:
        self._name = library

    @cached_property
    def _functions(self) -> dict[str, Any]:
        try:
            quick, long = ctypes.PyDLL(self._name), ctypes.CDLL(self._name)
            found = {name: getattr(long if name in _LONG else quick, name) for name in _FUNCTIONS}
        except (OSError, AttributeError) as error:
            raise DriverError(_NO_LIBRARY, f"{self._name} can't be loaded: {error}") from error
        for name, parameters in _FUNCTIONS.items():
            found[name].argtypes = parameters
        return found

    def start(self, number: int) -> int:
        """Start the context of a card, which stays for the whole life of the process."""
        device, context = c_int(), c_void_p()
        self._call("cuInit", 0)
        self._call("cuDeviceGet", byref(device), number)
        self._call("cuDevicePrimaryCtxRetain", byref(context), device)
        return context.value or 0

    def ctxGetCurrent(self) -> int:
        context = c_void_p()
        self._call("cuCtxGetCurrent", byref(context))
        return context.value or 0

    def ctxSetCurrent(self, context: int, /) -> None:
        self._call("cuCtxSetCurrent", context)

    def moduleLoadData(self, code: bytes, /) -> int:
        module = c_void_p()
        self._call("cuModuleLoadData", byref(module), code)
        return module.value or 0

    def moduleGetFunction(self, module: int, name: str, /) -> int:
        function = c_void_p()
        self._call("cuModuleGetFunction", byref(function), module, name.encode())
        return function.value or 0

    def launchKernel(self, *arguments: int) -> None:
        if status := self._launch(*arguments):
            raise DriverError(status, self._told(status))

    @cached_property
    def _launch(self) -> Any:  # looked up once: it is called several times a batch
        return self._functions["cuLaunchKernel"]

    def _call(self, name: str, *arguments: Any) -> None:
        if status := self._functions[name](*arguments):
            raise DriverError(status, self._told(status))

    def _told(self, status: int) -> str:
        """CUDA's name for a failure, and its words."""
        words = []
        for name in ("cuGetErrorName", "cuGetErrorString"):
            word = c_char_p()
            if not self._functions[name](status, byref(word)) and word.value:
                words.append(word.value.decode("utf-8", "replace"))
        return ": ".join(words) or f"CUDA error {status}"
