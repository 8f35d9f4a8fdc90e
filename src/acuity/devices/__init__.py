"""The table of devices that compute extractors, and the choice among them.

Every device and instruction set gives the same digits; they differ in speed only. A new device is a module
with an implementation of Device, and a line in DEVICES.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from acuity.devices.cpu import CpuDevice, available_threads, describe_cpu, usable_instruction_sets
from acuity.devices.device import WORKER_VARIABLE, Backend, Device, Signs, device_for
from acuity.errors import BackendError, to_omit, to_set
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


class Wish(NamedTuple):
    """Which device of a backend is wanted."""

    instruction_set: str | None  # of the CPU
    number: int | None  # of a card; None: any
    excluded: frozenset[int]  # numbers of cards
    share: int = 1  # of a card: the measurements that compute on it side by side


class _Entry(NamedTuple):
    """A device in the table. Nothing is imported or started before its functions are called."""

    look: Callable[[], Signs]
    describe: Callable[[bool], Backend]  # called with whether to compute something on it
    # Raises BackendError if the device can't start; None if every card is excluded.
    open: Callable[[Wish], Device | None]
    notes: Callable[[], list[str]] = list  # what makes it slower than it could be


def _look_for_cuda() -> Signs:
    from acuity.devices.cuda.hardware.cards import look

    return look()


def _describe_cuda(probe: bool) -> Backend:
    from acuity.devices.cuda.backend import describe_cuda

    return describe_cuda(probe=probe)


def _open_cuda(wish: Wish) -> Device | None:
    from acuity.devices.cuda.backend import open_cuda

    return open_cuda(wish.number, wish.excluded, wish.share)


def _notes_of_cuda() -> list[str]:
    from acuity.devices.cuda.hardware.cards import CARDS

    return CARDS.notes()


DEVICES: Final[dict[str, _Entry]] = {
    "cpu": _Entry(lambda: Signs(True, True, None), lambda _: describe_cpu(),
        lambda wish: CpuDevice(wish.instruction_set)),
    "cuda": _Entry(_look_for_cuda, _describe_cuda, _open_cuda, _notes_of_cuda),
}  # fmt: skip
# The devices that 'auto' tries, the fastest first.
_PREFERRED: Final = ("cuda", "cpu")

# All backends by name, also those of other VMAF tools that this version lacks.
BACKENDS: Final = ("cpu", "cuda", "sycl", "hip", "metal")
# What decodes containers: FFmpeg's decoders, or NVIDIA's on the card that computes.
DECODERS: Final = ("auto", "cpu", "nvdec")
_EXCLUDED: Final = "it is excluded"
_LAST_CARD: Final = 999_999_999  # no machine has so many


class Opened(NamedTuple):
    """The devices of one measurement, and why there is none that 'auto' would have preferred."""

    devices: list[Device]  # the preferred one first
    declined: BackendError | None = None
    automatic: bool = False  # chosen by 'auto': the CPU may compute in the place of others

    def notes(self) -> list[str]:
        """What makes the devices slower than they could be."""
        return [note for device in self.devices for note in _notes_of(device)]


def _notes_of(device: Device) -> list[str]:
    entry = DEVICES.get(device.name)
    return [] if entry is None else entry.notes()


def look_for(name: str) -> Signs:
    """What is known of a backend without starting it."""
    if (entry := DEVICES.get(name)) is not None:
        return entry.look()
    return Signs(False, False, BackendError(f"the backend '{name}' is {_absence(name)}"))


def _absence(name: str) -> str:
    return "not in this version" if name in BACKENDS else "unknown"


def list_backends(*, probe: bool = False) -> list[Backend]:
    """All backends by name, those of this version first; `probe` computes something on each."""
    return [describe_backend(name, probe=probe) for name in BACKENDS]


def describe_backend(name: str, *, probe: bool = False) -> Backend:
    """A backend by name; `probe` computes something on it."""
    entry = DEVICES.get(name)
    return Backend(name, False, False, _absence(name)) if entry is None else entry.describe(probe)


def start_backend(wanted: str, excluded: Collection[str] = ()) -> str:
    """The backend that is used; raises BackendError if the wanted one can't start, without falling back."""
    return open_backend(wanted, excluded).devices[0].name


def open_devices(
    backend: str | Sequence[Device], excluded: Collection[str] = (), instruction_set: str | None = None
) -> list[Device]:
    """The devices of one measurement, the preferred one first; raises BackendError.

    Devices that are open already are returned as they are.
    """
    if isinstance(backend, str):
        return open_backend(backend, excluded, instruction_set).devices
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

    A backend is 'auto' or a name, and a card may be named with it: 'cuda:1', or by its number `device`. Also
    single cards may be excluded: 'cuda:0'. Where `share` measurements run side by side, each takes a smaller
    part of a card's memory. The last device is always the CPU: it computes what the others
    lack, and the report names the device of each.
    """
    name, number = chosen_card(backend, device)
    wish = Wish(instruction_set, number, _excluded_cards(name, excluded), share)
    if name == AUTO:
        return _open_any(wish, excluded)
    if (entry := DEVICES.get(name)) is None:
        known = ", ".join((AUTO, *DEVICES))
        raise BackendError(
            f"the backend {quoted(backend)} can't start ({_absence(name)}): use one of {known}"
        )
    if name in excluded and device is not None:
        raise BackendError(
            to_set("device", str(device)), f" is a card, and {name} is excluded: ", to_omit("device")
        )
    if name in excluded:
        raise _cannot_start(backend, _EXCLUDED)
    try:
        opened = entry.open(wish)
    except BackendError as error:
        raise BackendError(f"the backend '{backend}' can't start: ", *error.args) from error
    if opened is None:
        raise _cannot_start(backend, _EXCLUDED)
    return Opened([opened] if name == "cpu" else [opened, CpuDevice(instruction_set)])


def _open_any(wish: Wish, excluded: Collection[str]) -> Opened:
    """The fastest devices that work; those that somebody may have expected are told of."""
    declined = None
    for name in (name for name in _PREFERRED if name not in excluded):
        signs = DEVICES[name].look()
        if not signs.expected:
            continue
        try:
            if signs.problem is not None:
                raise signs.problem
            opened = DEVICES[name].open(wish._replace(excluded=_excluded_cards(name, excluded)))
        except BackendError as error:
            if name == "cpu":
                raise
            declined = error
            continue
        if opened is not None:
            others = [] if name == "cpu" else [CpuDevice(wish.instruction_set)]
            return Opened([opened, *others], declined, automatic=True)
    raise _cannot_start(AUTO, _EXCLUDED)


class Decoding(NamedTuple):
    """What opens containers, where that isn't FFmpeg, and why 'auto' leaves them to it on a card."""

    containers: Callable[..., BaseReader] | None = None
    declined: BackendError | None = None


def open_decoder(decoder: str, devices: Sequence[Device]) -> Decoding:
    """What decodes for these devices; raises BackendError if the wanted decoder can't start."""
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
    """The name of a backend and the number of its card, of 'cuda:1' or of 'cuda' and 1.

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


def _excluded_cards(name: str, excluded: Collection[str]) -> frozenset[int]:
    """The numbers of this backend's cards that must not be used."""
    return frozenset(
        number
        for entry in excluded
        if ":" in entry and (card := chosen_card(entry))[0] == name and (number := card[1]) is not None
    )


def _cannot_start(backend: str, why: str) -> BackendError:
    there = ", ".join(name for name in DEVICES if look_for(name).problem is None)
    return BackendError(f"the backend '{backend}' can't start ({why}): use one of {there}")


def are_spent() -> bool:
    """Whether a device failed in a way after which only a new process can use it."""
    cards = sys.modules.get("acuity.devices.cuda.hardware.cards")
    return cards is not None and cards.CARDS.are_spent()


def describe_engine() -> dict[str, Any]:
    """The engine's version, instruction set, threads and system, for reproducible reports."""
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
