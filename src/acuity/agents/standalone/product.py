"""The catalog of vmaf-mcp: its tools, resources and prompts."""

from __future__ import annotations

from typing import Final

from mcp.server.caching import CacheHint
from mcp.server.subscriptions import SubscriptionBus

from acuity.agents.apps import CAPABILITIES, AppResources, with_apps
from acuity.agents.prompts import PROMPTS
from acuity.agents.prompts.completions import completer
from acuity.agents.resources import resources
from acuity.agents.services import Services
from acuity.agents.tasks.jobs import JobTasks
from acuity.agents.tools import (
    backends,
    benchmark,
    compare,
    evaluation,
    extractors,
    frames,
    jobs,
    models,
    scoring,
    tuning,
    videos,
    worst_frames,
)
from acuity.agents.tools.argument_names import accepting
from acuity.agents.tools.kept_pictures import KeptPictures
from acuity.agents.tools.model_list import ModelList
from longwire.product.catalog import Catalog
from longwire.tasks.extension import Tasks
from longwire.tasks.listen import Listen

NAME: Final = "acuity"


INSTRUCTIONS: Final = """\
Acuity measures how much a viewer sees of what encoding did to a video: VMAF, with libvmaf's own digits.

Score encoded files (MP4, MKV, WebM, Y4M) with vmaf_score_encoded, raw YUV with vmaf_score. 100 looks like the
reference; about 6 points are a difference that most viewers notice. For more than a minute of video use
submit_job, then get_job: the work survives a lost connection. An answer has the score first, then the worst
frames; get_frames reads others; describe_worst_frames shows the worst as pictures and says what is wrong with
them. compare_encodes ranks several encodes of one source. list_models says which models there are.
It encodes, too: run_search finds the setting that reaches a score, run_compare ranks encoders, run_ladder
builds bitrate ladders, run_tune_per_shot tunes each shot. Start these with submit_job.
Files are read from allowed folders only: list_videos shows those, and what is in them."""

# Tools and prompts are fixed while a server runs; resources change with every report.
_FIXED: Final = CacheHint(ttl_ms=300_000, scope="public")


def product_catalog(services: Services, bus: SubscriptionBus, pictures: KeptPictures) -> Catalog:
    """Everything the server offers."""
    known = ModelList()
    tools = [
        *scoring.tools(services, known, pictures),
        *videos.tools(services),
        *models.tools(services, known),
        *backends.tools(services),
        *extractors.tools(services),
        *benchmark.tools(services),
        *tuning.tools(services, known),
        *compare.tools(services, known),
        *worst_frames.tools(services, pictures, known),
        *evaluation.tools(services, known),
    ]
    tools = accepting(tools)
    tools += [*jobs.tools(services, tools), *frames.tools(services)]
    tools = with_apps(tools)
    families = resources(services, known, pictures)
    tasks = JobTasks(services.jobs)
    return Catalog(
        tools=tools,
        prompts=PROMPTS,
        resources=[*families, AppResources()],
        complete=completer(services, known, PROMPTS, families),
        extensions=[Tasks(tools, tasks)],
        listen=Listen(bus, tasks),
        cache={"tools/list": _FIXED, "prompts/list": _FIXED, "resources/templates/list": _FIXED},
        capabilities=CAPABILITIES,
        instructions=INSTRUCTIONS,
    )
