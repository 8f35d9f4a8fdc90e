"""The devices that compute extractors, and the choice among them.

Every device and instruction set gives the same digits; they differ in speed only. The modules of cards are
imported where a card may be used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, Final

from acuity.devices import signs
from acuity.devices.cpu import CpuDevice, available_threads, usable_instruction_sets
from acuity.devices.device import WORKER_VARIABLE, Backend, Device, Signs, device_for
from acuity.errors import BackendError, to_omit, to_set
from acuity.records import NamedTuple
from acuity.text import quoted

__all__ = [
    "AUTO", "BACKENDS", "DECODERS", "WORKER_VARIABLE", "Backend", "Decoding", "Device", "Opened", "Signs",
    "are_spent", "available_threads", "chosen_card", "describe_backend", "describe_engine", "device_for",
    "list_backends", "look_for", "open_backend", "open_decoder", "open_devices", "start_backend",
    "usable_instruction_sets",
]  # fmt: skip

if TYPE_CHECKING:
    from acuity.video.readers.reader import BaseReader

AUTO: Final = "auto"
DEVICES: Final = ("cpu", "cuda")
# All backends by name, also those of other VMAF tools that this version lacks.
BACKENDS: Final = (*DEVICES, "sycl", "hip", "metal")
# What decodes containers: FFmpeg's decoders, or NVIDIA's on the card that computes.
DECODERS: Final = ("auto", "cpu", "nvdec")
_LAST_CARD: Final = 999_999_999  # no machine has so many


class Opened(NamedTuple):
    """The devices of one measurement, and why a device that 'auto' would have preferred is missing."""

    devices: list[Device]  # the preferred one first
    declined: BackendError | None = None
    automatic: bool = False  # chosen by 'auto': the CPU may compute in the place of others

    def notes(self) -> list[str]:
        """Notes on what makes the devices slower than they could be."""
        if self.devices[0].name != "cuda":
            return []
        from acuity.devices.cuda.hardware.cards import CARDS

        return CARDS.notes()


def look_for(name: str) -> Signs:
    """The facts about a backend that are known without starting it."""
    if name == "cpu":
        return Signs(True, True, None)
    if name == "cuda":
        from acuity.devices.cuda.hardware.cards import look

        return look()
    return Signs(False, False, BackendError(f"the backend '{name}' is {_absence(name)}"))


def _absence(name: str) -> str:
    return "not in this version" if name in BACKENDS else "unknown"


def list_backends(*, probe: bool = False) -> list[Backend]:
    """All backends by name, those of this version first; `probe` computes something on each."""
    return [describe_backend(name, probe=probe) for name in BACKENDS]


def describe_backend(name: str, *, probe: bool = False) -> Backend:
    """A backend by name; `probe` computes something on it."""
    if name == "cpu":
        from acuity import _native

        sets: list[dict[str, object]] = [{"name": n, "usable": ok} for n, ok in _native.instruction_sets()]
        return Backend(name, True, True, "ok", sets, available_threads())
    if name == "cuda":
        from acuity.devices.cuda.backend import describe_cuda

        return describe_cuda(probe=probe)
    return Backend(name, False, False, _absence(name))


def start_backend(wanted: str, excluded: Collection[str] = ()) -> str:
    """The backend that is used; raises BackendError if the wanted one can't start, without falling back."""
    return open_backend(wanted, excluded).devices[0].name


def open_devices(backend: str | Sequence[Device], instruction_set: str | None = None) -> list[Device]:
    """The devices of one measurement, the preferred one first; raises BackendError.

    Devices that are open already are returned as they are.
    """
    if isinstance(backend, str):
        return open_backend(backend, instruction_set=instruction_set).devices
    given: object = backend  # programs pass anything
    devices: list[Device] = list(given) if isinstance(given, Sequence) else []
    if not devices or not all(hasattr(device, "workers") for device in devices):
        raise _no_backend(backend)
    return devices


def open_backend(
    backend: str,
    excluded: Collection[str] = (),
    instruction_set: str | None = None,
    device: int | None = None,
    share: int = 1,
) -> Opened:
    """The devices of one measurement; raises BackendError, and never takes another backend than a named one.

    A backend is 'auto' or a name, and a card may be named with it: 'cuda:1', or by its number `device`.
    Single cards may be excluded too: 'cuda:0'. Where `share` measurements run side by side, each takes a
    smaller part of a card's memory. The last device is always the CPU: it computes what the others lack, and
    the report names the device of each.
    """
    name, number = chosen_card(backend, device)
    if name not in (AUTO, *DEVICES):
        known = ", ".join((AUTO, *DEVICES))
        raise BackendError(
            f"the backend {quoted(backend)} can't start ({_absence(name)}): use one of {known}"
        )
    if name in excluded and device is not None:
        raise BackendError(
            to_set("device", str(device)), f" is a card, and {name} is excluded: ", to_omit("device")
        )
    if name in excluded:
        raise _cannot_start(backend)
    card = declined = None
    try:
        if name == "cpu":
            return Opened([CpuDevice(instruction_set)])
        card = _open_card(name, number, excluded, share)
    except BackendError as error:
        if name != AUTO:
            raise BackendError(f"the backend '{backend}' can't start: ", *error.args) from error
        declined = error
    if card is None and (name == "cuda" or "cpu" in excluded):
        raise _cannot_start(backend)
    cpu = CpuDevice(instruction_set)
    return Opened([cpu] if card is None else [card, cpu], declined, automatic=name == AUTO)


def _open_card(name: str, number: int | None, excluded: Collection[str], share: int) -> Device | None:
    """A card; None if each is excluded, or if nothing suggests to 'auto' that there is one."""
    if "cuda" in excluded:
        return None
    if name == AUTO and not (signs.has_traces() or signs.is_installed()):
        return None  # as look_for() would find out, which takes longer
    found = look_for("cuda")
    if name == AUTO and not found.expected:
        return None
    if name == AUTO and found.problem is not None:
        raise found.problem
    from acuity.devices.cuda.backend import open_cuda

    cards = (chosen_card(entry) for entry in excluded if ":" in entry)
    avoided = frozenset(card for backend, card in cards if backend == "cuda" and card is not None)
    return open_cuda(number, avoided, share)


class Decoding(NamedTuple):
    """The opener of containers, None for FFmpeg's, and why 'auto' takes FFmpeg's although a card computes."""

    containers: Callable[..., BaseReader] | None = None
    declined: BackendError | None = None


def open_decoder(decoder: str, devices: Sequence[Device]) -> Decoding:
    """The decoder for these devices; raises BackendError if the wanted decoder can't start."""
    if decoder not in DECODERS:
        raise BackendError(to_set("decoder", decoder), f" is unknown: use one of {', '.join(DECODERS)}")
    if decoder == "cpu":
        return Decoding()
    required = decoder != AUTO
    try:
        containers = devices[0].containers(required=required)
    except BackendError as error:
        if required:
            raise BackendError(f"the decoder '{decoder}' can't start: ", *error.args) from error
        return Decoding(None, error)
    if required and containers is None:
        raise BackendError(
            to_set("decoder", decoder),
            " decodes on the card that computes, and here the CPU does: pass ",
            to_set("backend", "cuda"),
            ", or ",
            to_set("decoder", "cpu"),
        )
    return Decoding(containers)


def chosen_card(backend: str, device: int | None = None) -> tuple[str, int | None]:
    """The name of a backend and the number of its card, from 'cuda:1' or from 'cuda' and 1.

    A number says that a card is wanted, also with 'auto'.
    """
    if not isinstance(backend, str):
        raise _no_backend(backend)
    number: int | None = None
    name, colon, text = backend.partition(":")
    if colon and (name == "cpu" or (number := _card_number(text)) is None):
        raise _no_backend(backend)
    if device is not None and not 0 <= device <= _LAST_CARD:
        # Python refuses to write a number of thousands of digits.
        given = to_set("device", str(device)) if abs(device) <= sys.maxsize else "device"
        raise BackendError(given, f" is no card: cards have numbers from 0 to {_LAST_CARD}")
    number = number if colon else device
    if device is not None and (number != device or name == "cpu"):
        raise BackendError(
            to_set("device", str(device)), f" is no card of the backend '{backend}': ", to_omit("device")
        )
    return "cuda" if name == AUTO and number is not None else name, number


def _no_backend(given: object) -> BackendError:
    return BackendError(f"{quoted(given)} is no backend: name one, or one of its cards, as cuda:0")


def _card_number(text: str) -> int | None:
    """The number of a card as it is written; None if it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(_LAST_CARD)) else None


def _cannot_start(backend: str) -> BackendError:
    there = ", ".join(name for name in DEVICES if look_for(name).problem is None)
    return BackendError(f"the backend '{backend}' can't start (it is excluded): use one of {there}")


def are_spent() -> bool:
    """Whether a device failed in a way after which only a new process can use it."""
    cards = sys.modules.get("acuity.devices.cuda.hardware.cards")
    return cards is not None and cards.CARDS.are_spent()


def describe_engine() -> dict[str, Any]:
    """The engine's version, instruction set, threads and system, for reproducible reports."""
    import platform

    from acuity import __version__, _native

    return {
        "name": "acuity",
        "version": __version__,
        "instruction_set": _native.select_instruction_set(),
        "instruction_sets": usable_instruction_sets(),
        "threads": available_threads(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }
