"""CUDA's failures as sentences with a remedy."""

from __future__ import annotations

import resource
from typing import Final

from acuity.errors import BackendError, CardLost, CardMemoryError, Remedy, to_set

NOT_READY: Final = 600  # an event that was not reached yet, which is no failure
OUT_OF_MEMORY: Final = 2
NO_DEVICE: Final = 100
CODE_REFUSED: Final = frozenset({200, 209, 218, 221, 222, 300})  # of compiled kernels, by the driver

INSTEAD: Final[tuple[str | Remedy, ...]] = (", or pass ", to_set("backend", "cpu"))

# By CUDA's number, which the runtime and the driver share: what to do about it.
_REMEDIES: Final[dict[int, str]] = {
    3: "CUDA can't be used in a process that was forked from one that used it; start it with 'spawn'",
    35: "update NVIDIA's driver",
    46: "another process has the card for itself; end it, or choose another card",
    NO_DEVICE: "'nvidia-smi' says whether the driver sees a card",
    101: "'acuity backends' lists the cards",
    209: "update CuPy and NVRTC, which don't know this card",
    222: "update NVIDIA's driver, which is older than the compiler of the kernels",
    802: "start NVIDIA's fabric manager, which this machine's cards need",
    803: "restart the machine: the driver was updated and the old one is still loaded",
    804: "update NVIDIA's driver; the CUDA compatibility package doesn't work with this card",
}
# After these a card answers nothing in this process any more.
_LOST: Final = frozenset({4, 214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 720, 999})


def status_of(error: BaseException) -> int:
    """CUDA's number of a failure, or of the cause of an error; -1 if there is none."""
    status = getattr(error.__cause__ or error, "status", -1)
    return status if isinstance(status, int) else -1


def start_failure(error: Exception, subject: str = "CUDA") -> BackendError:
    """The sentence about a card or driver that doesn't start."""
    status = status_of(error)
    remedy = _REMEDIES.get(status, "'nvidia-smi' says whether the driver and the card answer")
    if status in (OUT_OF_MEMORY, 3, 999) and (limit := _address_limit()) is not None:
        remedy = (
            f"this process may use {in_gib(limit)} of addresses, and CUDA needs more than the card has memory"
        )
    return BackendError(f"{subject} can't start ({error}): {remedy}", *INSTEAD)


def use_failure(error: Exception, card: str) -> BackendError:
    """The sentence about a card that fails while it is used."""
    status = status_of(error)
    if status in _LOST:
        return CardLost(
            f"{card} failed while it computed ({error}), and answers no more in this process: "
            "'nvidia-smi' says whether it is well; score again",
            *INSTEAD,
        )
    remedy = _REMEDIES.get(status, "'nvidia-smi' says whether the driver and the card answer")
    return BackendError(f"{card} can't be used ({error}): {remedy}", *INSTEAD)


def memory_failure(card: str, wanted: int, free: int, needs: str = "") -> CardMemoryError:
    """The sentence about memory that the card doesn't have; `needs` says for what, if that is known."""
    needs = needs or f"{in_gib(wanted)} more are needed"
    text = (
        f"{card} has {in_gib(free)} of memory free, and {needs}: end what else uses it, choose another card"
    )
    return CardMemoryError(text, *INSTEAD, wanted=wanted, free=free)


def in_gib(size: int) -> str:
    """A number of bytes for people."""
    gib = size / (1 << 30)
    return f"{gib:.1f} GiB" if gib >= 0.1 else f"{size / (1 << 20):.1f} MiB"


def _address_limit() -> int | None:
    """How many addresses this process may use, if that is limited: CUDA reserves many."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit
