"""Texts about the meaning of VMAF figures, which the prompts share."""

from __future__ import annotations

from typing import Final

VALID: Final = """\
Before you believe a number, check that the comparison is sound:
- `mismatched_model_warning`: the model was made for another picture size. Score again with the model it \
names if it names one; otherwise say so beside every figure, and compare only scores of that size.
- `notes` and `acuity.input`: scaling, conversions of format or range, frames that were left out, a \
time offset. Tell the user each one that changes what was compared; a note of level `warning` may be the \
whole explanation of a bad score.
- `acuity.frames`, against the length of the clip.
- a mean under 30, or scores that drop at one frame and never come back: suspect frames out of step \
(a frame lost or doubled), a wrong geometry, or reference and encode swapped, before you blame the encoder.
- 100 on every frame: the same file twice, or a 4K model on small pictures."""

SCALE: Final = """\
What the numbers mean:
- VMAF runs from 0 to 100. It predicts what viewers say in the conditions the model was made for: \
vmaf_v0.6.1 a 1080p screen from three times its height away, vmaf_4k_v0.6.1 a 4K screen from one and a \
half times. From about 93 on it is hard to tell from the reference, 80 is good with visible loss, 60 is \
fair, under 40 is poor. Scores of different models are different scales: never compare them.
- About 6 points are one just noticeable difference: half of the viewers would see it. Under 2 points \
hardly anybody does; don't call that a winner.
- The mean hides short bad stretches. The harmonic mean weighs low frames more: one or two points below the \
mean says that some frames are much worse than the rest. The 5th percentile (`percentiles.p5` in `models`) \
and the minimum say how bad the bad part is; a single low frame at a cut is no reason for alarm, half a \
second of them is.
- The NEG model (vmaf_v0.6.1neg) doesn't reward sharpening and contrast enhancement. VMAF well above NEG \
means that part of the score is enhancement, not fidelity; use NEG to compare encoders or pre-filters that \
may enhance."""

FEATURES: Final = """\
What the features tell about a bad stretch, against their own values in the good parts:
- `integer_vif_scale0` down and `integer_vif_scale3` nearly unchanged: fine detail and grain are gone \
(blur, a strong quantiser, an upscaled source). All four scales down: coarse structure is hurt too \
(heavy blocking, a wrong frame, a shift of the picture).
- `integer_adm2` down: edges and texture are lost or masked by added structure such as blocking and ringing.
- `integer_motion2` high where the score is low: fast motion starved of bits. Low score at low motion: \
dark or flat areas, a fade, or a rate control that ran dry.
- low frames at regular distances: key frames or the frames before them (pulsing)."""
