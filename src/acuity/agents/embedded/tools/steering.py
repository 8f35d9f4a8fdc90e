"""The tools that steer a measurement: carried out and answered between two frames, all but vmaf.stop."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from mcp.shared.exceptions import MCPError

from acuity.agents.embedded.steering.bridge import CommandSender
from acuity.agents.embedded.steering.commands import LARGEST, LEASE, Client, Leases, calling_client
from acuity.agents.schemas import flag, named, number, outline, record, whole
from acuity.errors import CommandQueueFull, InputError
from acuity.scoring.fronts import as_whole
from longwire.principals.limits import BUSY
from longwire.product.catalog import Call, Tool

SWAPPED: Final = "MODEL_SWAPPED"
ENQUEUED: Final = "MODEL_SWAP_ENQUEUED"

_SWAP_TEXT: Final = f"""\
Have another model score the frames from the next one on. The answer comes when that is so, with the first \
frame it holds for. Features that were not measured so far start at once; if some are exact only a few \
frames later (`waits_for`) the answer is {ENQUEUED}: until frame `first` the present model holds, and \
vmaf.status shows the new one when its turn has come. No figure depends on the change: each frame has the \
score that the model holding there gives it. Models have no common scale: means are given for each model's \
frames. repredict: also give the new model the frames before, as far as their features are known; \
`repredicted` says which. `starts` has features that were not measured so far, `notes` what to know of its \
scores."""

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


def tools(sender: CommandSender, leases: Leases, max_lease: float) -> list[Tool]:
    """The tools that steer; `leases` follows the clients that pause, for `max_lease` seconds at most."""
    its = _Steering(sender, leases)
    tool = partial(Tool, read_only=False)
    ends = partial(tool, destructive=True)
    last, nth = record("frame", frame=_LAST), record("n", n=_NTH)
    return [
        tool("vmaf.request_model_swap", "Swap the model", _SWAP_TEXT, _SWAP_INPUT, its.swap, _SWAP),
        tool("vmaf.pause", "Pause", _PAUSE_TEXT, _pause_input(max_lease), its.pause, _PAUSED),
        tool("vmaf.resume", "Resume", _RESUME_TEXT, record(), its.resume, _RESUMED),
        ends("vmaf.stop_after", "Stop after a frame", _STOP_TEXT, last, its.stop_after, _STOPPED),
        ends("vmaf.stop", "Stop now", _STOP_NOW_TEXT, record(), its.stop, _STOPPED_NOW),
        tool("vmaf.set_subsample", "Measure fewer frames", _SUBSAMPLE_TEXT, nth, its.subsample, _SUBSAMPLED),
    ]


class _Steering:
    def __init__(self, sender: CommandSender, leases: Leases) -> None:
        self._sender = sender
        self._leases = leases

    async def resume(self, _: Call) -> dict[str, Any]:
        return await self._submit("resume", {})

    async def stop_after(self, call: Call) -> dict[str, Any]:
        return await self._submit("stop_after", {"frame": as_whole(call.arguments["frame"])})

    async def subsample(self, call: Call) -> dict[str, Any]:
        return await self._submit("set_subsample", {"n": as_whole(call.arguments["n"])})

    async def pause(self, call: Call) -> dict[str, Any]:
        client = calling_client(call, self._sender.left)
        done = await self._submit("pause", call.arguments, client)
        self._leases.follow(client)
        return done

    def stop(self, _: Call) -> dict[str, Any]:
        return self._sender.stop()

    async def swap(self, call: Call) -> dict[str, Any]:
        asked = call.arguments
        slot = _slot(asked["name"], asked.get("reported_as"))
        argument = {"model": asked["name"], "slot": slot, "repredict": asked["repredict"]}
        done = await self._submit("swap_model", argument)
        return {"status": SWAPPED if done["first"] <= done["next_frame"] else ENQUEUED, **done}

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
    "name",
    name=named(
        "The model to take over: a name of list_models, or version=NAME or path=FILE with libvmaf's "
        "options behind it; files in allowed folders only."
    ),
    repredict=flag("Whether it is given earlier frames too, where their features are known.", default=False),
    reported_as=named(
        "Whose place it takes, by the name in the report (vmaf, where nobody chose another). Left out: "
        "that of name= in the model, or else the first model's."
    ),
)
_LAST: Final[dict[str, Any]] = {
    **whole("The last frame to read, 0 is the first.", minimum=0, maximum=LARGEST),
    "type": ["integer", "null"],
}
_NTH: Final = whole("Every nth frame is measured.", minimum=1, maximum=LARGEST)


def _pause_input(max_lease: float) -> dict[str, Any]:
    lease = number(
        "The pause ends by itself after so many seconds, unless you ask again before.",
        minimum=1,
        maximum=max_lease,
        default=min(LEASE, max_lease),
    )
    return record(lease_seconds=lease)


_SWAP: Final = outline(
    "status,model,before,reported_as:string first,next_frame:integer waits_for,starts,repredicted,notes:array"
)
_PAUSED: Final = outline(
    "paused:boolean next_frame:integer lease_seconds:number paused_until:string paused_by:array"
)
_RESUMED: Final = outline("paused:boolean next_frame:integer lifted,paused_by:array")
_STOPPED_NOW: Final = outline("stopped:boolean frames_read:integer")
_STOPPED: Final = outline("stop_after:integer? next_frame:integer finished:boolean")
_SUBSAMPLED: Final = outline("subsample,next_frame:integer")
