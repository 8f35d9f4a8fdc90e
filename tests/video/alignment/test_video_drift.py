"""Lags that no single frame shows: dark and slow pictures at low quality, and held pictures."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest

from acuity.video.alignment.faults import Misalignment
from acuity.video.alignment.path import Solver
from acuity.video.picture import Signature
from misaligned_clips import FAULTS, FRAMES, encode_luma, found, frames_of, reference_signatures, signatures

SHOWN = {name: FAULTS[name].shown(FRAMES) for name in ("delay1", "head1", "drop1", "dup1")}
SHOWN["clean"] = [*range(FRAMES)]
NAMES = {name: (fault.kind, fault.lag) for name, fault in FAULTS.items()}


def told(ref: Sequence[Signature], dis: Iterable[Signature]) -> tuple[str, int] | None:
    """The kind and the lag of what is found."""
    finding = found(ref, dis)
    return finding and (finding.kind, finding.lag)


@pytest.mark.parametrize("content", ["dark", "zoom", "twos", "threes", "pulldown"])
def test_a_lag_is_found_at_low_quality(content: str, tmp_path: Path) -> None:
    frames = frames_of(content)
    ref = reference_signatures(frames)
    # At 36 a doubled frame of "dark" is found in three of four encodes: x264's differ from run to run.
    crf = {"dark": "35", "zoom": "28"}.get(content, "32")
    for name, shown in SHOWN.items():
        encoded = encode_luma(tmp_path / f"{name}.mkv", [frames[n] for n in shown], crf=crf)
        assert told(ref, signatures(encoded)) == NAMES.get(name), (content, name)


@pytest.mark.parametrize(("content", "late"), [*itertools.product(["twos", "threes", "pulldown"], [1, 2, 3])])
def test_held_pictures_that_come_late(content: str, late: int) -> None:
    """The very same pictures, a few frames late: what is advised is what mends it."""
    ref = reference_signatures(frames_of(content))
    assert told(ref, [*[ref[0]] * late, *ref[: FRAMES - late]]) == ("shift", -late)


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
def test_an_encoder_that_lags_behind_is_no_alarm(content: str, how: dict[str, str], tmp_path: Path) -> None:
    """At low quality frames resemble earlier ones, though each is at its place."""
    frames = frames_of(content, 1)
    encoded = encode_luma(tmp_path / "clean.mkv", frames, **how)  # type: ignore[arg-type]
    assert found(reference_signatures(frames), signatures(encoded)) is None


def test_slow_motion_made_of_blends_hides_a_lag() -> None:
    """All changes between two pictures are the same: a frame that is coded in part is one between them."""
    rng = np.random.default_rng(1)
    source = [
        ((1 - part) * before + part * after).astype(np.float32)
        for before, after in itertools.pairwise(rng.normal(0, 15, (9, 54, 96)))
        for part in np.arange(14) / 14
    ]
    shown, stays = [source[0]], rng.normal(0, 4, (54, 96)).astype(np.float32)
    for one in source[1:]:
        shown.append(np.float32(0.58) * one + np.float32(0.42) * shown[-1])
    coded = [one + stays for one in shown]
    assert found(source, coded) is None
    solver = Solver(timed=False)  # as align=auto does
    for side, taken in ((solver.ref, source), (solver.dis, coded)):
        side.signatures, side.times = list(taken), [None] * len(taken)
    assert all(frame == match for frame, match, _ in solver.solve(over=True, ends=True))


def test_a_frame_lost_and_one_doubled_soon_after_are_told(tmp_path: Path) -> None:
    """The videos have the same length, and most frames match."""
    frames = frames_of("twos")
    shown = [*range(40), *range(41, 53), 52, *range(53, FRAMES)]
    encoded = encode_luma(tmp_path / "x.mkv", [frames[n] for n in shown], crf="28")
    finding = found(reference_signatures(frames), signatures(encoded))
    assert finding is not None
    assert (finding.kind, finding.lag) == ("detour", 1)
    assert 40 <= finding.frame < finding.frame + finding.frames <= 53


def test_a_short_freeze_is_told() -> None:
    source = reference_signatures(frames_of("grain"))
    assert found(source, [*source[:51], *[source[50]] * 4, *source[55:]]) == Misalignment("frozen", 51, 0, 4)
