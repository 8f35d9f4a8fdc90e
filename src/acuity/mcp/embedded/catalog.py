"""What a server inside a measuring process offers, as one catalog."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Final

from mcp.server.caching import CacheHint

from acuity.mcp.catalog import Catalog
from acuity.mcp.embedded.live.scores import Scores
from acuity.mcp.embedded.presence import Ending
from acuity.mcp.embedded.quick import Document
from acuity.mcp.embedded.resources.measurement import MeasurementResources
from acuity.mcp.embedded.resources.notifications import NotificationMeta
from acuity.mcp.embedded.resources.subscriptions import Pulse, Subscriptions
from acuity.mcp.embedded.tools import computing, listing, steering, watching
from acuity.mcp.embedded.uris import STATUS, Address

if TYPE_CHECKING:
    from mcp.server.subscriptions import SubscriptionBus

    from acuity.mcp.embedded.compute import Compute
    from acuity.mcp.embedded.live.state import Live
    from acuity.mcp.embedded.steering.bridge import McpSide

INSTRUCTIONS: Final = """\
A measurement of video quality (VMAF) runs in this process. Look at it with vmaf.status, vmaf.score, \
vmaf.worst_frames and vmaf.report, or have vmaf.watch wait for frames below a score; steer it with \
vmaf.request_model_swap, vmaf.pause, vmaf.resume, vmaf.set_subsample, vmaf.stop_after and vmaf.stop, which \
are carried out between two frames. Neither changes a figure: every frame has the score of its model. \
A pause ends when you leave, or when its lease runs out. To follow along, subscribe to \
acuity://measurement/scores (?rate=10: told at most ten times a second), acuity://measurement/status or \
acuity://measurement/watch?below=70. Who reads more than a small share of the time allows waits for its \
answers while frames are measured. compute_vmaf scores another pair of files in a process of its own."""

# What a server offers is fixed while it runs; what its resources show is not.
_FIXED: Final = CacheHint(ttl_ms=300_000, scope="public")
_LISTS: Final = ("tools/list", "resources/list", "resources/templates/list")


def embedded_catalog(
    live: Live,
    steer: McpSide,
    bus: SubscriptionBus,
    compute: Compute,
    scores: Scores | None = None,
    ending: Ending | None = None,
) -> Catalog:
    """Everything the server offers; `scores` where somebody shares them, `ending` where the end is told."""
    scores, ending = scores or Scores(live), ending or Ending()
    pulse = Pulse(bus, _versions(live, scores), ending.over)
    watched = Subscriptions(bus, pulse, lambda: NotificationMeta(live, scores))
    ending.on_close(watched.close)
    return Catalog(
        tools=[
            *watching.tools(live, scores),
            *steering.tools(steer),
            *listing.tools(compute),
            *computing.tools(compute),
        ],
        resources=[MeasurementResources(live, scores)],
        methods=watched.methods(),
        listen=watched.listen,
        cache=dict.fromkeys(_LISTS, _FIXED),
        instructions=INSTRUCTIONS,
    )


def quick_documents(live: Live, scores: Scores) -> Mapping[str, Document]:
    """What tools that are asked all the time say when they are called without arguments."""
    return {watching.STATUS: live.status, watching.SCORE: scores.newest}


def _versions(live: Live, scores: Scores) -> Callable[[Address], Hashable]:
    measurement = live.measurement

    def version(address: Address) -> Hashable:
        if address.below is not None:
            return (
                scores.count_below(address.name, address.below),
                measurement.repredictions,
                measurement.over,
            )
        at = measurement.snapshot()
        figures = at.frames_done, measurement.repredictions, measurement.over
        if address.resource != STATUS:
            return figures
        models = tuple(model.label for model in measurement.models)
        steered = measurement.subsample, measurement.last_frame, measurement.finished
        return *figures, at.frames_fed, models, *steered, measurement.gate.pauses, live.state

    return version
