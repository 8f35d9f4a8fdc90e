"""The prompt diagnose_encode: how good an encode is, where it is worst, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from acuity.agents.prompts.scoring import (
    FEATURES,
    MODEL_NEG,
    SCALE,
    SCORING_ARGUMENTS,
    VALID,
    Scoring,
    argument,
    fenced,
    make_prompt,
)

_PRESENT: Final = """\
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


def _write(given: Mapping[str, str]) -> str:
    reference, distorted = given["reference"], given["distorted"]
    scoring = Scoring.from_arguments(given, reference)
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

{_PRESENT}
"""


DIAGNOSE_ENCODE: Final = make_prompt(
    "diagnose_encode",
    "Diagnose an encode",
    "Scores an encode against its source, finds the worst stretches, and explains what is wrong with them.",
    (
        argument("reference", "Reference", "Path of the source, as the server sees it.", required=True),
        argument("distorted", "Encode", "Path of the encode to judge.", required=True),
        *SCORING_ARGUMENTS,
        argument("feature", "Further feature", "One more extractor to record, as in 'vif=debug=true'."),
    ),
    _write,
)
