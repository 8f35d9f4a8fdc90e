"""Files whose frames are not the same, with align='auto': what is left out, and what it refuses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import acuity
from acuity.errors import PairingError
from acuity.video.pairs.pairing import Pairing
from acuity.video.readers.open import open_video
from misaligned_clips import (
    CASES,
    COUNT,
    FRAMES,
    PATTERNS,
    Luma,
    Make,
    encode_luma,
    frames_of,
    left_out,
)
from video_clips import gray_y4m, pair, paired, piped

UNTOLD = "it can't be told where they differ"


def followed(ref: Path, dis: Path) -> Pairing:
    return paired(ref, dis, align="auto")


def reasons(pairing: Pairing) -> list[tuple[str, int, int]]:
    return [(done.reason, done.leave_out_ref, done.leave_out_dis) for done in pairing.decisions]


@pytest.mark.parametrize("case", [case for case, (_, _, left) in CASES.items() if left])
def test_auto_leaves_out_what_the_other_lacks(case: str, source: Path, make: Make) -> None:
    shown, _, left = CASES[case]
    assert left is not None
    pairing = followed(source, make(shown))
    [(pair, *skipped)] = left_out(pairing)
    assert skipped == [*left[1:]]
    assert abs(pair - left[0]) <= 1  # of two equal frames, either is one too many
    assert [note.level for note in pairing.notes if note.code == "alignment"] == ["info"]


def test_frames_left_at_the_end_of_a_late_video_are_no_warning(source: Path, make: Make) -> None:
    pairing = followed(source, make(CASES["delay1"][0]))
    [told] = [note for note in pairing.notes if note.code == "frame-count"]
    assert told.level == "info"
    assert told.text.startswith(f"the last frame of '{source}' is not compared: ")


def test_auto_follows_several_faults(source: Path, make: Make) -> None:
    dis = make([*range(2, 25), *range(26, 45), 44, *range(45, 60)])
    assert reasons(followed(source, dis)) == [("shift", 2, 0), ("lost", 1, 0), ("doubled", 0, 1)]


def test_auto_scores_a_frozen_stretch_and_says_so(source: Path, make: Make) -> None:
    pairing = followed(source, make(CASES["freeze"][0]))
    assert reasons(pairing) == [("frozen", 0, 0)]
    assert pairing.pairs == COUNT


def test_auto_keeps_a_freeze_over_held_pictures(clip_of: Make) -> None:
    shown = [*range(21), *[20] * 12, *range(33, COUNT)]
    pairing = followed(clip_of("twos", range(COUNT)), clip_of("twos", shown, crf="24"))
    assert reasons(pairing) == [("frozen", 0, 0)]
    assert pairing.pairs == COUNT


def test_auto_refuses_what_leaving_out_does_not_help(source: Path, make: Make) -> None:
    with pytest.raises(PairingError, match=r"cannot be put right by leaving out frames: pass align='off'"):
        followed(source, make(CASES["swap23"][0]))


# Source frames that are shown, and which of the encode's are compared with which of the source's.
SEVERAL = {
    "two": [n for n in range(60) if n not in (7, 22)],
    "six": [n for n in range(60) if n not in (7, 8, 22, 40, 41, 42)],
    "every 10th": [n for n in range(60) if n % 10 != 9],
    "every 4th": [n for n in range(60) if n % 4 != 3],
    "half": CASES["half"][0],
    "at the end": [n for n in range(60) if n != 56],
    "lost and padded": CASES["drop1pad"][0],
    "two doubled": [*range(15), 14, *range(15, 40), 39, *range(40, 60)],
    "doubled, lost": [*range(15), 14, *range(15, 40), *range(41, 60)],
    "head, lost": [*range(2, 30), *range(31, 60)],
}


@pytest.mark.parametrize("case", SEVERAL)
def test_auto_gives_the_score_of_the_frames_that_were_kept(
    case: str, source: Path, make: Make, frames: list[Luma], tmp_path: Path
) -> None:
    """The truth: each picture of the encode beside the frame of the source that was encoded."""
    shown = SEVERAL[case]
    dis = make(shown, crf="28")
    report = acuity.score(source, dis, align="auto")
    with open_video(dis) as reader:
        pictures = [picture.luma.copy() for picture in reader]
    numbered, truths = [*enumerate(shown)], []
    for order in (numbered, numbered[::-1])[: 1 + (len(set(shown)) < len(shown))]:
        # Of two copies of a frame, either may be left out.
        kept = dict(sorted({n: index for index, n in order}.items()))
        ref = gray_y4m(tmp_path / "ref.y4m", [frames[n] for n in kept])
        cut = gray_y4m(tmp_path / "dis.y4m", [pictures[index] for index in kept.values()])
        truths.append(acuity.score(ref, cut, align="off"))
    assert len(report.results.frames) == len(truths[0].results.frames)
    assert min(abs(report.score - truth.score) for truth in truths) < 0.1


def test_auto_takes_one_of_frames_that_are_all_shown_twice(source: Path, make: Make) -> None:
    left = left_out(followed(source, make(CASES["twice"][0])))
    assert [sum(column) for column in zip(*left, strict=True)][1:] == [0, 30]


@pytest.mark.parametrize("lost", [range(4, 60, 5), [56]])
def test_times_say_which_frames_are_missing(lost: Sequence[int], source: Path, make: Make) -> None:
    """Where pictures can't, at a quality that shows next to nothing: of a variable rate, and of a rate that
    the first frames say is constant.
    """
    shown = [n for n in range(COUNT) if n not in lost]
    dis = make(shown, "gaps.mkv", crf="51", preset="veryfast", times=shown)
    last = [n for n in lost if n < shown[-1]]
    assert left_out(followed(source, dis)) == [(n - place, 1, 0) for place, n in enumerate(last)]


def test_pictures_that_contradict_the_times_are_followed(clip_of: Make) -> None:
    """A frame that is shown twice delays those after it, which times don't tell."""
    shown = [n for n in range(FRAMES) for _ in range(1 + (n == 14)) if n != 33]
    times = [n + (place > 14) for place, n in enumerate(shown)]
    pairing = followed(clip_of("zoom", range(FRAMES)), clip_of("zoom", shown, crf="28", times=times))
    assert [left[1:] for left in left_out(pairing)] == [(0, 1), (1, 0)]


@pytest.fixture(scope="module")
def dark(clip_of: Make) -> Path:
    """Slow motion that encoders of low quality don't follow."""
    return clip_of("slowdark", range(FRAMES))


def test_where_pictures_tell_nothing_a_rule_is_followed(dark: Path, clip_of: Make) -> None:
    shown = [n for n in range(FRAMES) if n % 10 != 9]
    pairing = followed(dark, clip_of("slowdark", shown, crf="36"))
    assert pairing.pairs == 90
    assert [left[1] for left in left_out(pairing)] == [1] * 9


def test_where_pictures_and_lengths_tell_nothing_it_is_refused(dark: Path, clip_of: Make) -> None:
    shown = [n for n in range(FRAMES) for _ in range(1 + (n in (15, 31)))]
    said = rf"{UNTOLD}, because frames \d+ to 10\d of .*: compare a better encode"
    with pytest.raises(PairingError, match=said):
        followed(dark, clip_of("slowdark", shown, crf="28"))


def test_a_late_video_whose_pictures_tell_nothing_is_refused(dark: Path, clip_of: Make) -> None:
    """Its times go on after those of the reference, so that some frames are too many: which, is not known."""
    shown = [n for n in range(FRAMES) for _ in range(1 + (n in (0, 34))) if n != 18]
    times = [n + (place > 0) + (place > 34) for place, n in enumerate(shown)]
    with pytest.raises(PairingError, match=UNTOLD):
        followed(dark, clip_of("slowdark", shown, crf="28", times=times))


def test_auto_invents_no_faults_where_the_quality_hides_them(dark: Path, clip_of: Make) -> None:
    """An encode of so low a quality that other frames fit better, of all frames."""
    made = followed(dark, clip_of("slowdark", range(FRAMES), crf="40"))
    assert made.pairs == FRAMES
    assert made.decisions == []


def test_places_that_move_the_mean_score_are_refused_by_their_frames(clip_of: Make) -> None:
    """A burst and a single loss in held pictures: the second's place is hidden for 50 frames."""
    shown = [each.frame for each in PATTERNS["burst"].shown(FRAMES)]
    with pytest.raises(PairingError, match=UNTOLD) as error:
        followed(clip_of("twos", range(FRAMES)), clip_of("twos", shown, crf="36"))
    place = re.search(r"frames (\d+) to (\d+) of", str(error.value))
    assert place is not None
    assert int(place[1]) <= 30 < 60 <= int(place[2])


def test_times_are_believed_where_pictures_hardly_tell_frames_apart(clip_of: Make) -> None:
    """The encoder's frames between coded ones move evenly, as if another frame of each five were lost."""
    shown = [n for n in range(FRAMES) if n % 5 != 4]
    pairing = followed(clip_of("dark", range(FRAMES)), clip_of("dark", shown, crf="34", times=shown))
    assert [left[0] for left in left_out(pairing)] == [*range(4, 80, 4)]


def test_a_still_scene_hides_no_faults_of_others(tmp_path: Path) -> None:
    moving, rng = frames_of("zoom"), np.random.default_rng(1)
    still = [np.clip(moving[0] + rng.normal(0, 2, moving[0].shape), 16, 235).astype("u1") for _ in range(150)]
    frames = still + moving
    source = encode_luma(tmp_path / "src.mkv", frames, codec="ffv1")
    pairing = followed(source, encode_luma(tmp_path / "x.mkv", frames[:200] + frames[201:], crf="30"))
    [(pair, lost, _)] = left_out(pairing)
    assert lost == 1
    assert abs(pair - 200) <= 3


def test_faults_at_low_quality_are_placed_within_a_few_frames(clip_of: Make) -> None:
    """Where the encoder leaves more error than a frame of motion makes."""
    shown = [n for n in range(FRAMES) if n not in (7, 22)]
    pairing = followed(clip_of("zoom", range(FRAMES)), clip_of("zoom", shown, crf="36"))
    one, other = (pair for pair, lost, _ in left_out(pairing) if lost == 1)
    assert abs(one - 7) <= 2
    assert abs(other - 21) <= 3


@pytest.mark.parametrize("still", [False, True])
def test_auto_warns_of_a_stretch_of_other_content_too(
    still: bool, source: Path, frames: list[Luma], others: list[Luma], tmp_path: Path
) -> None:
    """A card that stands still is no freeze: it shows nothing of the source."""
    shown = [*frames[:20], *([others[0]] * 15 if still else others), *frames[35:]]
    made = followed(source, encode_luma(tmp_path / "x.mp4", shown, crf="26"))
    assert made.pairs == COUNT
    assert [(d.reason, d.pair) for d in made.decisions] == [("other", 20)]
    (note,) = [note for note in made.notes if note.code == "alignment"]
    assert note.level == "warning"
    assert re.search("shows other pictures than .* from frame 20 to 34", note.text)


@pytest.mark.parametrize(
    ("parts", "said", "black"),
    [
        ((0, 45, 15), "the last 15 and 15 frames of the videos don't match", False),
        ((0, 45, 15), "the last 15 and 15 frames of the videos don't match", True),
        ((0, 60, 15), "ended before", False),
        ((15, 60, 0), "is 15 frames behind", True),
    ],
)
def test_auto_pairs_no_frame_with_other_content(
    parts: tuple[int, int, int],
    said: str,
    black: bool,
    source: Path,
    frames: list[Luma],
    others: list[Luma],
    tmp_path: Path,
) -> None:
    head, kept, tail = parts
    strange = [np.full_like(others[0], 16)] * 15 if black else others
    shown = [*strange[:head], *frames[:kept], *strange[:tail]]
    made = followed(source, encode_luma(tmp_path / "x.mp4", shown, crf="26"))
    assert made.pairs == kept
    assert sum(decision.leave_out_dis for decision in made.decisions) == head
    assert any(said in note.text for note in made.notes)


def test_auto_needs_files(tmp_path: Path, frames: list[Luma]) -> None:
    ref = gray_y4m(tmp_path / "ref.y4m", frames)
    said = r"align='auto' reads both videos twice, and .* pass a file, or align='off'"
    with piped(tmp_path, ref.read_bytes()[:100]) as pipe, pytest.raises(PairingError, match=said):
        pair(ref, pipe, align="auto")
