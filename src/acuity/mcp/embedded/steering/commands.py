"""The commands to a running measurement, which its own thread carries out between two frames.

    command         argument                        result
    swap_model      model, slot | None, repredict   slot, model, before, first, next_frame, waits_for, …
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

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from acuity.errors import EmbeddedError, InputError
from acuity.mcp.embedded.config import LONGEST_LEASE
from acuity.mcp.embedded.steering.clients import Client, pause_documents, timestamp
from acuity.models.fit import unfilled_display
from acuity.video.notes import info

if TYPE_CHECKING:
    from acuity.measure import Measurement
    from acuity.models import Model, ModelCollection

    AnyModel: TypeAlias = Model | ModelCollection

Document: TypeAlias = dict[str, Any]

_LARGEST: Final = (1 << 31) - 1  # frame numbers beyond this are typing errors

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


Action: TypeAlias = Callable[["Measurement", Mapping[str, Any], Attachment], Document]


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its number on the ring, and its action on the feeding thread between two frames."""

    kind: int
    name: str
    run: Action
    names_model: bool = False  # the argument's `model` is loaded and handed over


def encode(document: Mapping[str, Any]) -> bytes:
    """A document as the bytes of a slot."""
    return json.dumps(document, separators=(",", ":")).encode()


def find(name: str) -> Command:
    if name not in BY_NAME:
        raise EmbeddedError(f"there is no command '{name}': use one of {', '.join(BY_NAME)}")
    return BY_NAME[name]


def _swap_model(measurement: Measurement, argument: Mapping[str, Any], attachment: Attachment) -> Document:
    model = attachment.model
    assert model is not None
    held = {other.name: other.label for other in measurement.models}
    if not held:
        raise EmbeddedError("no model is being measured, so there is none to take the place of")
    slot = argument.get("slot") or next(iter(held))
    repredict = bool(argument.get("repredict"))
    swap = measurement.swap_model(slot, model, repredict=repredict)
    return {
        "slot": slot,
        "model": model.label,
        "before": held[slot],
        "first": swap.first,
        "next_frame": measurement.frames,
        "waits_for": swap.waits_for,
        "starts": swap.starts,
        "repredict": repredict,
        "repredicted": [{"first": first, "last": last} for first, last in swap.repredicted],
        "notes": [info("display", text).to_dict()] if (text := _unfilled(measurement, model)) else [],
    }


def _unfilled(measurement: Measurement, model: AnyModel) -> str | None:
    """A sentence on pictures that don't fill the display that the model is made for."""
    size = measurement.geometry
    return None if size is None else unfilled_display(model.label, size.width, size.height)


def _pause(measurement: Measurement, argument: Mapping[str, Any], attachment: Attachment) -> Document:
    lease = argument.get("lease_seconds", LEASE)
    if not isinstance(lease, int | float) or isinstance(lease, bool) or not 1 <= lease <= LONGEST_LEASE:
        raise InputError(f"lease_seconds {lease!r} must be a number from 1 to {LONGEST_LEASE:g}")
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
    measurement.stop_after(None if frame is None else _bounded("frame", frame))
    return {"stop_after": frame, "next_frame": measurement.frames, "finished": measurement.finished}


def _set_subsample(measurement: Measurement, argument: Mapping[str, Any], _: Attachment) -> Document:
    measurement.set_subsample(_bounded("n", argument.get("n")))
    return {"subsample": measurement.subsample, "next_frame": measurement.frames}


def _bounded(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > _LARGEST:
        raise InputError(f"{name} {value!r} must be a whole number of at most {_LARGEST}")
    return value


COMMANDS: Final = (
    Command(1, "swap_model", _swap_model, names_model=True),
    Command(2, "pause", _pause),
    Command(3, "resume", _resume),
    Command(4, "stop_after", _stop_after),
    Command(5, "set_subsample", _set_subsample),
)
BY_NAME: Final = {command.name: command for command in COMMANDS}
BY_KIND: Final = {command.kind: command for command in COMMANDS}
