"""Files whose frames are not the same: refused with a sentence, warned about, or left alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acuity.errors import PairingError
from acuity.video.pairs.pairing import Pairing
from misaligned_clips import CASES, COUNT, HEIGHT, WIDTH, Luma, Make, encode_luma, left_out
from video_clips import gray_y4m, paired


def alignment_notes(pairing: Pairing) -> list[tuple[str, str]]:
    return [(note.level, note.text) for note in pairing.notes if note.code == "alignment"]


@pytest.mark.parametrize("case", CASES)
def test_it_is_refused_with_the_place_and_the_option(case: str, source: Path, make: Make) -> None:
    shown, sentence, _ = CASES[case]
    with pytest.raises(PairingError, match=sentence) as caught:
        paired(source, make(shown))
    assert "'" + str(source) + "'" in str(caught.value)
    assert "\n" not in str(caught.value)
    if case == "trim_head3":
        assert "(frames 0 to 7 match frames 3 to 10 far better)" in str(caught.value)


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
def test_a_short_fault_is_a_warning(content: str, shown: list[int], sentence: str, clip_of: Make) -> None:
    pairing = paired(clip_of(content, range(COUNT)), clip_of(content, shown, crf="28"))
    [(level, text)] = alignment_notes(pairing)
    assert level == "warning"
    assert re.search(sentence, text)


def test_most_frames_between_a_lost_one_and_a_doubled_one_are_refused(clip_of: Make) -> None:
    dis = clip_of("pulldown", [*range(12), *range(13, 47), 46, *range(47, 60)], crf="36")
    with pytest.raises(PairingError, match=r"is 1 frame ahead of .* from frame 1\d to 4\d .*align='auto'"):
        paired(clip_of("pulldown", range(COUNT)), dis)


@pytest.mark.parametrize(("period", "crf"), [(30, "28"), (45, "32")])
def test_a_still_picture_in_changing_light_is_not_late(period: int, crf: str, tmp_path: Path) -> None:
    """Encoders let its light change a bit early or late; a frame that is lost there is told all the same."""
    rng = np.random.default_rng(2)
    scene = np.full((HEIGHT, WIDTH), 120.0)
    for cell, contrast in ((2, 8), (6, 14), (18, 22), (40, 25)):
        cells = rng.normal(0, 1, (-(-HEIGHT // cell), -(-WIDTH // cell)))
        scene += contrast * cells.repeat(cell, 0).repeat(cell, 1)[:HEIGHT, :WIDTH]
    frames = [
        np.clip(np.rint(16 + (np.clip(scene, 16, 235) - 16) * light), 16, 235).astype(np.uint8)
        for light in 1 - 0.9 * np.abs(np.sin(np.arange(90) / period))
    ]
    ref = encode_luma(tmp_path / "ref.mkv", frames, codec="ffv1")
    assert alignment_notes(paired(ref, encode_luma(tmp_path / "dis.mkv", frames, crf=crf))) == []
    with pytest.raises(PairingError, match="lost 1 frame"):
        paired(ref, encode_luma(tmp_path / "lost.mkv", frames[:47] + frames[48:], crf="18"))


@pytest.mark.parametrize("count", [1, 8, 30])
def test_frames_after_few_pairs_tell_whether_they_are_right(count: int, source: Path, make: Make) -> None:
    with pytest.raises(PairingError, match="is 1 frame behind"):
        paired(source, make(CASES["delay1"][0]), frames=count)


def test_a_fault_after_the_last_wanted_pair_is_none_of_its_matter(source: Path, make: Make) -> None:
    assert alignment_notes(paired(source, make(CASES["drop1"][0]), frames=20)) == []


def test_start_times_are_the_first_guess(source: Path, make: Make) -> None:
    for name in ("keepts.mp4", "keepts.mkv"):
        dis = make(CASES["trim_head3"][0], name, first=3)
        with pytest.raises(PairingError, match="skip_ref=3"):
            paired(source, dis)
        pairing = paired(source, dis, align="auto")
        [done] = pairing.decisions
        assert (done.reason, done.pair, done.leave_out_ref) == ("start", 0, 3)
        assert pairing.pairs == COUNT - 3


@pytest.mark.parametrize(
    "how", [{"crf": "18"}, {"crf": "40"}, {"size": (160, 90)}, {"pix_fmt": "yuv420p10le"}]
)
@pytest.mark.parametrize("align", ["refuse", "auto"])
def test_the_same_frames_are_scored(align: str, how: dict[str, Any], source: Path, make: Make) -> None:
    pairing = paired(source, make(range(COUNT), **how), align=align)
    assert pairing.pairs == COUNT
    assert pairing.description["alignment"] == {"mode": align, "decisions": []}
    assert alignment_notes(pairing) == []


@pytest.mark.parametrize(("align", "levels"), [("warn", ["warning"]), ("off", [])])
def test_it_may_be_scored_all_the_same(align: str, levels: list[str], source: Path, make: Make) -> None:
    pairing = paired(source, make(CASES["trim_head1"][0]), align=align)
    assert [level for level, _ in alignment_notes(pairing)] == levels
    assert pairing.pairs == COUNT - 1


def test_videos_without_times_too(tmp_path: Path, frames: list[Luma]) -> None:
    ref, dis = gray_y4m(tmp_path / "ref.y4m", frames), gray_y4m(tmp_path / "dis.y4m", frames[2:])
    with pytest.raises(PairingError, match="skip_ref=2"):
        paired(ref, dis)
    assert left_out(paired(ref, dis, align="auto")) == [(0, 2, 0)]


def test_skips_count_in_the_advice(source: Path, make: Make) -> None:
    dis = make(CASES["trim_head3"][0])
    for skips, advice in (((1, 0), "ref=3"), ((5, 0), "ref=3"), ((0, 4), "ref=7")):
        with pytest.raises(PairingError, match=f"pass skip_{advice}, or align='auto'"):
            paired(source, dis, skip_ref=skips[0], skip_dis=skips[1])
    assert paired(source, dis, skip_ref=3).pairs == COUNT - 3


@pytest.mark.parametrize(("align", "where"), [("refuse", "from frame 0 on .*"), ("auto", ".*")])
def test_other_content(align: str, where: str, source: Path, clip_of: Make) -> None:
    with pytest.raises(PairingError, match=rf"shows other content than .* {where}align='off'"):
        paired(source, clip_of("cuts", range(COUNT), crf="25"), align=align)


@pytest.mark.parametrize("start", [0, 20])
def test_a_stretch_of_other_content_is_told(
    start: int, source: Path, frames: list[Luma], others: list[Luma], tmp_path: Path
) -> None:
    shown = [*frames[:start], *others, *frames[start + 15 :]]
    made = paired(source, encode_luma(tmp_path / "x.mp4", shown, crf="26"))
    assert made.pairs == COUNT
    [(level, text)] = alignment_notes(made)
    assert level == "warning"
    assert f"frames {start} to {start + 14} of" in text


def test_a_reference_of_one_colour(tmp_path: Path, frames: list[Luma]) -> None:
    flat = gray_y4m(tmp_path / "flat.y4m", [np.full((HEIGHT, WIDTH), 90, np.uint8)] * COUNT)
    with pytest.raises(PairingError, match="other content"):
        paired(flat, gray_y4m(tmp_path / "dis.y4m", frames))
    said = r"shows next to nothing, so its frames cannot be aligned: pass align='off'"
    with pytest.raises(PairingError, match=said):
        paired(flat, flat, align="auto")
    assert paired(flat, flat).pairs == COUNT


def test_one_frame(tmp_path: Path, frames: list[Luma]) -> None:
    one = gray_y4m(tmp_path / "one.y4m", frames[:1])
    assert paired(one, one).pairs == 1
    said = r"only one frame of .*, so there is nothing to align: pass align='off'"
    with pytest.raises(PairingError, match=said):
        paired(one, one, align="auto")
