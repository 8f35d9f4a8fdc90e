"""The prompts: ready instructions for agents, one task each."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

import mcp_types as types
from mcp.shared.exceptions import MCPError

from acuity.agents.prompts.scoring import (
    FEATURES,
    MODEL_NEG,
    REFUSED,
    SCALE,
    SCORING_ARGUMENTS,
    VALID,
    PromptScoring,
    argument,
    fenced,
    make_prompt,
)
from acuity.tune.encoders import ENCODERS, Encoder, encoder_of
from acuity.video.readers.guess import is_raw_name
from longwire.product.catalog import Prompt

_REFERENCE: Final = argument(
    "reference", "Reference", "Path of the source, as the server sees it.", required=True
)


# ---- diagnose_encode ------------------------------------------------------------

_PRESENT_DIAGNOSIS: Final = """\
Tell the user, in this order:
1. The verdict in one sentence, with the mean and what it means for viewers.
2. A small table: mean, harmonic mean, 5th percentile, minimum, NEG mean, frames, model.
3. The worst stretches, at most five: first and last frame, time (frame number over frame rate), lowest \
score, what was measured in its worst frame, and what you see in its picture. Say which of the two it is; \
what only the features suggest is "suggested".
4. What to change, the cheapest first: more bits only where it is bad (a larger buffer, a capped-CRF or \
two-pass mode), a slower preset, less or more pre-filtering, another resolution.
5. What the figures can't tell: faces, text, grain that was replaced. Name the frames to look at, with the \
paths of their pictures."""


def _diagnosis(given: Mapping[str, str]) -> str:
    reference, distorted = given["reference"], given["distorted"]
    scoring = PromptScoring.from_arguments(given, reference)
    neg = fenced(scoring.call(reference, distorted, MODEL_NEG))
    return f"""\
Find out how good this encode is, where it is worst and why.

- reference: {reference}
- encode: {distorted}

## 1. Score it

{scoring.steps(reference, distorted)}

## 2. Check the comparison

{VALID}

## 3. Find the bad parts

Read `models` (mean, harmonic_mean, min, percentiles) and `worst_segments` first, the stretches with the \
lowest means: stretches are what viewers notice; `worst` has single frames. For each of the worst stretches, \
and for a good one beside it, call `get_frames` with its `first` and `last` and the `features` named here:

{FEATURES}

## 4. Look at them

Call `submit_job` with

{fenced(scoring.worst_call(reference, distorted))}

The pictures of the worst frames come with the answer: the distorted one, and a detail in full size; \
images=[distorted, reference, heat] gives others, `start` and `end` look at a stretch only. \
`description` says what was measured in each (blocking, blur, ringing, banding, noise, colour, freeze), \
where, and how bad against the rest of the clip.

## 5. Look for enhancement

Unless `acuity.model` is a NEG or a 4K model, score once more with the NEG model:

{neg}

## 6. Explain

{SCALE}

{_PRESENT_DIAGNOSIS}
"""


DIAGNOSE_ENCODE: Final = make_prompt(
    "diagnose_encode",
    "Diagnose an encode",
    "Scores an encode against its source, finds the worst stretches, and explains what is wrong with them.",
    (
        _REFERENCE,
        argument("distorted", "Encode", "Path of the encode to judge.", required=True),
        *SCORING_ARGUMENTS,
        argument("feature", "Further feature", "One more extractor to record, as in 'vif=debug=true'."),
    ),
    _diagnosis,
)


# ---- choose_bitrate ------------------------------------------------------------

_DEFAULT_TARGET: Final = "93"
# Scores below and above the target that are searched too, so that there is a curve to read others off.
_AROUND: Final = (-6.0, 3.0)
_HIGHEST: Final = 99.0

# The codecs of the encoders that are built in, in the order of the table.
CODECS: Final = tuple(encoder.codec for encoder in ENCODERS.values() if encoder.in_process)

_WAIT_SEARCHED: Final = """\
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

_PRESENT_BITRATES: Final = """\
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


def _choice(given: Mapping[str, str]) -> str:
    reference = given["reference"]
    target = _target(given.get("target", _DEFAULT_TARGET))
    scoring = PromptScoring.from_arguments(given, reference)
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

{_WAIT_SEARCHED}

{_READ}

## 2. Make the encode that the user will get, and check it

For the codec that the user chooses, or the first:

{fenced({"tool": "run_search", "arguments": search})}

Then score the file. {scoring.steps(reference, output)}

{VALID}

{_CHECK}

## 3. Explain

{SCALE}

{_PRESENT_BITRATES}
"""


def _source(reference: str, scoring: PromptScoring) -> dict[str, Any]:
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
        _REFERENCE,
        argument("target", "Target score", f"VMAF to reach, {_DEFAULT_TARGET} if left out."),
        argument("codecs", "Codecs", "One or more, such as 'h264, hevc, av1'; h264 if left out."),
        *(entry for entry in SCORING_ARGUMENTS if entry.name != "backend"),
    ),
    _choice,
)


# ---- compare_encodes ------------------------------------------------------------

_FAIR: Final = """\
The two must have been compared with the same reference in the same way: same model, same number of frames, \
same conversions in the notes. If one was scaled and the other wasn't, say so: that is part of the result. \
If the frame counts differ, find out why before you go on."""

_WAIT_COMPARED: Final = """\
Then call `get_job` with the job_id every few seconds until `status` is `completed`; `progress` tells how \
far it is, `list_jobs` which others wait. `result` has the `ranking`, and in `pairs` for each encode score, \
harmonic mean, 5th percentile (`p5`), minimum, `kbps` and `bytes`, or its `error`. Its `report` is a \
resource with everything: for each encode `summary` (`models` with `percentiles.p5` and others, `worst`, the \
lowest frames), `about` (what the checks below call `acuity`), and the scores of every frame; \
`/report.html` after it is a page with both curves for the user. What features say of a stretch is in \
`get_frames` of a score of that encode alone."""

_DIFFERENCES: Final = """\
1. Difference of the means, of the harmonic means and of the 5th percentiles (B minus A).
2. `differences` compares them frame by frame: `mean` is of `a` less `b` by their names, `ci95` its 95 % \
interval. With `tie` the interval reaches zero: call it a tie. `better_share` says in how many frames `a` is \
better, `worst` where they differ most: a tie in the mean can be a clear win in dark scenes and a clear loss \
in fast ones.
3. The sizes: `bytes` of both files, and `kbps`, the bitrate of the video alone. \
A better score at a higher bitrate decides nothing by itself; say what a point costs. If the bitrates \
differ by more than a tenth, tell the user that a fair verdict needs encodes of equal bitrate, or two more \
points on each curve."""

_PRESENT_COMPARISON: Final = """\
Tell the user:
1. The winner and the margin in one sentence, or "no visible difference" where the margin is under 2 points \
and no stretch differs by more than 6.
2. A table with a column for A, B and B minus A: mean, harmonic mean, 5th percentile, minimum, NEG mean, \
bitrate, size.
3. Where they differ most: up to three stretches, with frames and times, to look at side by side.
4. What speaks against the verdict: notes, warnings, unequal bitrates, enhancement."""


def _comparison(given: Mapping[str, str]) -> str:
    reference, a, b = given["reference"], given["a"], given["b"]
    scoring = PromptScoring.from_arguments(given, reference)
    call = fenced(scoring.comparison(reference, a, b))
    calls = "\n\n".join((call, *scoring.remarks(reference, a, b), _WAIT_COMPARED, REFUSED))
    return f"""\
Compare two encodes of the same source: which is better, by how much, and would anyone see it?

- reference: {reference}
- A: {a}
- B: {b}

## 1. Score both

Call `submit_job` with

{calls}

## 2. Check the comparisons

{VALID}

{_FAIR}

## 3. Compare

{_DIFFERENCES}

If A and B come from different encoders, or one was sharpened or filtered, submit it once more with \
`"model": "{MODEL_NEG}"`. Where the winner changes, the difference was enhancement.

## 4. Explain

{SCALE}

{_PRESENT_COMPARISON}
"""


COMPARE_ENCODES: Final = make_prompt(
    "compare_encodes",
    "Compare two encodes",
    "Scores two encodes of one source and says which is better, where, and whether viewers would notice.",
    (
        _REFERENCE,
        argument("a", "Encode A", "Path of the first encode.", required=True),
        argument("b", "Encode B", "Path of the second encode.", required=True),
        *SCORING_ARGUMENTS,
    ),
    _comparison,
)


PROMPTS: Final[tuple[Prompt, ...]] = (DIAGNOSE_ENCODE, CHOOSE_BITRATE, COMPARE_ENCODES)
