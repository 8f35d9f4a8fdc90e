"""The tool compare_encodes: many encodes of one source, scored in step, ranked and told apart.

Clients name files, each of which is checked; patterns, folders and lists are for the command.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from acuity.agents.schemas import array, choices, flag, named, outline, record, text
from acuity.agents.tools.geometry_question import settle_geometry
from acuity.agents.tools.long_tool import is_short, long_tool
from acuity.agents.tools.scoring import refuse_missing_device
from acuity.agents.tools.scoring_schema import asked_models, model_argument, path_argument
from acuity.agents.tools.services import Services, checked_model
from acuity.comparison.encoder_names import AUTO as BY_ITSELF
from acuity.comparison.encoder_names import SOURCES
from acuity.comparison.request import ComparePair
from acuity.errors import GEOMETRY
from acuity.jobs.tasks.compare import TOOL, compare_payload
from acuity.scoring.fronts import FRONTS
from acuity.scoring.request import MAX_TEXT, Request
from longwire.product.catalog import Arguments, Tool
from longwire.work import JobSpec

MOST: Final = 24  # encodes of a call: an answer has room for their figures
_WORD: Final = 120  # characters of a name
_AS_SCORED: Final = "As for a score."

_TEXT: Final = """\
Compare up to 24 encodes of one source: scored like vmaf_score_encoded, decoding the source once for all; \
ranked, with bitrates, frame-by-frame differences to the best with 95 % intervals (encodes that tie share a \
place) and, where encoders have several encodes each, BD-rates. A failed encode is a row with its error. \
For encodes that don't exist yet see run_compare. Use submit_job for more than a minute of video."""

_FRONT: Final = FRONTS[TOOL]
_OPTIONS: Final = (
    "viewing", "metrics", "backend", "display", "scale", "rate", "vfr", "hdr", "align", "crop",
    "deinterlace", "frames",
)  # fmt: skip
_KEPT: Final = ("encoder_from", "against", "remember")  # options of run_comparison()
_BRIEF: Final[dict[str, dict[str, Any]]] = {
    **{name: {"description": _AS_SCORED} for name in _OPTIONS},
    **{name: {"description": "Of raw video."} for name in GEOMETRY},
}


def _word(description: str | None = None) -> dict[str, Any]:
    return text(description, maxLength=_WORD)


INPUT: Final = record(
    "reference encodes",
    reference=path_argument("The original, in an allowed folder."),
    encodes=array(
        {
            "type": ["string", "object"],
            "minLength": 1,
            "maxLength": MAX_TEXT,
            "properties": {"path": named(None, MAX_TEXT), "name": _word(), "encoder": _word()},
            "required": ["path"],
            "additionalProperties": False,
        },
        MOST,
        "Files, as paths or {path, name, encoder}; those of one encoder are one curve.",
        minItems=1,
    ),
    model=model_argument(_AS_SCORED),
    **_FRONT.arguments(*_OPTIONS, *GEOMETRY, **_BRIEF),
    encoder_from=choices(SOURCES, "Where encoders are known from that aren't given.", default=BY_ITSELF),
    against=_word("The encoder that BD-rates are against; else the first."),
    remember=flag("Take figures of unchanged files from an earlier run.", default=True),
)
OUTPUT: Final = outline(
    "ranking,pairs,differences,bd_rates,notes:array", "model:string? reference,job_id,report:string"
)


def tools(services: Services) -> list[Tool]:
    async def plan(given: Arguments) -> JobSpec:
        fields = _FRONT.fields(given)
        fields["models"] = [
            await checked_model(services, model, external=False) for model in asked_models(given)
        ]
        reference = str(services.paths.check(given["reference"]))
        pairs = [_pair(services, reference, entry) for entry in given["encodes"]]
        scoring = Request("", "", **fields, guess=True)
        refuse_missing_device(scoring)
        payload = compare_payload(pairs, scoring, {name: given[name] for name in _KEPT if name in given})
        title = f"{len(pairs)} encodes of {os.path.basename(reference)}"
        short = is_short(0, reference, *(pair.distorted for pair in pairs))
        limit = services.settings.submitted_limit
        return JobSpec("compare", payload, TOOL, title, limit, short=short)

    settle = partial(settle_geometry, services.paths)
    return [long_tool(services, TOOL, "Compare encodes", _TEXT, INPUT, OUTPUT, plan, settle=settle)]


def _pair(services: Services, reference: str, entry: str | Mapping[str, str]) -> ComparePair:
    """An encode with its path checked."""
    about = {"path": entry} if isinstance(entry, str) else entry
    path = str(services.paths.check(about["path"]))
    return ComparePair(reference, path, about.get("name", ""), about.get("encoder") or None)
