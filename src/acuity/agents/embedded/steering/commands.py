"""The commands to a running measurement, which its own thread carries out between two frames.

    command         argument                        result
    swap_model      model, slot | None, repredict   reported_as, model, before, first, next_frame, …
    pause           lease_seconds                   paused, next_frame, lease_seconds, paused_until, paused_by
    resume                                          paused, next_frame, lifted, paused_by
    stop_after      frame | None                    stop_after, next_frame, finished
    set_subsample   n                               subsample, next_frame

A slot of the ring holds the command's number, its ticket and its argument as JSON. What doesn't fit, a loaded
model and the client, is an attachment, which waits in the handoff under the ticket. The thread that takes the
attachment out decides: the measuring thread to carry the command out, the server's thread to withdraw it. A
result that is longer than a slot goes back through the handoff too.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from acuity.access.path_text import shown
from acuity.access.paths import AllowedPaths
from acuity.agents.embedded.steering.clients import Client, pause_documents, timestamp
from acuity.errors import EmbeddedError, ModelError
from acuity.models.choose import unfilled_display
from acuity.video.notes import info

if TYPE_CHECKING:
    from acuity.measure import Measurement
    from acuity.models import Model, ModelCollection

    AnyModel: TypeAlias = Model | ModelCollection

Document: TypeAlias = dict[str, Any]

LARGEST: Final = 2**31 - 1  # frame numbers; what C's int holds

_KEPT_MODELS: Final = 8
LEASE: Final = 300.0  # seconds that a client's pause lasts unless it says otherwise


class ReplyKind(IntEnum):
    """What the payload of a reply is."""

    RESULT = 0  # JSON
    HANDED_OVER = 1  # empty: the result waits under the ticket
    REFUSED = 2  # a sentence that says why
    WITHDRAWN = 3  # empty: the sender withdrew the command, so it was not carried out


@dataclass(frozen=True, slots=True)
class Attachment:
    """What belongs to a command beside its argument."""

    client: Client
    model: AnyModel | None = None


@dataclass(slots=True)
class Handoff:
    """What is too large for a slot, by ticket: put in before its envelope is sent, taken out after."""

    attachments: dict[int, Attachment] = field(default_factory=dict)
    results: dict[int, Document] = field(default_factory=dict)


# Carries a command out on the feeding thread between two frames.
Action: TypeAlias = Callable[["Measurement", Mapping[str, Any], Attachment], Document]


def encode(document: Mapping[str, Any]) -> bytes:
    """A document as the bytes of a slot."""
    return json.dumps(document, separators=(",", ":")).encode()


def _swap_model(measurement: Measurement, argument: Mapping[str, Any], attachment: Attachment) -> Document:
    model = attachment.model
    assert model is not None
    held = {other.name: other.label for other in measurement.models}
    if not held:
        raise EmbeddedError("no model is being measured, so there is none to take the place of")
    slot = argument.get("slot") or next(iter(held))
    swap = measurement.swap_model(slot, model, repredict=bool(argument.get("repredict")))
    return {
        "reported_as": slot,
        "model": model.label,
        "before": held[slot],
        "first": swap.first,
        "next_frame": measurement.frames,
        "waits_for": swap.waits_for,
        "starts": swap.starts,
        "repredicted": [{"first": first, "last": last} for first, last in swap.repredicted],
        "notes": [info("display", text).to_dict()] if (text := _unfilled(measurement, model)) else [],
    }


def _unfilled(measurement: Measurement, model: AnyModel) -> str | None:
    """A sentence on pictures that don't fill the display that the model is made for."""
    size = measurement.geometry
    return None if size is None else unfilled_display(model.label, size.width, size.height)


def _pause(measurement: Measurement, argument: Mapping[str, Any], attachment: Attachment) -> Document:
    lease = argument.get("lease_seconds", LEASE)
    pause = attachment.client.pause(measurement.gate, float(lease))
    return _paused(measurement) | {"lease_seconds": lease, "paused_until": timestamp(pause.ends_at)}


def _resume(measurement: Measurement, _: Mapping[str, Any], __: Attachment) -> Document:
    lifted = measurement.gate.release_clients()
    return _paused(measurement) | {"lifted": pause_documents(lifted)}


def _paused(measurement: Measurement) -> Document:
    pauses = measurement.gate.pauses
    return {
        "paused": bool(pauses),
        "next_frame": measurement.frames,
        "paused_by": pause_documents(pauses),
    }


def _stop_after(measurement: Measurement, argument: Mapping[str, Any], _: Attachment) -> Document:
    frame = argument.get("frame")
    measurement.stop_after(frame)
    return {"stop_after": frame, "next_frame": measurement.frames, "finished": measurement.finished}


def _set_subsample(measurement: Measurement, argument: Mapping[str, Any], _: Attachment) -> Document:
    measurement.set_subsample(argument["n"])
    return {"subsample": measurement.subsample, "next_frame": measurement.frames}


# A command's number on the ring is its place in this table.
COMMANDS: Final[dict[str, Action]] = {
    "swap_model": _swap_model,
    "pause": _pause,
    "resume": _resume,
    "stop_after": _stop_after,
    "set_subsample": _set_subsample,
}
NAMES: Final = tuple(COMMANDS)


class ModelLoader:
    """Loads models that clients name, on a thread beside the event loop, one at a time."""

    def __init__(self, paths: AllowedPaths) -> None:
        self._paths = paths
        self._kept: OrderedDict[str, tuple[AnyModel, tuple[int, int, int]]] = OrderedDict()
        self._loading = asyncio.Lock()

    async def load(self, spec: str) -> AnyModel:
        """The model of a name or of libvmaf's notation; raises ModelError or PathError.

        One that is asked for again is the same object, unless its file has changed.
        """
        async with self._loading:
            return await asyncio.to_thread(self._load, spec)

    def _load(self, spec: str) -> AnyModel:
        from acuity.models import load_model

        _refuse_tiny(spec)
        checked = self._paths.check_model(spec)
        kept = self._kept.get(checked)
        if kept is not None and kept[1] == _stamp(kept[0]):
            self._kept.move_to_end(checked)
            return kept[0]
        model = load_model(checked)
        self._kept[checked] = model, _stamp(model)
        if len(self._kept) > _KEPT_MODELS:
            self._kept.popitem(last=False)
        return model


def _refuse_tiny(spec: str) -> None:
    from acuity.models.sources import is_tiny

    name = spec.removeprefix("version=").removeprefix("path=").partition(":")[0]
    if name.endswith(".onnx") or ("/" not in name and is_tiny(name)):
        raise ModelError(
            f"'{shown(name)}' is a tiny model, which can't replace another one while frames are measured: "
            "name one that list_models has with the format json"
        )


def _stamp(model: AnyModel) -> tuple[int, int, int]:
    """What changes when a file is written over."""
    try:
        found = os.stat(model.path)
    except OSError:
        return (0, 0, 0)
    return found.st_mtime_ns, found.st_size, found.st_ino
