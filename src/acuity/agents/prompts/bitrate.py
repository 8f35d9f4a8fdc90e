"""The prompt choose_bitrate: find the lowest bitrate of each codec that reaches a target score."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

import mcp_types as types
from mcp.shared.exceptions import MCPError

from acuity.agents.prompts.scoring import (
    SCALE,
    SCORING_ARGUMENTS,
    VALID,
    Scoring,
    argument,
    fenced,
    make_prompt,
)
from acuity.tune.encoders import ENCODERS, Encoder, encoder_of
from acuity.video.readers.guess import is_raw_name

_DEFAULT_TARGET: Final = "93"
# Scores below and above the target that are searched too, so that there is a curve to read others off.
_AROUND: Final = (-6.0, 3.0)
_HIGHEST: Final = 99.0

# The codecs of the encoders that are built in, in the order of the table.
CODECS: Final = tuple(encoder.codec for encoder in ENCODERS.values() if encoder.in_process)

_WAIT: Final = """\
Then call `get_job` with the job_id every few seconds until `status` is `completed`; `progress` says which \
encode is under way and the best so far, and `list_jobs` shows several jobs in one call. Encodes are \
remembered: asking again, or for another target, costs little. A long source: pass `duration` for a first \
look, and say that you did."""

_READ: Final = """\
`rows` has, for each encoder and target, the quality setting (`best_crf`), `bitrate_kbps` and the score \
measured there; `bisect_samples` has every trial. A row with `ok` false says why in `error`: a target that \
the encoder can't reach, or an encoder that isn't here. `bd_rate` says how many percent of bits an encoder \
needs more (or, below 0, fewer) than the first one at equal score; `reason` says why there is none."""

_CHECK: Final = """\
The mean alone isn't enough: where the 5th percentile lies more than 6 points under the target, some \
scenes are visibly worse than the rest. Search again with pool "p5" and a target 6 points lower, or tell the \
user which scenes to treat apart; `run_tune_per_shot` gives each shot a quality setting of its own."""

_PRESENT: Final = """\
Tell the user:
1. For each codec the bitrate and quality setting that reach the target, with the score measured there.
2. The table of all trials, so that another target can be read off.
3. What each codec saves against the first, at the same score, and how long its encodes took.
4. Limits: one source says nothing about others; the answer holds for this model's screen and distance; \
scores over 95 cost many bits for what nobody sees, and a fixed bitrate for everything wastes them on easy \
scenes: recommend capped CRF (the setting you found, with a maximum rate) where the service allows it."""

_NO_GEOMETRY: Final = """\
Raw video doesn't say what it is: add `width`, `height`, `pix_fmt` (as "yuv420p" or "yuv420p10le") and \
`framerate` to the arguments. Ask the user for what the name doesn't say; never guess."""


def _write(given: Mapping[str, str]) -> str:
    reference = given["reference"]
    target = _target(given.get("target", _DEFAULT_TARGET))
    scoring = Scoring.from_arguments(given, reference)
    codecs = list(dict.fromkeys(given.get("codecs", "").replace(",", " ").split())) or ["h264"]
    encoders = [_encoder(name) for name in codecs]
    targets = sorted({min(max(target + step, 1.0), _HIGHEST) for step in _AROUND} | {target})
    source = _source(reference, scoring)
    compare = {
        "src": reference,
        "target_vmafs": ",".join(f"{value:g}" for value in targets),
        "encoders": ",".join(name for name, _ in encoders),
        **source,
    }
    first, known = encoders[0]
    output = os.path.join(
        os.path.dirname(reference), f"tuned_{first}{known.containers[0] if known else '.mkv'}"
    )
    search = {"src": reference, "target_vmaf": target, "encoder": first, "output": output, **source}
    remark = f"\n\n{_NO_GEOMETRY}" if is_raw_name(reference) else ""
    return f"""\
Find the lowest bitrate that reaches VMAF {target:g} on this source, for: {", ".join(codecs)}.

- reference: {reference}

## 1. Let the server search

Call `submit_job` with

{fenced({"tool": "run_compare", "arguments": compare})}{remark}

{_WAIT}

{_READ}

## 2. Make the encode that the user will get, and check it

For the codec that the user chooses, or the first:

{fenced({"tool": "run_search", "arguments": search})}

Then score the file. {scoring.steps(reference, output)}

{VALID}

{_CHECK}

## 3. Explain

{SCALE}

{_PRESENT}
"""


def _source(reference: str, scoring: Scoring) -> dict[str, Any]:
    """The arguments besides the path: the model if one is named, and the geometry of raw video if known."""
    found: dict[str, Any] = {} if scoring.model == "auto" else {"vmaf_model": scoring.model}
    if is_raw_name(reference) and scoring.geometry is not None:
        geometry = scoring.geometry
        planes = "gray" if geometry.format.layout == "400" else f"yuv{geometry.format.layout}p"
        depth = geometry.format.depth
        found |= {
            "width": geometry.width,
            "height": geometry.height,
            "pix_fmt": planes if depth == 8 else f"{planes}{depth}le",
        }
    return found


def _encoder(name: str) -> tuple[str, Encoder | None]:
    """FFmpeg's name of an encoder, and its entry if it has one."""
    found = encoder_of(name)
    return (name, None) if found is None else (found.name, found)


def _target(text: str) -> float:
    try:
        target = float(text)
    except ValueError:
        target = float("nan")
    if not 0 < target <= 100:
        raise MCPError(types.INVALID_PARAMS, f"target '{text}' is no VMAF score: give a number up to 100")
    return target


CHOOSE_BITRATE: Final = make_prompt(
    "choose_bitrate",
    "Choose a bitrate",
    "Finds the lowest bitrate of one or more codecs that reaches a target score on a source.",
    (
        argument("reference", "Reference", "Path of the source, as the server sees it.", required=True),
        argument("target", "Target score", f"VMAF to reach, {_DEFAULT_TARGET} if left out."),
        argument("codecs", "Codecs", "One or more, such as 'h264, hevc, av1'; h264 if left out."),
        *(entry for entry in SCORING_ARGUMENTS if entry.name != "backend"),
    ),
    _write,
)
