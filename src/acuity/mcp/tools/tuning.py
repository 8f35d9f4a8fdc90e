"""The tools run_search, run_compare, run_ladder and run_tune_per_shot: tuning of encodes.

Their arguments are fields of the requests in acuity.tune.request; so are the options of the commands.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from acuity.errors import TuneError
from acuity.jobs.job import JobSpec
from acuity.jobs.tasks.tune import tune_payload
from acuity.mcp.catalog import Arguments, Planner, Tool
from acuity.mcp.schemas import outline, record
from acuity.mcp.tools.long_tool import long_tool
from acuity.mcp.tools.model_list import ModelList
from acuity.mcp.tools.scoring_schema import path_argument
from acuity.models.choose import AUTO
from acuity.tune.request import (
    CompareRequest,
    LadderRequest,
    PerShotRequest,
    SearchRequest,
    TuneRequest,
)
from acuity.tune.setting import Setting

if TYPE_CHECKING:
    from acuity.mcp.catalog import Services

_ROWS: Final = 40  # of a comparison: what an answer has room for
_SECONDS: Final = 6 * 3600.0  # the most that a job of tuning may take
# What all four take is explained in few words, because every client reads the list of tools.
_BRIEF: Final = {
    "encoder": "h264, hevc, av1, vp9, or its name.",
    "encoders": "Separated by commas.",
    "preset": "ultrafast to placebo, or its own.",
    "vmaf_model": "As in vmaf_score.",
    "duration": "Only the first seconds.",
    "width": "Of raw video.",
    "height": "Of raw video.",
    "pix_fmt": "Of raw video, as yuv420p10le.",
    "framerate": "Of raw video.",
    "pool": "mean, harmonic_mean, min, p5 …",
    "scene_threshold": "Change of luma at a cut, to 1.",
    "target_vmafs": "Scores, separated by commas.",
    "no_parallel": "One encode at a time.",
}
_SOURCE: Final = ("preset", "vmaf_model", "duration", "width", "height", "pix_fmt", "framerate")

_SEARCH: Final = """\
Find the cheapest encode of one encoder that reaches a target, in about three trial encodes: `crf`, \
`bitrate_kbps` and `vmaf_score`; where `ok` is false they are the best it did. `points` has every encode \
known. `output` makes the file. Takes minutes: use submit_job, as for all encodes."""
_COMPARE: Final = """\
Compare encoders at target scores: quality setting, bitrate and score of each, ranked by bitrate, failures \
last with their reason; bd_rate is the bits saved against the first encoder."""
_LADDER: Final = """\
Build a bitrate ladder: sizes are encoded, scored at the source's size, and rungs taken from their convex \
hull. format json gives rungs and samples, hls or dash a playlist."""
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


_KINDS: Final = {
    "run_search": _Kind(
        "search",
        SearchRequest,
        "Find the quality setting",
        _SEARCH,
        ("encoder", "target_vmaf", "target_bitrate", "pool", *_SOURCE),
        output="encode",
    ),
    "run_compare": _Kind(
        "compare",
        CompareRequest,
        "Compare encoders",
        _COMPARE,
        ("target_vmaf", "target_vmafs", "encoders", *_SOURCE, "no_parallel"),
        defaults={"target_vmafs": "94,96,97,98"},
    ),
    "run_ladder": _Kind(
        "ladder",
        LadderRequest,
        "Build a bitrate ladder",
        _LADDER,
        ("resolutions", "target_vmafs", "encoder", "quality_tiers", "format", "spacing", *_SOURCE),
        required=("resolutions", "target_vmafs"),
    ),
    "run_tune_per_shot": _Kind(
        "tune-per-shot",
        PerShotRequest,
        "Tune each shot",
        _PER_SHOT,
        (
            "target_vmaf",
            "allocation",
            "encoder",
            "scene_threshold",
            *_SOURCE,
            "format",
        ),
        defaults={"target_vmaf": 92.0},
        output="output",
    ),
}

_OUTPUTS: Final = {
    "run_search": outline(
        {"ok": "boolean", "error": ["string", "null"], "crf": "integer", "vmaf_score": "number"},
        {"bitrate_kbps": "number", "points": "array", "notes": "array", "encode": ["object", "null"]},
    ),
    "run_compare": outline({"rows": "array"}, {"bd_rate": "array", "schema_version": "integer"}),
    "run_ladder": outline({"manifest": ["object", "string"], "format": "string"}),
    "run_tune_per_shot": outline({"shots": "array"}, {"plan": "string", "format": "string"}),
}


def tools(services: Services, models: ModelList | None = None) -> list[Tool]:
    """The tools for tuning; other tools may share the list of models."""
    known = models or ModelList()
    return [
        long_tool(
            services,
            name=name,
            title=kind.title,
            description=kind.text,
            input_schema=_schema(kind),
            output_schema=_OUTPUTS[name],
            plan=_planner(services, known, name, kind),
            read_only=kind.output is None,
            idempotent=kind.output is None,
        )
        for name, kind in _KINDS.items()
    ]


def _schema(kind: _Kind) -> dict[str, Any]:
    table = kind.request.settings_table()
    properties = {"src": path_argument("The video to encode, in an allowed folder.")}
    properties |= {name: _argument(name, table[name], kind) for name in kind.arguments}
    if kind.output is not None:
        properties["output"] = path_argument("New file to write; without it nothing is written.")
    return record(properties, optional=[name for name in properties if name not in ("src", *kind.required)])


def _argument(name: str, about: Setting, kind: _Kind) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": about.kind}
    if name == "framerate":
        entry["type"] = ["number", "string"]
    if about.choices:
        entry["enum"] = list(about.choices)
    default = kind.defaults.get(name, kind.request.__dataclass_fields__[name].default)
    if default not in (None, "") and name not in kind.required:
        entry["default"] = default
    text = _BRIEF.get(name) or f"{about.help[0].upper()}{about.help[1:]}."
    return {**entry, "description": text}


def _planner(services: Services, models: ModelList, name: str, kind: _Kind) -> Planner:
    async def plan(given: Arguments) -> JobSpec:
        source = str(services.paths.check(given["src"]))
        fields = {field: given[field] for field in kind.arguments if given.get(field) is not None}
        if "framerate" in fields:
            fields["framerate"] = str(fields["framerate"])
        if name == "run_compare" and "target_vmaf" in fields and "target_vmafs" not in given.given:
            del fields["target_vmafs"]  # one target, in the older of the two documents
        if kind.output is not None and given.get("output") is not None:
            fields[kind.output] = str(services.paths.check_output(given["output"]))
        if fields.get("vmaf_model", AUTO) != AUTO:
            finder = await models.finder(external=False)
            fields["vmaf_model"] = services.paths.check_model(fields["vmaf_model"], finder)
        request = kind.request(src=source, **fields)
        request.check()
        if (
            isinstance(request, CompareRequest)
            and (many := len(request.names()) * len(request.targets())) > _ROWS
        ):
            raise TuneError(f"{many} rows are too many for one answer: ask for at most {_ROWS} in a call")
        title = f"{kind.command} of {os.path.basename(source)}"
        return JobSpec("tune", tune_payload(kind.command, request), name, title, _SECONDS)

    return plan
