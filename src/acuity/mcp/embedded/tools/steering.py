"""The tools that steer a measurement: carried out and answered between two frames, all but vmaf.stop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from mcp.shared.exceptions import MCPError

from acuity.errors import CommandQueueFull, InputError
from acuity.mcp.catalog import Call, Tool
from acuity.mcp.embedded.config import LONGEST_LEASE
from acuity.mcp.embedded.steering.clients import Client, Leases, calling_client
from acuity.mcp.embedded.steering.commands import LEASE
from acuity.mcp.embedded.tools.figure_schemas import LARGEST, NEXT_FRAME, PAUSES, count, frame, name
from acuity.mcp.limits import BUSY
from acuity.mcp.schemas import array, flag, number, or_null, record, text, whole
from acuity.scoring.fronts import as_whole

if TYPE_CHECKING:
    from acuity.mcp.embedded.steering.bridge import CommandSender

SWAPPED: Final = "MODEL_SWAPPED"
ENQUEUED: Final = "MODEL_SWAP_ENQUEUED"

_SWAP_TEXT: Final = f"""\
Have another model score the frames from the next one on. The answer comes when that is so, with the first \
frame it holds for. Features that were not measured so far start at once; if some are exact only a few \
frames later (`waits_for`) the answer is {ENQUEUED}: until frame `first` the present model holds, and \
vmaf.status shows the new one when its turn has come. No figure depends on the change: each frame has the \
score that the model holding there gives it. Models have no common scale: means are given for each model's \
frames. repredict: also give the new model the frames before, as far as their features are known."""

_PAUSE_TEXT: Final = """\
Stop reading frames after the next one; those under way are scored. Nothing is lost, and everything else \
can be asked and done meanwhile. The pause is yours: it ends when you disconnect, when its lease runs out \
(ask again to renew it), or when anybody calls vmaf.resume. Others may pause too: frames go on when no pause \
is left."""

_RESUME_TEXT: Final = """\
End the pauses of all clients, whoever asked for them: `lifted` says whose. A pause of the program that \
measures stays, if it isn't meant to be ended by clients, and then `paused` is still true."""

_STOP_TEXT: Final = """\
End the measurement after this frame, as if the videos ended there: the report is written as usual. null \
takes it back as long as that frame was not read."""

_STOP_NOW_TEXT: Final = """\
End the measurement now, as if the videos ended here: the frames read so far are the result, and the report \
is written as usual. Works also while the measurement waits for its input. A frame that is just being read \
still counts. It can't be taken back."""

_SUBSAMPLE_TEXT: Final = """\
From the next frame on measure only those whose number can be divided by n: faster, and short flaws may be \
missed. 1 is every frame."""


def tools(
    sender: CommandSender, leases: Leases | None = None, max_lease: float = LONGEST_LEASE
) -> list[Tool]:
    """The tools that change what happens; `leases` follows those who pause, `max_lease` seconds at most."""
    family = _Steering(sender, leases)
    return [
        Tool(
            name="vmaf.request_model_swap",
            title="Swap the model",
            description=_SWAP_TEXT,
            input_schema=_SWAP_INPUT,
            output_schema=_SWAP,
            run=family.swap,
            read_only=False,
        ),
        Tool(
            name="vmaf.pause",
            title="Pause",
            description=_PAUSE_TEXT,
            input_schema=_pause_input(max_lease),
            output_schema=_PAUSED,
            run=family.pause,
            read_only=False,
        ),
        Tool(
            name="vmaf.resume",
            title="Resume",
            description=_RESUME_TEXT,
            input_schema=record({}),
            output_schema=_RESUMED,
            run=family.plain("resume"),
            read_only=False,
        ),
        Tool(
            name="vmaf.stop_after",
            title="Stop after a frame",
            description=_STOP_TEXT,
            input_schema=record({"frame": or_null(frame("The last frame to read, 0 is the first."))}),
            output_schema=_STOPPED,
            run=family.plain("stop_after"),
            read_only=False,
            destructive=True,
        ),
        Tool(
            name="vmaf.stop",
            title="Stop now",
            description=_STOP_NOW_TEXT,
            input_schema=record({}),
            output_schema=_STOPPED_NOW,
            run=family.stop,
            read_only=False,
            destructive=True,
        ),
        Tool(
            name="vmaf.set_subsample",
            title="Measure fewer frames",
            description=_SUBSAMPLE_TEXT,
            input_schema=record({"n": count(1, LARGEST, "Every nth frame is measured.")}),
            output_schema=_SUBSAMPLED,
            run=family.plain("set_subsample"),
            read_only=False,
        ),
    ]


class _Steering:
    def __init__(self, sender: CommandSender, leases: Leases | None) -> None:
        self._sender = sender
        self._leases = leases

    def plain(self, command: str) -> Any:
        """A tool whose arguments and answer are the command's own."""

        async def run(call: Call) -> dict[str, Any]:
            return await self._submit(
                command, {name: as_whole(value) for name, value in call.arguments.items()}
            )

        return run

    async def pause(self, call: Call) -> dict[str, Any]:
        client = calling_client(call, self._sender.left)
        done = await self._submit("pause", call.arguments, client)
        if self._leases is not None:
            self._leases.follow(client)
        return done

    def stop(self, _: Call) -> dict[str, Any]:
        return self._sender.stop()

    async def swap(self, call: Call) -> dict[str, Any]:
        asked = call.arguments
        slot = _slot(asked["name"], asked.get("reported_as"))
        argument = {"model": asked["name"], "slot": slot, "repredict": asked["repredict"]}
        done = await self._submit("swap_model", argument)
        return {
            "status": ENQUEUED if done["first"] > done["next_frame"] else SWAPPED,
            "first": done["first"],
            "next_frame": done["next_frame"],
            "model": done["model"],
            "before": done["before"],
            "reported_as": done["slot"],
            "waits_for": done["waits_for"],
            "starts": done["starts"],
            "repredicted": done["repredicted"],
            "notes": done["notes"],
        }

    async def _submit(
        self, command: str, argument: Mapping[str, Any], client: Client | None = None
    ) -> dict[str, Any]:
        try:
            return await self._sender.submit(command, dict(argument), client)
        except CommandQueueFull as error:
            raise MCPError(BUSY, f"{error.code}: {error}", {"code": error.code}) from error


def _slot(spec: str, reported_as: str | None) -> str | None:
    """The name in the report of the model to replace, which a spec may have too; None: the first one's."""
    named = [part.removeprefix("name=") for part in spec.split(":") if part.startswith("name=")]
    if named and reported_as not in (None, named[-1]):
        raise InputError(
            f"name= in the model is '{named[-1]}' and reported_as is '{reported_as}': give one of them"
        )
    return named[-1] if named else reported_as


_SWAP_INPUT: Final = record(
    {
        "name": name(
            "The model to take over: a name of list_models, or version=NAME or path=FILE with libvmaf's "
            "options behind it; files in allowed folders only."
        ),
        "repredict": {
            **flag("Whether it is given earlier frames too, where their features are known."),
            "default": False,
        },
        "reported_as": name(
            "Whose place it takes, by the name in the report (vmaf, where nobody chose another). Left out: "
            "that of name= in the model, or else the first model's."
        ),
    },
    optional=("repredict", "reported_as"),
)

_SWAP: Final = record(
    {
        "status": {
            **text(f"{SWAPPED}: it holds. {ENQUEUED}: it holds from frame `first` on."),
            "enum": [SWAPPED, ENQUEUED],
        },
        "first": whole(
            "The first frame that the new model holds for, earlier ones it was given not counted."
        ),
        "next_frame": whole("The next frame to be read when this was decided."),
        "model": text("The new model, by its version or path."),
        "before": text("The one it replaces."),
        "reported_as": text("The column of its scores, which stays the same."),
        "waits_for": array(text(), "Features that aren't exact before `first`."),
        "starts": array(text(), "Features that were not measured so far."),
        "repredicted": array(
            record({"first": whole(), "last": whole()}),
            "Earlier frames that the new model was given; without `repredict`, or where its features were "
            "not measured, none.",
        ),
        "notes": array({"type": "object"}, "What to know about the new model's scores: level, code, text."),
    }
)


def _pause_input(max_lease: float) -> dict[str, Any]:
    lease = {
        **number("The pause ends by itself after so many seconds, unless you ask again before."),
        "minimum": 1,
        "maximum": max_lease,
        "default": min(LEASE, max_lease),
    }
    return record({"lease_seconds": lease}, optional=("lease_seconds",))


_PAUSED: Final = record(
    {
        "paused": flag(),
        "next_frame": NEXT_FRAME,
        "lease_seconds": number(),
        "paused_until": text("When your pause ends by itself, in UTC."),
        "paused_by": PAUSES,
    }
)
_RESUMED: Final = record(
    {
        "paused": flag("Whether a pause is left that clients can't end."),
        "next_frame": NEXT_FRAME,
        "lifted": {**PAUSES, "description": "The pauses that this ended."},
        "paused_by": PAUSES,
    }
)
_STOPPED_NOW: Final = record(
    {"stopped": flag(), "frames_read": whole("So far; one more if a frame was just being read.")}
)
_STOPPED: Final = record(
    {
        "stop_after": or_null(whole("The last frame to be read; null: all that come.")),
        "next_frame": NEXT_FRAME,
        "finished": flag("Whether it was read already."),
    }
)
_SUBSAMPLED: Final = record({"subsample": whole(), "next_frame": NEXT_FRAME})
