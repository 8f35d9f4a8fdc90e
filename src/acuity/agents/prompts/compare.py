"""The prompt compare_encodes: which of two encodes is better, by how much, and whether viewers notice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from acuity.agents.prompts.scoring import (
    MODEL_NEG,
    REFUSED,
    SCALE,
    SCORING_ARGUMENTS,
    VALID,
    Scoring,
    argument,
    fenced,
    make_prompt,
)

_FAIR: Final = """\
The two must have been compared with the same reference in the same way: same model, same number of frames, \
same conversions in the notes. If one was scaled and the other wasn't, say so: that is part of the result. \
If the frame counts differ, find out why before you go on."""

_WAIT: Final = """\
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

_PRESENT: Final = """\
Tell the user:
1. The winner and the margin in one sentence, or "no visible difference" where the margin is under 2 points \
and no stretch differs by more than 6.
2. A table with a column for A, B and B minus A: mean, harmonic mean, 5th percentile, minimum, NEG mean, \
bitrate, size.
3. Where they differ most: up to three stretches, with frames and times, to look at side by side.
4. What speaks against the verdict: notes, warnings, unequal bitrates, enhancement."""


def _write(given: Mapping[str, str]) -> str:
    reference, a, b = given["reference"], given["a"], given["b"]
    scoring = Scoring.from_arguments(given, reference)
    call = fenced(scoring.comparison(reference, a, b))
    calls = "\n\n".join((call, *scoring.remarks(reference, a, b), _WAIT, REFUSED))
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

{_PRESENT}
"""


COMPARE_ENCODES: Final = make_prompt(
    "compare_encodes",
    "Compare two encodes",
    "Scores two encodes of one source and says which is better, where, and whether viewers would notice.",
    (
        argument("reference", "Reference", "Path of the source, as the server sees it.", required=True),
        argument("a", "Encode A", "Path of the first encode.", required=True),
        argument("b", "Encode B", "Path of the second encode.", required=True),
        *SCORING_ARGUMENTS,
    ),
    _write,
)
