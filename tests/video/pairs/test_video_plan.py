"""The decisions of pairing, as a table: two descriptions in, a plan or a refusal out."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from acuity.errors import PairingError
from acuity.video.pairs.convert import Cut, Deepen, Fit, Resample, Turn
from acuity.video.pairs.pair_options import PairOptions, Rectangle
from acuity.video.pairs.pair_plan import PairPlan
from acuity.video.pairs.planning import make_plan
from acuity.video.pairs.recolour import Recolour
from acuity.video.picture import PixelFormat
from acuity.video.readers.reader import VideoInfo

BASE = {"width": 640, "height": 360, "format": PixelFormat("420", 8), "rate": Fraction(25)}


def video(path: str, kind: str, **changes: Any) -> VideoInfo:
    return VideoInfo(**{"path": path, "kind": kind, **BASE, **changes})


def plan(
    ref: dict[str, Any] | None = None,
    dis: dict[str, Any] | None = None,
    kinds: tuple[str, str] = ("container", "container"),
    **options: Any,
) -> PairPlan:
    infos = video("ref", kinds[0], **(ref or {})), video("dis", kinds[1], **(dis or {}))
    return make_plan(*infos, PairOptions(**options))


def codes(made: PairPlan) -> dict[str, str]:
    return {note.code: note.level for note in made.notes}


def step_types(made: PairPlan) -> tuple[list[type], list[type]]:
    return [type(step) for step in made.ref.steps], [type(step) for step in made.dis.steps]


Y4M = ("y4m", "y4m")


@pytest.mark.parametrize("kinds", [("container", "container"), Y4M, ("raw", "raw"), ("y4m", "container")])
def test_equal_videos_need_nothing(kinds: tuple[str, str]) -> None:
    made = plan(kinds=kinds)
    assert step_types(made) == ([], [])
    assert made.notes == made.conversions == []
    assert made.pair_by == "index"
    assert made.time_slack == (0.02 if kinds == ("container", "container") else None)


SMALL = {"width": 320, "height": 180}
DEEP = {"format": PixelFormat("420", 10)}
WIDE = {"format": PixelFormat("444", 8)}
FULL = {"full_range": True}
LIMITED = {"full_range": False}
HD = {"matrix": "bt709"}
SD = {"matrix": "smpte170m"}
RGB = {"matrix": "gbr", "full_range": True, "format": PixelFormat("444", 8)}
PAL = {"width": 720, "height": 576, "aspect": Fraction(64, 45)}
TURNED = {"rotation": 90, "width": 360, "height": 640}
PQ = {"transfer": "smpte2084"}
HLG = {"transfer": "arib-std-b67"}
SDR = {"transfer": "bt709"}
FAST = {"rate": Fraction(50)}
VFR = {"variable_rate": True}

HANDLED = [
    # reference, distorted, kinds, options, steps of the reference, of the distorted, notes
    (None, SMALL, None, {}, [], [Fit], {"scaled": "info"}),
    (None, SMALL, Y4M, {"scale": "force"}, [], [Fit], {"scaled": "info"}),
    (None, SMALL, ("y4m", "container"), {}, [], [Fit], {"scaled": "info"}),
    (None, {"width": 640, "height": 480}, None, {"scale": "force"}, [], [Fit],
     {"scaled": "info", "shape": "warning"}),
    (None, {"width": 480, "height": 360, "aspect": Fraction(4, 3)}, None, {}, [], [Fit], {"scaled": "info"}),
    (PAL, {"width": 1024, "height": 576}, None, {}, [], [Fit], {"scaled": "info"}),
    (PAL, {"width": 720, "height": 576}, None, {}, [], [], {}),
    (PAL, {"width": 360, "height": 288}, None, {}, [], [Fit], {"scaled": "info"}),
    (PAL, {"width": 720, "height": 576, "aspect": Fraction(16, 15)}, None, {}, [], [], {"shape": "warning"}),
    (None, SMALL, None, {"crop": "320:180:0:0"}, [Cut], [Cut, Fit], {"crop": "info", "scaled": "info"}),
    (None, None, Y4M, {"crop": "320:180:2:4"}, [Cut], [Cut], {"crop": "info"}),
    (None, {"width": 640, "height": 272}, None, {"crop": "640:272:0:44"}, [Cut], [], {"crop": "info"}),
    (None, None, Y4M, {"display": "1080p"}, [Fit], [Fit], {"scaled": "info"}),
    ({"width": 1920, "height": 1080}, SMALL, None, {"display": "auto"}, [], [Fit], {"scaled": "info"}),
    (None, DEEP, None, {}, [Deepen], [], {"bit-depth": "info"}),
    (DEEP, None, None, {}, [], [Deepen], {"bit-depth": "info"}),
    (DEEP, None, Y4M, {"convert": "force"}, [], [Deepen], {"bit-depth": "info"}),
    (DEEP, None, Y4M, {"convert": "depth"}, [], [Deepen], {"bit-depth": "info"}),
    (None, DEEP, Y4M, {"convert": "depth"}, [Deepen], [], {"bit-depth": "info"}),
    (DEEP, SMALL, None, {}, [], [Fit], {"scaled": "info", "bit-depth": "info"}),
    (None, WIDE, None, {}, [], [Resample], {"chroma-layout": "info"}),
    (DEEP, WIDE, None, {}, [], [Deepen, Resample], {"bit-depth": "info", "chroma-layout": "info"}),
    (None, FULL, None, {}, [], [Fit], {"range": "info"}),
    (FULL, LIMITED, None, {}, [], [Fit], {"range": "info"}),
    (None, LIMITED, None, {}, [], [], {}),
    (LIMITED, FULL, Y4M, {}, [], [Fit], {"range": "info"}),
    (LIMITED, FULL, Y4M, {"colour": "as-libvmaf"}, [], [], {"range": "warning"}),
    (LIMITED, FULL, None, {"colour": "as-libvmaf"}, [], [Fit], {"range": "info"}),
    (LIMITED, FULL, None, {"colour": "ignore"}, [], [], {"range": "warning"}),
    (LIMITED, FULL, Y4M, {"convert": "force"}, [], [Fit], {"range": "info"}),
    (None, FULL, Y4M, {"convert": "force"}, [], [], {"range": "warning"}),
    (None, FULL, ("raw", "container"), {}, [], [], {"range": "warning"}),
    (TURNED, None, None, {}, [Turn], [], {"rotation": "info"}),
    (None, TURNED, None, {}, [], [Turn], {"rotation": "info"}),
    (TURNED, TURNED, None, {}, [], [], {}),
    ({"rotation": 180}, TURNED | {"rotation": 270}, None, {}, [Turn], [Turn], {"rotation": "info"}),
    (TURNED | {"format": PixelFormat("422", 8)}, WIDE, None, {}, [Resample, Turn], [], {"rotation": "info"}),
    (PQ, PQ, None, {}, [], [], {"hdr": "warning"}),
    (PQ, SDR, None, {"hdr": "ignore"}, [], [], {"hdr": "warning"}),
    (PQ, None, ("container", "y4m"), {}, [], [], {"hdr": "warning"}),
    (HD, SD, None, {}, [], [Resample, Recolour, Resample], {"matrix": "info"}),
    (HD, SD | WIDE, None, {}, [], [Recolour, Resample], {"matrix": "info", "chroma-layout": "info"}),
    (HD | FULL | DEEP, SD | LIMITED, None, {}, [], [Resample, Recolour, Resample],
     {"matrix": "info", "range": "info", "bit-depth": "info"}),
    (HD, SD, None, {"colour": "ignore"}, [], [], {"matrix": "warning"}),
    (HD, None, None, {}, [], [], {"matrix": "info"}),
    (None, HD, None, {}, [], [], {"matrix": "warning"}),
    (None, SD, None, {}, [], [], {"matrix": "info"}),
    (SD, {"matrix": "bt470bg"}, None, {}, [], [], {}),
    (HD, SD | {"format": PixelFormat("400", 8)}, None, {}, [], [Resample], {"chroma-layout": "info"}),
    ({"primaries": "bt709"}, {"primaries": "smpte170m"}, None, {}, [], [], {}),
    ({"primaries": "bt709"}, {"primaries": "bt2020"}, None, {}, [], [Resample, Recolour, Resample],
     {"primaries": "info"}),
    ({"primaries": "bt709"}, {"primaries": "bt2020"}, None, {"colour": "ignore"}, [], [],
     {"primaries": "warning"}),
    (HD, RGB, None, {}, [], [Resample], {"rgb": "info", "chroma-layout": "info"}),
    (RGB, RGB, None, {}, [], [], {"rgb": "info"}),
    (RGB, None, None, {}, [], [Resample], {"matrix": "warning", "rgb": "info", "chroma-layout": "info"}),
    (PQ | HD, SDR | SD, None, {"hdr": "ignore"}, [], [], {"hdr": "warning", "matrix": "warning"}),
    (None, {"interlaced": True}, Y4M, {}, [], [], {"interlaced": "warning"}),
    (None, {"interlaced": True}, Y4M, {"deinterlace": "bwdif"}, [], [], {"deinterlaced": "info"}),
    (None, FAST, None, {"rate": "match"}, [], [], {"rate": "info"}),
    (None, FAST, None, {"rate": "by-index"}, [], [], {"rate": "warning"}),
    (None, FAST, Y4M, {}, [], [], {"rate": "warning"}),
    (None, {"rate": None}, ("raw", "container"), {}, [], [], {}),
    (VFR, VFR, None, {}, [], [], {"vfr": "info"}),
    (VFR, None, ("container", "raw"), {"vfr": "by-index"}, [], [], {"vfr": "warning"}),
    (VFR, None, ("container", "raw"), {"align": "auto"}, [], [], {"vfr": "warning"}),
    (None, {"rate": Fraction(30)}, None, {"align": "auto"}, [], [], {"rate": "warning"}),
]  # fmt: skip


@pytest.mark.parametrize(("ref", "dis", "kinds", "options", "ref_steps", "dis_steps", "notes"), HANDLED)
def test_differences_that_are_handled_and_said(
    ref: dict[str, Any] | None,
    dis: dict[str, Any] | None,
    kinds: tuple[str, str] | None,
    options: dict[str, Any],
    ref_steps: list[type],
    dis_steps: list[type],
    notes: dict[str, str],
) -> None:
    made = plan(ref, dis, kinds or ("container", "container"), **options)
    assert step_types(made) == (ref_steps, dis_steps)
    assert codes(made) == notes
    assert (made.ref.width, made.ref.height) == (made.dis.width, made.dis.height)
    assert made.ref.format == made.dis.format
    assert len(made.conversions) == sum(
        note.level == "info" and note.code != "vfr" and "does not say" not in note.text for note in made.notes
    )


REFUSED = [
    (None, SMALL, Y4M, {}, "dimensions do not match: 'ref' is 640x360 and 'dis' is 320x180.* scale='force'"),
    (None, SMALL, None, {"scale": "never"}, "dimensions do not match"),
    (None, {"width": 640, "height": 272}, None, {},
     "another shape .* pass crop='640:272:0:44', .*scale='force'"),
    (None, {"width": 640, "height": 480}, None, {},
     "another shape .* pass crop='auto', if not, scale='force'"),
    (None, {"width": 360, "height": 640}, None, {}, "'dis' .360x640. is turned on its side .*scale='force'"),
    (PAL, {"width": 640, "height": 480, "aspect": Fraction(1)}, None, {},
     "another shape .*samples of 1.422:1"),
    (None, None, None, {"crop": "640:362:0:0"}, "crop='640:362:0:0' reaches beyond the 640x360 of 'ref'"),
    (None, None, None, {"crop": "320:180:1:0"},
     "between the chroma samples of 'ref' .420.: use even numbers"),
    (None, SMALL, None, {"crop": "322:180:0:2"}, "between the chroma samples of 'dis'"),
    (None, {"width": 480, "height": 270}, None, {"crop": "322:180:0:2"}, "between the pixels of 'dis'"),
    (HD, {"matrix": "ictcp"}, None, {}, "matrix bt709 and 'dis' ictcp, which cannot be .* colour='ignore'"),
    (HD, SD, None, {"convert": "never"}, "convert='auto'"),
    ({"matrix": "ycgco"}, RGB, None, {}, "'dis' is RGB and 'ref' has the matrix ycgco"),
    (None, DEEP, Y4M, {}, "bit depths do not match: 'ref' has 8 and 'dis' has 10.* convert='force'"),
    (None, WIDE, ("raw", "y4m"), {}, "pixel formats do not match: 'ref' is 420 and 'dis' is 444"),
    (None, WIDE, Y4M, {"convert": "depth"}, "pixel formats do not match: 'ref' is 420 and 'dis' is 444"),
    (None, DEEP, None, {"convert": "never"}, "bit depths do not match"),
    (None, FULL, None, {"convert": "never"}, "'dis' is full range"),
    (None, {"extra": {"flipped": "yes"}}, None, {}, "'dis' is to be shown mirrored"),
    (PQ, SDR, None, {}, r"HDR \(smpte2084\) and 'dis' is SDR \(bt709\).* hdr='ignore'"),
    (PQ, None, None, {}, "not marked as HDR"),
    (PQ, HLG, None, {}, "arib-std-b67"),
    (None, FAST, None, {}, "25 and 'dis' 50 frames a second: pass rate='match' to compare every 2nd"),
    (None, {"rate": Fraction(30)}, None, {}, "25 and 'dis' 30 frames a second: .*rate='by-index'"),
    (None, {"rate": Fraction(30)}, None, {"rate": "match"}, "align='auto' .*, or, if .* rate='by-index'"),
    ({"rate": Fraction(24)}, {"rate": Fraction(24000, 1001)}, None, {}, "24 and 'dis' 23.976"),
    (VFR, None, ("container", "y4m"), {}, "variable frame rate .* align='auto' .*, or, if .* vfr='by-index'"),
    ({"format": PixelFormat("420", 11)}, SMALL, None, {}, "11 bit"),
    ({"format": PixelFormat("444", 11)}, None, None, {}, "11 bit"),
]  # fmt: skip


@pytest.mark.parametrize(("ref", "dis", "kinds", "options", "says"), REFUSED)
def test_differences_that_are_refused_with_a_remedy(
    ref: dict[str, Any] | None,
    dis: dict[str, Any] | None,
    kinds: tuple[str, str] | None,
    options: dict[str, Any],
    says: str,
) -> None:
    with pytest.raises(PairingError, match=says):
        plan(ref, dis, kinds or ("container", "container"), **options)


@pytest.mark.parametrize(
    ("degrees", "part"),
    [(90, (352, 640, 0, 0)), (270, (352, 640, 8, 0)), (180, (640, 352, 0, 0)), (0, (640, 352, 0, 8))],
)
def test_bars_turn_with_the_picture(degrees: int, part: tuple[int, ...]) -> None:
    """A bar of 8 rows above is at the right after a quarter turn clockwise."""
    upright = {"width": 352, "height": 640} if degrees % 180 else {"width": 640, "height": 352}
    infos = video("ref", "container", rotation=degrees), video("dis", "container", **upright)
    made = make_plan(*infos, PairOptions(crop="auto"), (Rectangle(640, 352, 0, 8), None))
    assert made.crop == part


def test_matched_rates_leave_out_frames_of_the_faster_video() -> None:
    assert (plan(None, FAST, rate="match").dis.stride, plan(FAST, None, rate="match").ref.stride) == (2, 2)
    made = plan({"rate": Fraction(24000, 1001)}, {"rate": Fraction(119.88)}, rate="match")
    assert (made.ref.stride, made.dis.stride) == (1, 5)


def test_the_clock_of_a_gif_tells_rates_apart_only_so_far() -> None:
    """A hundredth of a second: 12 frames at 30 a second take 0.4 s, or 0.41 s as a GIF has them."""
    gif = {"codec": "gif", "frames": 12, "rate": Fraction(179, 6)}
    assert plan({"rate": Fraction(30)}, gif).notes == []
    assert plan(gif, {"rate": Fraction(30)}).notes == []
    for other, rate in ((gif, 25), (gif | {"codec": "h264"}, 30), (gif | {"frames": 1200}, 30)):
        with pytest.raises(PairingError, match="frames a second"):
            plan({"rate": Fraction(rate)}, other)


def test_rates_that_are_the_same_in_all_but_spelling() -> None:
    assert plan({"rate": Fraction(24000, 1001)}, {"rate": Fraction("23.976")}).notes == []


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        *(({name: word}, f"{name}='{word}' is unknown: use one of") for name, word in (
            ("scale", "yes"), ("convert", ""), ("rate", "drop"), ("vfr", None), ("hdr", "x"), ("colour", ""),
            ("display", "720p"), ("filter", "bilinear"), ("deinterlace", "yes"), ("align", "maybe"))),
        *(({"crop": part}, f"crop='{part}' is no part of a picture") for part in ("640x360", "0:0:0:0")),
        ({"skip_ref": -1}, "skip_ref=-1 is negative"),
        ({"ahead": 0}, "ahead=0 is too small"),
        ({"scale": "never", "display": "1080p"}, "scale='never' scales nothing, and display='1080p'"),
        ({"rate": "by-index", "align": "auto"}, "compares frame n with frame n, and align='auto' does not"),
    ],
)  # fmt: skip
def test_options_are_checked(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(PairingError, match=says):
        PairOptions(**wrong)
