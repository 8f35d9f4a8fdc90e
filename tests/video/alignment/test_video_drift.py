"""Lags that no single frame shows: dark and slow pictures at low quality, and held pictures."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from misaligned_clips import FAULTS, FRAMES, encode_luma, found, frames_of, reference_signatures, signatures

SHOWN = {
    "clean": [*range(FRAMES)],
    "delay1": FAULTS["delay1"].shown(FRAMES),
    "head1": FAULTS["head1"].shown(FRAMES),
    "head3": FAULTS["head3"].shown(FRAMES),
    "drop1": FAULTS["drop1"].shown(FRAMES),
    "dup1": FAULTS["dup1"].shown(FRAMES),
}
NAMES = {name: (fault.kind, fault.lag) for name, fault in FAULTS.items()}


@pytest.mark.parametrize("content", ["dark", "zoom", "twos", "threes", "pulldown"])
def test_a_lag_is_found_at_low_quality(content: str, tmp_path: Path) -> None:
    frames = frames_of(content)
    ref = reference_signatures(frames)
    crf = {"dark": "36", "zoom": "28"}.get(content, "32")
    for name, shown in SHOWN.items():
        encoded = encode_luma(tmp_path / f"{name}.mkv", [frames[n] for n in shown], crf=crf)
        finding = found(ref, signatures(encoded))
        told = None if finding is None else (finding.kind, finding.lag)
        assert told == NAMES.get(name), (content, name)


@pytest.mark.parametrize(("content", "late"), [*itertools.product(["twos", "threes", "pulldown"], [1, 2, 3])])
def test_held_pictures_that_come_late(content: str, late: int) -> None:
    """The very same pictures, a few frames late: what is advised is what mends it."""
    ref = reference_signatures(frames_of(content))
    finding = found(ref, [*[ref[0]] * late, *ref[: FRAMES - late]])
    assert finding is not None
    assert (finding.kind, finding.lag) == ("shift", -late)


@pytest.mark.parametrize("content", ["twos", "threes", "pulldown"])
def test_a_held_picture_that_is_shown_once_more(content: str) -> None:
    ref = reference_signatures(frames_of(content))
    finding = found(ref, [*ref[:31], *ref[30 : FRAMES - 1]])
    assert finding is not None
    assert (finding.kind, finding.lag) == ("doubled", -1)
    assert 26 <= finding.frame <= 33  # within the picture


@pytest.mark.parametrize(
    ("content", "how"),
    [
        ("pulldown", {"preset": "superfast", "bf": "0", "crf": "45"}),
        ("twos", {"crf": "40"}),
        ("fades", {"preset": "ultrafast", "pix_fmt": "yuv420p10le", "crf": "40"}),
        ("zoom", {"preset": "ultrafast", "pix_fmt": "yuv420p10le", "crf": "36"}),
        ("dim", {"preset": "superfast", "bf": "0", "crf": "30"}),
    ],
)
def test_an_encoder_that_lags_behind_its_source_is_no_alarm(
    content: str, how: dict[str, str], tmp_path: Path
) -> None:
    """At low quality frames resemble earlier ones, though each is at its place."""
    frames = frames_of(content, 1)
    encoded = encode_luma(tmp_path / "clean.mkv", frames, **how)  # type: ignore[arg-type]
    assert found(reference_signatures(frames), signatures(encoded)) is None
