"""Arrays that a program passes in: where they lie, and those in the machine's memory as numpy's."""

from __future__ import annotations

from typing import Any, Final, Protocol, cast

import numpy as np

from acuity.errors import InputError, to_set
from acuity.text import told
from acuity.video.picture import Samples

# DLPack's kinds of devices whose memory is the machine's: the CPU, and memory that is page-locked for a GPU.
_HOST: Final = frozenset({1, 3, 11})


class DlpackArray(Protocol):
    """An array of any library that speaks DLPack: PyTorch, CuPy, JAX."""

    def __dlpack__(self, *, stream: Any = None) -> Any: ...

    def __dlpack_device__(self) -> tuple[Any, int]: ...


class CudaArray(Protocol):
    """An array on a card, of any library that has Numba's interface: CuPy, Numba, PyTorch."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


Plane = Samples | DlpackArray | CudaArray


def in_memory(array: Plane) -> Samples | None:
    """The array as numpy's, without a copy; None if it lies on a device. Raises InputError."""
    if isinstance(array, np.ndarray):
        return array
    try:
        if hasattr(array, "__dlpack_device__"):
            kind, _ = array.__dlpack_device__()
            return cast("Samples", np.from_dlpack(cast("Any", array))) if int(kind) in _HOST else None
        if getattr(array, "__cuda_array_interface__", None) is not None:
            return None
    except Exception as error:  # whatever another library raises
        raise InputError(
            f"an array of type {type(array).__name__} can't be read ({told(error)}): pass a numpy array"
        ) from error
    raise InputError(
        "a picture is an array of luma samples, a tuple of such planes or a Picture, not something of type "
        f"{type(array).__name__}"
    )


def no_port() -> InputError:
    """The sentence about an array on a card, in a measurement without one."""
    return InputError(
        "the array lies on a card, and this measurement computes on the CPU: pass array.cpu().numpy() or "
        "cupy.asnumpy(array), or make the measurement with ",
        to_set("backend", "cuda"),
    )
