"""The aligner on made-up signatures: what it names, and when it keeps quiet."""

from __future__ import annotations

import functools
import tracemalloc
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acuity.video.alignment.aligner import FAR, Aligner
from acuity.video.alignment.faults import Misalignment
from acuity.video.picture import Signature
from effort import examples
from misaligned_clips import FAULTS, found, frames_of, pan, reference_signatures

CELLS = (18, 32)


@functools.lru_cache(maxsize=64)  # making them is most of the work, and tests have few seeds
def _scene(count: int, seed: int, speed: float) -> list[Signature]:
    return pan(range(count), seed, cells=CELLS, waves=40, speed=0.1 * speed)


def moving(count: int, seed: int = 0, speed: float = 2.0) -> list[Signature]:
    return _scene(-(-count // 120) * 120, seed, speed)[:count]


def coded(signatures: Sequence[Signature], noise: float = 0.5, seed: int = 9) -> list[Signature]:
    """With an encoder's error, most of which stays from frame to frame."""
    rng = np.random.default_rng(seed)
    cells = signatures[0].shape if signatures else CELLS
    stays = rng.normal(0, noise, cells)
    return [(one + stays + rng.normal(0, noise / 3, cells)).astype(np.float32) for one in signatures]


def told(ref: Sequence[Signature], dis: Sequence[Signature]) -> tuple[str, int, int] | None:
    """The kind, frame and lag of what is found."""
    finding = found(ref, dis)
    return finding and (finding.kind, finding.frame, finding.lag)


@settings(max_examples=examples(25), deadline=None)
@given(lag=st.integers(-60, 60).filter(bool), seed=st.integers(0, 5))
def test_a_shift_is_found_with_its_lag(lag: int, seed: int) -> None:
    source = moving(220, seed)
    assert told(source[max(-lag, 0) :], coded(source[max(lag, 0) :])) == ("shift", 0, lag)


@settings(max_examples=examples(25), deadline=None)
@given(pairs=st.integers(12, 60), lag=st.integers(-60, 60).filter(bool), seed=st.integers(0, 5))
def test_what_a_short_clip_lost_is_found_in_the_rest_of_the_longer(pairs: int, lag: int, seed: int) -> None:
    source = moving(pairs + abs(lag), seed)
    short, long = source[abs(lag) :], source
    ref, dis = (long, short) if lag > 0 else (short, long)
    assert told(ref, coded(dis)) == ("shift", 0, lag)


@settings(max_examples=examples(25), deadline=None)
@given(pairs=st.integers(2, 60), more=st.integers(-60, 60), seed=st.integers(0, 5))
def test_a_clip_that_only_ends_earlier_is_no_alarm(pairs: int, more: int, seed: int) -> None:
    source = moving(pairs + abs(more), seed)
    ref, dis = (source, source[:pairs]) if more > 0 else (source[:pairs], source)
    assert found(ref, coded(dis)) is None


@settings(max_examples=examples(25), deadline=None)
@given(frame=st.integers(12, 150), count=st.integers(1, 20), seed=st.integers(0, 5), lost=st.booleans())
def test_lost_and_doubled_frames_are_found_in_place(frame: int, count: int, seed: int, lost: bool) -> None:
    source = moving(240, seed)
    again = source[frame - 1 : frame] * count
    shown = source[:frame] + (source[frame + count :] if lost else again + source[frame:])
    doubled = [("doubled", place, -count) for place in range(frame - 2, frame + 1)]  # which of equal frames?
    assert told(source, coded(shown)) in ([("lost", frame, count)] if lost else doubled)


@settings(max_examples=examples(25), deadline=None)
@given(noise=st.floats(0, 4), speed=st.floats(0, 4), seed=st.integers(0, 20), count=st.integers(0, 120))
def test_frames_that_match_raise_no_alarm(noise: float, speed: float, seed: int, count: int) -> None:
    source = moving(count, seed, speed)
    assert found(source, coded(source, noise, seed)) is None


@settings(max_examples=examples(20), deadline=None)
@given(noise=st.floats(0, 4), seed=st.integers(0, 20), share=st.floats(0.65, 0.95))
def test_an_encoder_that_lags_behind_raises_no_alarm(noise: float, seed: int, share: float) -> None:
    """As at low quality: of each frame only a share is coded, the rest is what was shown before."""
    source = moving(120, seed)
    shown = [source[0]]
    for one in source[1:]:
        shown.append(share * one + (1 - share) * shown[-1])
    assert found(source, coded(shown, noise, seed)) is None


@pytest.mark.parametrize("level", [-112.0, 0.0, 107.0])
def test_pictures_of_one_colour_raise_no_alarm(level: float) -> None:
    flat = [np.full(CELLS, level, np.float32)] * 80
    assert found(flat, coded(flat)) is None


def test_one_frame_is_no_evidence() -> None:
    assert found(moving(1), moving(1, seed=3)) is None


@pytest.mark.parametrize(
    ("shown", "finding"),
    [
        ([*range(40), 41, 40, *range(42, 80)], Misalignment("swapped", 40, 0, 2)),
        ([*range(40), *[39] * 10, *range(50, 80)], Misalignment("frozen", 40, 0, 10)),
        ([*range(80)][::-1], Misalignment("reversed", 0, 0, 79)),
    ],
)
def test_frames_that_stand_elsewhere(shown: list[int], finding: Misalignment) -> None:
    source = moving(80)
    assert found(source, coded([source[n] for n in shown], 0.2)) == finding


def test_a_fade_after_a_doubled_frame_is_not_swapped() -> None:
    """One frame late, the end of one fade and the start of the next look like two frames swapped."""
    source = reference_signatures(frames_of("fades", 1))
    kind, _, lag = told(source, coded([source[n] for n in FAULTS["dup1"].shown(len(source))])) or ("", 0, 0)
    assert (kind, lag) == ("doubled", -1)


def test_every_frame_twice_and_every_second_frame() -> None:
    source = moving(120)
    assert getattr(found(source, coded([source[n // 2] for n in range(120)])), "kind", None) == "twice"
    assert getattr(found(source, coded(source[::2])), "kind", None) == "half"


def test_other_content() -> None:
    assert told(moving(2 * FAR, 1), coded(moving(2 * FAR, 2))) == ("other", 0, 0)


def test_a_finding_is_certain_before_it_has_a_name() -> None:
    source = moving(120)
    aligner = Aligner()
    certain = []
    for ref, dis in zip(source, coded(source[1:]), strict=False):
        certain.append(aligner.certain)
        if aligner.add(ref, dis) is not None:
            break
    assert not certain[8]
    assert certain[-1]
    assert len(certain) < 60


def test_a_break_in_a_long_video_is_found_where_it_is() -> None:
    source = moving(1500, speed=3.0)
    assert told(source, coded([*source[:1203], *source[1205:]])) == ("lost", 1203, 2)


def test_memory_does_not_grow_with_the_video() -> None:
    source = moving(400)
    shown = coded(source, 0.2)
    aligner = Aligner()
    sizes = []
    tracemalloc.start()
    try:
        for _ in range(4):
            for ref, dis in zip(source, shown, strict=True):
                assert aligner.add(ref.copy(), dis.copy()) is None
            sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert sizes[-1] - sizes[1] < 100_000
