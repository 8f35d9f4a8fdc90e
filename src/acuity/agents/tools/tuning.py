"""The tools run_search, run_compare, run_ladder and run_tune_per_shot: tuning of encodes.

Their arguments are fields of the requests in acuity.tune.request; so are the options of the commands.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from acuity.agents.schemas import outline, record
from acuity.agents.tools.long_tool import long_tool
from acuity.agents.tools.scoring_schema import path_argument
from acuity.agents.tools.services import Services, checked_model
from acuity.errors import TuneError
from acuity.jobs.tasks.tune import tune_payload
from acuity.scoring.setting import Setting
from acuity.tune.request import CompareRequest, LadderRequest, PerShotRequest, SearchRequest, TuneRequest
from longwire.product.catalog import Arguments, Planner, Tool
from longwire.work import JobSpec

_ROWS: Final = 40  # of a comparison: what an answer has room for
# What all four take is explained in few words, because every client reads the list of tools.
_BRIEF: Final = {
    "encoder": "h264, hevc, av1, vp9 or a name.",
    "encoders": "With commas.",
    "preset": "ultrafast to placebo.",
    "vmaf_model": "As in vmaf_score.",
    "viewing": "tv, phone, 4k-tv.",
    "display": "1080p, 2160p.",
    "metric": "Of `target`, as psnr.",
    "target": "For `metric`.",
    "target_vmaf": "Score to reach.",
    "target_bitrate": "Instead: at most so many kbit/s.",
    "resolutions": "As 1280x720,640x360.",
    "quality_tiers": "Most rungs.",
    "allocation": "each (default) or mean.",
    "spacing": "By log_bitrate (default) or vmaf.",
    "duration": "Only the first seconds.",
    "width": "Raw video's.",
    "height": "Raw video's.",
    "pix_fmt": "As yuv420p10le.",
    "framerate": "Raw video's.",
    "pool": "mean, min, p5 …",
    "scene_threshold": "Luma change, to 1.",
    "target_vmafs": "As 95,90.",
    "no_parallel": "One encode at a time.",
}
_SOURCE: Final = (
    *("preset", "vmaf_model", "viewing", "display"),
    *("duration", "width", "height", "pix_fmt", "framerate"),
)
_METRIC: Final = ("metric", "target")

_SEARCH: Final = """\
Find the cheapest encode of one encoder that reaches a target: `crf`, `bitrate_kbps`, `vmaf_score`; where \
`ok` is false they are null, and `nearest` is the best it did. `points` has every encode, `range` the \
frames. `output` makes the file. Takes minutes: use submit_job."""
_COMPARE: Final = """\
Compare encoders at target scores: quality setting, bitrate and score of each, by bitrate, failures \
last; bd_rate is the bits saved against the first encoder."""
_LADDER: Final = """\
Build a bitrate ladder: sizes are encoded, scored at the source's size, and rungs taken from their convex \
hull."""
_PER_SHOT: Final = """\
Choose a quality setting for each shot, so that every shot reaches the target, or, with allocation mean, \
the clip's mean does with the fewest bits. `output` makes the stitched video."""


class _Kind(NamedTuple):
    """One tool: its request, which fields are arguments, and what differs from the command's defaults."""

    command: str
    request: type[TuneRequest]
    title: str
    text: str
    arguments: tuple[str, ...]
    required: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = {}
    output: str | None = None  # the field that names a new file, called `output` in the tool


# fmt: off
_KINDS: Final = {
    "run_search": _Kind(
        "search", SearchRequest, "Find the quality setting", _SEARCH,
        ("encoder", "target_vmaf", "target_bitrate", *_METRIC, "pool", *_SOURCE), output="encode"),
    "run_compare": _Kind(
        "compare", CompareRequest, "Compare encoders", _COMPARE,
        ("target_vmaf", "target_vmafs", *_METRIC, "encoders", *_SOURCE, "no_parallel"),
        defaults={"target_vmafs": "94,96,97,98"}),
    "run_ladder": _Kind(
        "ladder", LadderRequest, "Build a bitrate ladder", _LADDER,
        ("resolutions", "target_vmafs", "encoder", "quality_tiers", "format", "spacing", *_SOURCE),
        required=("resolutions", "target_vmafs")),
    "run_tune_per_shot": _Kind(
        "tune-per-shot", PerShotRequest, "Tune each shot", _PER_SHOT,
        ("target_vmaf", *_METRIC, "allocation", "encoder", "scene_threshold", *_SOURCE, "format"),
        defaults={"target_vmaf": 92.0}, output="output"),
}
# fmt: on

_OUTPUTS: Final = {
    "run_search": outline(
        "ok:boolean error:string? crf,vmaf_score:number?",
        "bitrate_kbps:number? nearest:object? points,notes:array",
    ),
    "run_compare": outline("rows:array", "bd_rate:array"),
    "run_ladder": outline("manifest:object|string format:string"),
    "run_tune_per_shot": outline("met:boolean", "shots:array plan:string"),
}


def tools(services: Services) -> list[Tool]:
    found = []
    for name, kind in _KINDS.items():
        about = name, kind.title, kind.text, _schema(kind), _OUTPUTS[name], _planner(services, name, kind)
        reads = kind.output is None
        found.append(long_tool(services, *about, read_only=reads, idempotent=reads))
    return found


def _schema(kind: _Kind) -> dict[str, Any]:
    table = kind.request.settings_table()
    properties = {"src": path_argument("The video to encode.")}
    properties |= {name: _argument(name, table[name], kind) for name in kind.arguments}
    if kind.output is not None:
        properties["output"] = path_argument("New file to write.")
    return record(" ".join(("src", *kind.required)), **properties)


def _argument(name: str, about: Setting, kind: _Kind) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": about.kind}
    if name == "framerate":
        entry["type"] = ["number", "string"]
    if name in _BRIEF and about.choices:
        return {**entry, "description": _BRIEF[name]}  # a wrong word is refused with the right ones
    if about.choices:
        entry["enum"] = list(about.choices)
    default = kind.defaults.get(name, kind.request.fields[name].default)
    if default not in (None, "") and name not in kind.required:
        entry["default"] = default
    text = _BRIEF.get(name) or f"{about.help[0].upper()}{about.help[1:]}."
    return {**entry, "description": text}


def _planner(services: Services, name: str, kind: _Kind) -> Planner:
    async def plan(given: Arguments) -> JobSpec:
        source = str(services.paths.check(given["src"]))
        fields = {field: given[field] for field in kind.arguments if given.get(field) is not None}
        if "framerate" in fields:
            fields["framerate"] = str(fields["framerate"])
        if given.given & {"target_vmaf", "target"}:  # a target by default gives way
            for field in kind.defaults.keys() - given.given:
                fields.pop(field, None)
        if kind.output is not None and given.get("output") is not None:
            output = await asyncio.to_thread(services.paths.check_output, given["output"])  # counts files
            fields[kind.output] = str(output)
        if "vmaf_model" in fields:
            fields["vmaf_model"] = await checked_model(services, fields["vmaf_model"], external=False)
        request = kind.request(src=source, **fields)
        request.check()
        if (
            isinstance(request, CompareRequest)
            and (many := len(request.names()) * len(request.targets())) > _ROWS
        ):
            raise TuneError(f"{many} rows are too many for one answer: ask for at most {_ROWS} in a call")
        part = "" if request.duration is None else f", first {request.duration:g} s"
        title = f"{kind.command} of {os.path.basename(source)}{part}"
        limit = services.settings.submitted_limit
        return JobSpec("tune", tune_payload(kind.command, request), name, title, limit)

    return plan
