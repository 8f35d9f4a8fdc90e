"""The catalog of a server inside a measuring process: tools, resources, subscriptions, instructions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Final

from mcp.server.caching import CacheHint

from acuity.mcp.apps import CAPABILITIES, AppResources, with_apps
from acuity.mcp.catalog import Catalog
from acuity.mcp.embedded.config import STEERING_TOOLS, EmbeddedConfig
from acuity.mcp.embedded.live.pictures import LivePictures
from acuity.mcp.embedded.live.scores import Scores
from acuity.mcp.embedded.presence import EndSignals
from acuity.mcp.embedded.resources.measurement import MeasurementResources
from acuity.mcp.embedded.resources.notifications import NotificationMeta
from acuity.mcp.embedded.resources.pictures import PictureResources
from acuity.mcp.embedded.resources.subscriptions import RevisionOf, Subscriptions, UpdatePublisher
from acuity.mcp.embedded.tools import computing, listing, steering, watching
from acuity.mcp.embedded.uris import STATUS, ResourceUri
from acuity.mcp.tools.argument_names import accepting
from acuity.mcp.wire.quick import MakeDocument

if TYPE_CHECKING:
    from mcp.server.subscriptions import SubscriptionBus

    from acuity.mcp.embedded.compute import Compute
    from acuity.mcp.embedded.live.state import LiveState
    from acuity.mcp.embedded.steering.bridge import CommandSender
    from acuity.mcp.embedded.steering.clients import Leases

_STEERING: Final = """\
; steer it with vmaf.request_model_swap, vmaf.pause, vmaf.resume, vmaf.set_subsample, vmaf.stop_after and \
vmaf.stop, which are carried out between two frames. Neither changes a figure: every frame has the score \
of its model. A pause ends when you leave, or when its lease runs out"""
INSTRUCTIONS: Final = f"""\
A measurement of video quality (VMAF) runs in this process. Look at it with vmaf.status, vmaf.score, \
vmaf.curve, vmaf.worst_frames and vmaf.report, or have vmaf.watch wait for frames below a score\
{_STEERING}. To follow along, subscribe to \
acuity://measurement/scores (?rate=10: told at most ten times a second), acuity://measurement/status or \
acuity://measurement/watch?below=70. Who reads more than a small share of the time allows waits for its \
answers while frames are measured. compute_vmaf scores another pair of files in a process of its own."""

# What a server offers is fixed while it runs; what its resources show is not.
_FIXED: Final = CacheHint(ttl_ms=300_000, scope="public")
_LISTS: Final = ("tools/list", "resources/list", "resources/templates/list")


def embedded_catalog(
    live: LiveState,
    sender: CommandSender,
    bus: SubscriptionBus,
    compute: Compute,
    scores: Scores | None = None,
    end: EndSignals | None = None,
    config: EmbeddedConfig | None = None,
    leases: Leases | None = None,
) -> Catalog:
    """Everything the server offers; `scores` and `end` where they are shared with other parts."""
    scores, end, config = scores or Scores(live), end or EndSignals(), config or EmbeddedConfig()
    publisher = UpdatePublisher(bus, _revisions(live, scores), end.over)
    subscriptions = Subscriptions(bus, publisher, lambda: NotificationMeta(live, scores))
    pictures = LivePictures(live.measurement)
    end.on_close(subscriptions.close)
    end.on_close(pictures.close)
    tools = [
        *watching.tools(live, scores, pictures),
        *steering.tools(sender, leases, config.max_lease),
        *listing.tools(compute),
        *accepting(computing.tools(compute)),
    ]
    steers = any(map(config.offers, STEERING_TOOLS))
    return Catalog(
        tools=with_apps([tool for tool in tools if config.offers(tool.name)]),
        resources=[MeasurementResources(live, scores), PictureResources(live, pictures), AppResources()],
        methods=subscriptions.methods(),
        listen=subscriptions.listen,
        cache=dict.fromkeys(_LISTS, _FIXED),
        capabilities=CAPABILITIES,
        instructions=INSTRUCTIONS if steers else INSTRUCTIONS.replace(_STEERING, ""),
    )


def quick_documents(live: LiveState, scores: Scores) -> Mapping[str, MakeDocument]:
    """What the tools that agents poll answer when they are called without arguments."""
    return {watching.STATUS: live.status, watching.SCORE: scores.newest}


def _revisions(live: LiveState, scores: Scores) -> RevisionOf:
    measurement = live.measurement

    def revision(uri: ResourceUri) -> Hashable:
        if uri.below is not None:
            return (
                scores.count_below(uri.name, uri.below),
                measurement.repredictions,
                live.over,
            )
        at = measurement.snapshot()
        figures = at.frames_done, measurement.repredictions, live.over
        if uri.resource != STATUS:
            return figures
        models = tuple(model.label for model in measurement.models)
        steered = measurement.subsample, measurement.last_frame, measurement.finished
        return *figures, at.frames_fed, models, *steered, measurement.gate.pauses, live.state

    return revision
