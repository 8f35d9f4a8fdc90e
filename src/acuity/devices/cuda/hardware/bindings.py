"""CuPy's thin bindings of CUDA: the runtime and NVRTC; with Acuity's own binding of the driver.

`cupy_backends` is the part of CuPy that `cupy.cuda.runtime` and `nvrtc` come from. It is imported in 10 ms,
and all of CuPy in half a second, of which nothing else is needed here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from acuity.devices import signs
from acuity.devices.cuda.hardware.driver import DriverError, LoadedDriver
from acuity.errors import BackendError, to_set
from acuity.records import NamedTuple

_CUPY_FOLDER: Final = "CUPY_CACHE_DIR"
INSTALL: Final = "pip install 'acuity-vmaf[cuda]'"


class Bindings(NamedTuple):
    """The modules with CUDA's functions. Addresses, streams and events are integers there."""

    runtime: Any
    driver: LoadedDriver
    nvrtc: Callable[[], Any]  # loads the compiler, which takes a third of a second
    errors: tuple[type[Exception], ...]  # what failures of the runtime and the driver raise


def load_bindings() -> Bindings:
    """CuPy's bindings; raises BackendError if they aren't installed or can't be loaded."""
    if not signs.is_installed():
        raise BackendError(f"CuPy is not installed: {INSTALL}, or pass ", to_set("backend", "cpu"))
    try:
        from cupy_backends.cuda.api import runtime
    except Exception as error:  # whatever a broken installation raises
        raise BackendError(
            f"CuPy can't be imported ({type(error).__name__}: {error}): install it anew, {INSTALL}, or pass ",
            to_set("backend", "cpu"),
        ) from error
    return Bindings(runtime, LoadedDriver(), _load_nvrtc, (runtime.CUDARuntimeError, DriverError))


def _load_nvrtc() -> Any:
    from cupy_backends.cuda.libs import nvrtc

    with _folder_for_cupy():
        nvrtc.getVersion()  # looks for the library, and imports all of CuPy
    return nvrtc


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
