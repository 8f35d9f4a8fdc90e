"""Files whose frames are not the same: refused with a sentence, followed, warned about, or left alone."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import acuity
from acuity.errors import PairingError
from acuity.video.pairs.pair_options import PairOptions
from acuity.video.pairs.pairing import Pairing, pair_videos
from acuity.video.readers.open import open_video
from misaligned_clips import HEIGHT, PATTERNS, WIDTH, Luma, encode_luma, frames_of
from video_clips import feed, y4m_bytes

COUNT = 60
Make = Callable[..., Path]


@pytest.fixture(scope="module")
def frames() -> list[Luma]:
    return frames_of("grain")[:COUNT]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory, frames: list[Luma]) -> Path:
    return encode_luma(tmp_path_factory.mktemp("source") / "src.mkv", frames, codec="ffv1")


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory, frames: list[Luma]) -> Make:
    """An encode that shows these frames of the source, made once."""
    known: dict[str, Path] = {}

    def encoded(shown: list[int], name: str = "x.mp4", **how: Any) -> Path:
        key = repr((shown, name, how))
        if key not in known:
            path = tmp_path_factory.mktemp("encode") / name
            options = {"crf": "30", "preset": "ultrafast", **how}
            known[key] = encode_luma(path, [frames[n] for n in shown], **options)
        return known[key]

    return encoded


def paired(ref: Path, dis: Path, **options: Any) -> Pairing:
    pairing = pair_videos(open_video(ref), open_video(dis), options=PairOptions(**options))
    for _ in pairing:
        pass
    return pairing


def y4m(path: Path, frames: list[Luma]) -> Path:
    chroma = np.full((HEIGHT // 2, WIDTH // 2), 128, np.uint8)
    planes = [[luma, chroma, chroma] for luma in frames]
    path.write_bytes(y4m_bytes(planes, f"W{WIDTH} H{HEIGHT} F25:1"))
    return path


# What the encode shows, what is said of it, and what `auto` leaves out: before which pair, and where.
CASES = {
    "trim_head1": ([*range(1, 60)], r"is 1 frame ahead of .*pass skip_ref=1, or align='auto'", (0, 1, 0)),
    "trim_head3": (
        [*range(3, 60)],
        r"is 3 frames ahead of .*pass skip_ref=3, or align='auto'",
        (0, 3, 0),
    ),
    "delay1": ([0, *range(59)], r"is 1 frame behind .*pass skip_dis=1, or align='auto'", (0, 0, 1)),
    "drop3rd": ([0, 1, 2, *range(4, 60)], r"lost 1 frame at frame 3 .*pass align='auto'", (3, 1, 0)),
    "drop1pad": ([*range(20), *range(21, 60), 59], r"lost 1 frame at frame 20 .*pass align='auto'", None),
    "drop1": ([*range(20), *range(21, 60)], r"lost 1 frame at frame 20 .*pass align='auto'", (20, 1, 0)),
    "dup1": (
        [*range(21), *range(20, 59)],
        r"shows a frame twice at frame 2[01] .*pass align='auto'",
        (21, 0, 1),
    ),
    "swap23": (
        [*range(23), 24, 23, *range(25, 60)],
        r"frames 23 and 24 of .* in the other order: .*off",
        None,
    ),
    "freeze": ([*range(20), *[20] * 10, *range(30, 60)], r"stands still from frame 21 to 29 while", None),
    "twice": ([n // 2 for n in range(60)], r"shows every frame of .* twice .*pass align='auto'", None),
    "half": ([*range(0, 60, 2)], r"only every second frame of .*pass align='auto'", None),
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_refused_with_the_place_and_the_option(case: str, source: Path, make: Make) -> None:
    shown, sentence, _ = CASES[case]
    with pytest.raises(PairingError, match=sentence) as caught:
        paired(source, make(shown))
    assert "'" + str(source) + "'" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_evidence_is_in_the_sentence(source: Path, make: Make) -> None:
    with pytest.raises(PairingError, match=r"\(frames 0 to 7 match frames 3 to 10 far better\)"):
        paired(source, make(CASES["trim_head3"][0]))


@pytest.mark.parametrize("case", [case for case, (_, _, left) in CASES.items() if left])
def test_auto_leaves_out_what_the_other_lacks(
    case: str, source: Path, make: Make, frames: list[Luma], tmp_path: Path
) -> None:
    shown, _, left = CASES[case]
    assert left is not None
    dis = make(shown)
    report = acuity.score(source, dis, align="auto")
    [decision] = report.input["alignment"]["decisions"]
    found = (decision["leave_out_ref"], decision["leave_out_dis"])
    assert found == left[1:]
    assert abs(decision["pair"] - left[0]) <= 1  # of two equal frames, either is one too many
    assert [note.level for note in report.notes if note.code == "alignment"] == ["info"]
    # The truth: both without the frames that the other lacks, frame by frame.
    pair, skip_ref, skip_dis = decision["pair"], *found
    ref = y4m(tmp_path / "ref.y4m", frames[:pair] + frames[pair + skip_ref :])
    with open_video(dis) as reader:
        pictures = [picture.luma.copy() for picture in reader]
    cut = y4m(tmp_path / "dis.y4m", pictures[:pair] + pictures[pair + skip_dis :])
    truth = acuity.score(ref, cut, align="off")
    assert report.score == pytest.approx(truth.score, abs=0.01)
    assert report.score > acuity.score(source, dis, align="off").score + 10
    assert len(report.results.frames) == len(truth.results.frames)


@pytest.mark.parametrize(
    ("content", "shown", "sentence"),
    [
        ("grain", [*range(20), *[20] * 5, *range(25, 60)], r"stands still from frame 21 to 24 while "),
        ("grain", [*range(52), *[51] * 8], r"stands still from frame 52 to 59 while "),
        (
            "twos",
            [*range(34), *range(35, 47), 46, *range(47, 60)],
            r"is 1 frame ahead of .* from frame 3\d to 4\d \(.*; pass align='auto' to follow it",
        ),
    ],
)
def test_a_short_fault_is_a_warning(content: str, shown: list[int], sentence: str, tmp_path: Path) -> None:
    frames = frames_of(content)[:60]
    ref = encode_luma(tmp_path / "ref.mkv", frames, codec="ffv1")
    dis = encode_luma(tmp_path / "dis.mkv", [frames[n] for n in shown], crf="28")
    [told] = [note for note in paired(ref, dis).notes if note.code == "alignment"]
    assert told.level == "warning"
    assert re.search(sentence, told.text)


def test_most_frames_between_a_lost_one_and_a_doubled_one_are_refused(tmp_path: Path) -> None:
    frames = frames_of("pulldown")[:60]
    ref = encode_luma(tmp_path / "ref.mkv", frames, codec="ffv1")
    shown = [*range(12), *range(13, 47), 46, *range(47, 60)]
    dis = encode_luma(tmp_path / "dis.mkv", [frames[n] for n in shown], crf="36")
    with pytest.raises(PairingError, match=r"is 1 frame ahead of .* from frame 1\d to 4\d .*align='auto'"):
        paired(ref, dis)


@pytest.mark.parametrize(("period", "crf"), [(30, "28"), (45, "32")])
def test_a_still_picture_in_changing_light_is_not_late(period: int, crf: str, tmp_path: Path) -> None:
    """Encoders let its light change a bit early or late; a frame that is lost there is told all the same."""
    rng = np.random.default_rng(2)
    scene = 120.0 + sum(
        contrast
        * np.kron(rng.normal(0, 1, (-(-HEIGHT // cell), -(-WIDTH // cell))), np.ones((cell, cell)))[
            :HEIGHT, :WIDTH
        ]
        for cell, contrast in ((2, 8), (6, 14), (18, 22), (40, 25))
    )
    frames = [
        np.clip(np.rint(16 + (np.clip(scene, 16, 235) - 16) * light), 16, 235).astype(np.uint8)
        for light in 1 - 0.9 * np.abs(np.sin(np.arange(90) / period))
    ]
    ref = encode_luma(tmp_path / "ref.mkv", frames, codec="ffv1")
    notes = paired(ref, encode_luma(tmp_path / "dis.mkv", frames, crf=crf)).notes
    assert not [note.text for note in notes if note.code == "alignment"]
    with pytest.raises(PairingError, match="lost 1 frame"):
        paired(ref, encode_luma(tmp_path / "lost.mkv", frames[:47] + frames[48:], crf="18"))


@pytest.mark.parametrize("count", [1, 8, 30])
def test_frames_after_few_pairs_tell_whether_they_are_right(count: int, source: Path, make: Make) -> None:
    with pytest.raises(PairingError, match="is 1 frame behind"):
        paired(source, make(CASES["delay1"][0]), frames=count)


def test_a_fault_after_the_last_wanted_pair_is_none_of_its_matter(source: Path, make: Make) -> None:
    assert all(note.code != "alignment" for note in paired(source, make(CASES["drop1"][0]), frames=20).notes)


def test_frames_left_at_the_end_of_a_late_video_are_no_warning(source: Path, make: Make) -> None:
    with paired(source, make(CASES["delay1"][0]), align="auto") as pairing:
        [told] = [note for note in pairing.notes if note.code == "frame-count"]
    assert told.level == "info"
    assert told.text.startswith(f"the last frame of '{source}' is not compared: ")


def test_auto_follows_several_faults(source: Path, make: Make) -> None:
    dis = make([*range(2, 25), *range(26, 45), 44, *range(45, 60)])
    with paired(source, dis, align="auto") as pairing:
        told = [(d.reason, d.leave_out_ref, d.leave_out_dis) for d in pairing.decisions]
    assert told == [("shift", 2, 0), ("lost", 1, 0), ("doubled", 0, 1)]


def test_auto_scores_a_frozen_stretch_and_says_so(source: Path, make: Make) -> None:
    with paired(source, make(CASES["freeze"][0]), align="auto") as pairing:
        assert [(d.reason, d.leave_out_ref, d.leave_out_dis) for d in pairing.decisions] == [("frozen", 0, 0)]
        assert pairing.description["pairs"] == COUNT


def test_auto_refuses_what_leaving_out_does_not_help(source: Path, make: Make) -> None:
    with pytest.raises(PairingError, match=r"cannot be put right by leaving out frames: pass align='off'"):
        paired(source, make(CASES["swap23"][0]), align="auto")


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
    truths = []
    for last in (False, True):  # of two copies of a frame, either may be left out
        kept = {n: index for index, n in (enumerate(shown) if last else reversed([*enumerate(shown)]))}
        ref, cut = tmp_path / f"ref{last}.y4m", tmp_path / f"dis{last}.y4m"
        order = sorted(kept)
        y4m(ref, [frames[n] for n in order])
        y4m(cut, [pictures[kept[n]] for n in order])
        truths.append(acuity.score(ref, cut, align="off"))
    assert len(report.results.frames) == len(truths[0].results.frames)
    assert min(abs(report.score - truth.score) for truth in truths) < 0.1


def test_auto_takes_one_of_frames_that_are_all_shown_twice(source: Path, make: Make) -> None:
    with paired(source, make(CASES["twice"][0]), align="auto") as pairing:
        assert sum(decision.leave_out_dis for decision in pairing.decisions) == 30
        assert sum(decision.leave_out_ref for decision in pairing.decisions) == 0


def test_times_of_a_variable_rate_say_which_frames_are_missing(
    source: Path, frames: list[Luma], tmp_path: Path
) -> None:
    """Also where pictures can't: at a quality that shows next to nothing."""
    shown = [n for n in range(60) if n % 5 != 4]
    times = [*shown]
    dis = encode_luma(tmp_path / "vfr.mkv", [frames[n] for n in shown], crf="51", times=times)
    with paired(source, dis, align="auto") as pairing:
        left = [(d.pair, d.leave_out_ref, d.leave_out_dis) for d in pairing.decisions]
    assert left == [(n, 1, 0) for n in range(4, 48, 4)]


def test_a_gap_that_comes_late_says_which_frame_is_missing(
    source: Path, frames: list[Luma], tmp_path: Path
) -> None:
    """Also of a file whose first frames say that its rate is constant."""
    shown = [n for n in range(60) if n != 56]
    dis = encode_luma(tmp_path / "gap.mkv", [frames[n] for n in shown], crf="51", times=shown)
    with paired(source, dis, align="auto") as pairing:
        left = [(d.pair, d.leave_out_ref, d.leave_out_dis) for d in pairing.decisions]
    assert left == [(56, 1, 0)]


def test_pictures_that_contradict_the_times_are_followed(tmp_path: Path) -> None:
    """A frame that is shown twice delays those after it, which times don't tell."""
    frames = frames_of("zoom")
    source = encode_luma(tmp_path / "src.mkv", frames, codec="ffv1")
    shown = [n for n in range(100) for _ in range(1 + (n == 14)) if n != 33]
    times = [n + (place > 14) for place, n in enumerate(shown)]
    dis = encode_luma(tmp_path / "vfr.mkv", [frames[n] for n in shown], crf="28", times=times)
    with paired(source, dis, align="auto") as pairing:
        left = [(d.leave_out_ref, d.leave_out_dis) for d in pairing.decisions]
    assert left == [(0, 1), (1, 0)]


@pytest.fixture(scope="module")
def dark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Slow motion that encoders of low quality don't follow."""
    frames = frames_of("slowdark")
    return encode_luma(tmp_path_factory.mktemp("dark") / "src.mkv", frames, codec="ffv1")


def test_where_pictures_tell_nothing_a_rule_is_followed(dark: Path, tmp_path: Path) -> None:
    shown = [n for n in range(100) if n % 10 != 9]
    dis = encode_luma(tmp_path / "x.mkv", [frames_of("slowdark")[n] for n in shown], crf="36")
    with paired(dark, dis, align="auto") as pairing:
        assert pairing.pairs == 90
        assert [d.leave_out_ref for d in pairing.decisions] == [1] * 9


def test_where_pictures_and_lengths_tell_nothing_it_is_refused(dark: Path, tmp_path: Path) -> None:
    shown = [n for n in range(100) for _ in range(1 + (n in (15, 31)))]
    dis = encode_luma(tmp_path / "x.mkv", [frames_of("slowdark")[n] for n in shown], crf="28")
    said = r"it can't be told where they differ, because frames \d+ to 10\d of .*: compare a better encode"
    with pytest.raises(PairingError, match=said):
        paired(dark, dis, align="auto")


def test_a_late_video_whose_pictures_tell_nothing_is_refused(dark: Path, tmp_path: Path) -> None:
    """Its times go on after those of the reference, so that some frames are too many: which, is not known."""
    shown = [n for n in range(100) for _ in range(1 + (n in (0, 34))) if n != 18]
    times = [n + (place > 0) + (place > 34) for place, n in enumerate(shown)]
    dis = encode_luma(tmp_path / "x.mkv", [frames_of("slowdark")[n] for n in shown], crf="28", times=times)
    with pytest.raises(PairingError, match="it can't be told where they differ"):
        paired(dark, dis, align="auto")


def test_places_that_move_the_mean_score_are_refused_by_their_frames(tmp_path: Path) -> None:
    """A burst and a single loss in held pictures: the second's place is hidden for 50 frames."""
    frames = frames_of("twos")
    source = encode_luma(tmp_path / "src.mkv", frames, codec="ffv1")
    shown = [each.frame for each in PATTERNS["burst"].shown(len(frames))]
    dis = encode_luma(tmp_path / "x.mkv", [frames[n] for n in shown], crf="36")
    with pytest.raises(PairingError, match="it can't be told where they differ") as error:
        paired(source, dis, align="auto")
    place = re.search(r"frames (\d+) to (\d+) of", str(error.value))
    assert place is not None
    assert int(place[1]) <= 30 < 60 <= int(place[2])


def test_times_are_believed_where_pictures_hardly_tell_frames_apart(tmp_path: Path) -> None:
    """The encoder's frames between coded ones move evenly, as if another frame of each five were lost."""
    frames = frames_of("dark")
    source = encode_luma(tmp_path / "src.mkv", frames, codec="ffv1")
    shown = [n for n in range(100) if n % 5 != 4]
    dis = encode_luma(tmp_path / "x.mkv", [frames[n] for n in shown], crf="34", times=shown)
    with paired(source, dis, align="auto") as pairing:
        assert [d.pair for d in pairing.decisions] == [*range(4, 80, 4)]


def test_a_still_scene_hides_no_faults_of_others(tmp_path: Path) -> None:
    moving, rng = frames_of("zoom"), np.random.default_rng(1)
    still = [np.clip(moving[0] + rng.normal(0, 2, moving[0].shape), 16, 235).astype("u1") for _ in range(150)]
    frames = still + moving
    source = encode_luma(tmp_path / "src.mkv", frames, codec="ffv1")
    shown = [n for n in range(250) if n != 200]
    dis = encode_luma(tmp_path / "x.mkv", [frames[n] for n in shown], crf="30")
    with paired(source, dis, align="auto") as pairing:
        [decision] = pairing.decisions
    assert decision.leave_out_ref == 1
    assert abs(decision.pair - 200) <= 3


def test_faults_at_low_quality_are_placed_within_a_few_frames(tmp_path: Path) -> None:
    """Where the encoder leaves more error than a frame of motion makes."""
    frames = frames_of("zoom")
    source = encode_luma(tmp_path / "src.mkv", frames, codec="ffv1")
    shown = [n for n in range(100) if n not in (7, 22)]
    dis = encode_luma(tmp_path / "x.mkv", [frames[n] for n in shown], crf="36")
    with paired(source, dis, align="auto") as pairing:
        places = [d.pair for d in pairing.decisions if d.leave_out_ref == 1]
    assert len(places) == 2
    assert abs(places[0] - 7) <= 2
    assert abs(places[1] - 21) <= 3


def test_start_times_are_the_first_guess(source: Path, make: Make) -> None:
    for name in ("keepts.mp4", "keepts.mkv"):
        dis = make([*range(3, 60)], name, first=3)
        with pytest.raises(PairingError, match="skip_ref=3"):
            paired(source, dis)
        with paired(source, dis, align="auto") as pairing:
            [decision] = pairing.decisions
        assert (decision.reason, decision.pair, decision.leave_out_ref) == ("start", 0, 3)
        assert pairing.description["pairs"] == COUNT - 3


@pytest.mark.parametrize(
    "how", [{"crf": "18"}, {"crf": "40"}, {"size": (160, 90)}, {"pix_fmt": "yuv420p10le"}]
)
def test_the_same_frames_are_scored(how: dict[str, Any], source: Path, make: Make) -> None:
    for align in ("refuse", "auto"):
        with paired(source, make([*range(COUNT)], **how), align=align) as pairing:
            assert pairing.description["pairs"] == COUNT
            assert pairing.description["alignment"] == {"mode": align, "decisions": []}
        assert "alignment" not in {note.code for note in pairing.notes}


@pytest.mark.parametrize("align", ["warn", "off"])
def test_it_may_be_scored_all_the_same(align: str, source: Path, make: Make) -> None:
    with paired(source, make(CASES["trim_head1"][0]), align=align) as pairing:
        warned = [note for note in pairing.notes if note.code == "alignment"]
    assert pairing.description["pairs"] == COUNT - 1
    assert [note.level for note in warned] == (["warning"] if align == "warn" else [])


def test_y4m_too(tmp_path: Path, frames: list[Luma]) -> None:
    ref, dis = y4m(tmp_path / "ref.y4m", frames), y4m(tmp_path / "dis.y4m", frames[2:])
    with pytest.raises(PairingError, match="skip_ref=2"):
        paired(ref, dis)
    with paired(ref, dis, align="auto") as pairing:
        assert pairing.description["pairs"] == COUNT - 2


def test_skips_count_in_the_advice(source: Path, make: Make) -> None:
    dis = make([*range(3, 60)])
    for skips, advice in (((1, 0), "ref=3"), ((5, 0), "ref=3"), ((0, 4), "ref=7"), ((0, 0), "ref=3")):
        with pytest.raises(PairingError, match=f"pass skip_{advice}, or align='auto'"):
            paired(source, dis, skip_ref=skips[0], skip_dis=skips[1])
    assert paired(source, dis, skip_ref=3).description["pairs"] == COUNT - 3


def test_other_content(source: Path, tmp_path: Path) -> None:
    other = encode_luma(tmp_path / "other.mp4", frames_of("cuts")[:COUNT], crf="25")
    with pytest.raises(PairingError, match=r"shows other content than .* from frame 0 on .*align='off'"):
        paired(source, other)
    with pytest.raises(PairingError, match=r"shows other content than .*align='off'"):
        paired(source, other, align="auto")


def test_auto_keeps_a_freeze_over_held_pictures(tmp_path: Path) -> None:
    held = frames_of("twos")[:COUNT]
    ref = encode_luma(tmp_path / "src.mkv", held, codec="ffv1")
    shown = [*held[:21], *[held[20]] * 12, *held[33:]]
    made = paired(ref, encode_luma(tmp_path / "x.mp4", shown, crf="24"), align="auto")
    assert [(each.reason, each.leave_out_ref, each.leave_out_dis) for each in made.decisions] == [
        ("frozen", 0, 0)
    ]
    assert made.pairs == COUNT


def test_auto_invents_no_faults_where_the_quality_hides_them(tmp_path: Path) -> None:
    """An encode of so low a quality that other frames fit better, of all frames."""
    frames = frames_of("slowdark")
    ref = encode_luma(tmp_path / "src.mkv", frames, codec="ffv1")
    made = paired(ref, encode_luma(tmp_path / "x.mp4", frames, crf="40"), align="auto")
    assert made.pairs == len(frames)
    assert made.decisions == []


@pytest.fixture(scope="module")
def others() -> list[Luma]:
    return frames_of("screen")[:15]


@pytest.mark.parametrize("start", [0, 20])
def test_a_stretch_of_other_content_is_told(
    start: int, source: Path, frames: list[Luma], others: list[Luma], tmp_path: Path
) -> None:
    shown = [*frames[:start], *others, *frames[start + 15 :]]
    made = paired(source, encode_luma(tmp_path / "x.mp4", shown, crf="26"))
    assert made.pairs == COUNT
    (note,) = [note for note in made.notes if note.code == "alignment"]
    assert note.level == "warning"
    assert f"frames {start} to {start + 14} of" in note.text


@pytest.mark.parametrize("still", [False, True])
def test_auto_warns_of_a_stretch_of_other_content_too(
    still: bool, source: Path, frames: list[Luma], others: list[Luma], tmp_path: Path
) -> None:
    """A card that stands still is no freeze: it shows nothing of the source."""
    shown = [*frames[:20], *([others[0]] * 15 if still else others), *frames[35:]]
    made = paired(source, encode_luma(tmp_path / "x.mp4", shown, crf="26"), align="auto")
    assert made.pairs == COUNT
    assert [(d.reason, d.pair) for d in made.decisions] == [("other", 20)]
    (note,) = [note for note in made.notes if note.code == "alignment"]
    assert note.level == "warning"
    assert "shows other pictures than" in note.text
    assert "from frame 20 to 34" in note.text


# Frames of the encode before and after those of the source, how many of the source, pairs, and what is said.
STRANGE = {
    "a tail instead of the last frames": (
        0,
        45,
        15,
        45,
        "the last 15 and 15 frames of the videos don't match",
    ),
    "a tail after the last frame": (0, 60, 15, 60, "ended before"),
    "a head": (15, 60, 0, 60, "is 15 frames behind"),
}


@pytest.mark.parametrize("case", STRANGE)
@pytest.mark.parametrize("black", [False, True])
def test_auto_pairs_no_frame_with_other_content(
    case: str, black: bool, source: Path, frames: list[Luma], others: list[Luma], tmp_path: Path
) -> None:
    head, kept, tail, pairs, said = STRANGE[case]
    strange = [np.full_like(others[0], 16)] * 15 if black else others
    shown = [*strange[:head], *frames[:kept], *strange[:tail]]
    made = paired(source, encode_luma(tmp_path / "x.mp4", shown, crf="26"), align="auto")
    assert made.pairs == pairs
    assert sum(decision.leave_out_dis for decision in made.decisions) == head
    assert any(said in note.text for note in made.notes)


def test_a_reference_of_one_colour(tmp_path: Path, frames: list[Luma]) -> None:
    flat = y4m(tmp_path / "flat.y4m", [np.full((HEIGHT, WIDTH), 90, np.uint8)] * COUNT)
    with pytest.raises(PairingError, match="other content"):
        paired(flat, y4m(tmp_path / "dis.y4m", frames))
    with pytest.raises(
        PairingError, match=r"shows next to nothing, so its frames cannot be aligned: pass align='off'"
    ):
        paired(flat, flat, align="auto")
    assert paired(flat, flat).description["pairs"] == COUNT


def test_one_frame(tmp_path: Path, frames: list[Luma]) -> None:
    one = y4m(tmp_path / "one.y4m", frames[:1])
    assert paired(one, one).description["pairs"] == 1
    with pytest.raises(
        PairingError, match=r"only one frame of .*, so there is nothing to align: pass align='off'"
    ):
        paired(one, one, align="auto")


def test_auto_needs_files(tmp_path: Path, frames: list[Luma]) -> None:
    ref, pipe = y4m(tmp_path / "ref.y4m", frames), tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = feed(pipe, ref.read_bytes()[:100])
    readers = open_video(ref), open_video(pipe)
    with pytest.raises(
        PairingError, match=r"align='auto' reads both videos twice, and .* pass a file, or align='off'"
    ):
        pair_videos(*readers, options=PairOptions(align="auto"))
    writer.join()


def test_options_that_contradict_each_other() -> None:
    with pytest.raises(
        PairingError, match="rate='by-index' compares frame n with frame n, and align='auto' does not"
    ):
        PairOptions(align="auto", rate="by-index")
    with pytest.raises(PairingError, match="use one of refuse, auto, warn, off"):
        PairOptions(align="maybe")  # type: ignore[arg-type]
