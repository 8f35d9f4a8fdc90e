"""Files as people have them: scored as other programs decode them, or refused with a sentence that helps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from av.video.reformatter import ColorRange, Colorspace, Interpolation

import acuity
from acuity import ScoreReport
from acuity.errors import AcuityError
from acuity.video.readers.avframes import DIRECT
from everyday_clips import (
    FRAMES,
    SIZE,
    Make,
    beheaded,
    cut_by_edit_list,
    joined,
    made,
    made_of_rgb,
    wiped,
    with_cover,
)

EXACT = Interpolation.BICUBIC | Interpolation.ACCURATE_RND | Interpolation.FULL_CHR_H_INT
SOURCE = made("src.mkv", "ffv1")
ENCODE = made("enc.mp4")
DEEP = made("deep.mkv", "ffv1", "yuv420p10le")
VP9 = {"cpu-used": "8", "b": "200k"}
SMALL = (96, 54)
ODD = (97, 55)


@dataclass(frozen=True)
class Case:
    """A pair that is scored, and how another program gets the same samples."""

    dis: Make
    ref: Make = SOURCE
    options: dict[str, Any] = field(default_factory=dict)
    pix_fmt: str = "yuv420p"  # at which both are compared
    size: tuple[int, int] = SIZE
    full: bool = False
    recoloured: bool = False  # to BT.709
    step: int = 1  # of the reference's frames, those that are compared
    skip: int = 0
    notes: set[str] = field(default_factory=set)
    within: float = 1e-4


CHROMA = {"chroma-layout"}
RGB = {"rgb", "chroma-layout"}
DEEPER = {"bit-depth"}

CASES = {
    # codecs and containers
    "x264.mp4": Case(ENCODE),
    "x265.mp4": Case(made("x265.mp4", "libx265")),
    "vp9.webm": Case(made("vp9.webm", "libvpx-vp9", options=VP9)),
    "av1.mp4": Case(made("av1.mp4", "libsvtav1", options={"preset": "12"})),
    "mpeg4.avi": Case(made("mpeg4.avi", "mpeg4", options={"b": "400k", "bf": "2"})),
    "mjpeg.avi": Case(made("mjpeg.avi", "mjpeg", "yuvj420p", matrix="smpte170m", color_range=2),
        notes={"matrix", "range"}, recoloured=True, within=0.05),
    "mpeg-ps": Case(made("ps.mpg", "mpeg2video", options={"b": "800k"})),
    "h264 elementary stream": Case(made("es.h264")),
    "x264.ts": Case(made("x264.ts")),
    "fragmented.mp4": Case(made("frag.mp4", muxing={"movflags": "frag_keyframe+empty_moov"})),
    "prores 4:2:2": Case(made("prores.mov", "prores_ks", "yuv422p10le"), notes=DEEPER | CHROMA,
        pix_fmt="yuv420p10le"),
    "prores 4444 with alpha": Case(made("4444.mov", "prores_ks", "yuva444p10le"), notes=DEEPER | CHROMA,
        pix_fmt="yuv420p12le"),
    # RGB, which has no matrix, and is full range
    "rgb.ffv1": Case(made_of_rgb("rgb.mkv", "ffv1", "bgr0"), notes=RGB, recoloured=True),
    "rgb.x264": Case(made_of_rgb("rgb.mp4", "libx264rgb", "rgb24", crf="24"), notes=RGB, recoloured=True),
    "rgb.x265": Case(made_of_rgb("gbr.mp4", "libx265", "gbrp", **{"x265-params": "log-level=none"}),
        notes=RGB, recoloured=True),
    "first frame.png": Case(made_of_rgb("cover.png", "png", "rgb24", [0]), notes=RGB | {"frame-count"},
        recoloured=True),
    "reference.png": Case(made("first.mp4", shown=[0]), made_of_rgb("first.png", "png", "rgb24", [0]),
        pix_fmt="yuv444p", notes=RGB, recoloured=True),
    "png and png": Case(made_of_rgb("second.png", "png", "rgb24", [1]),
        made_of_rgb("first.png", "png", "rgb24", [0]), pix_fmt="yuv444p", notes={"rgb"},
        recoloured=True),
    "gif": Case(made_of_rgb("loop.gif", "gif", "rgb8"), notes=RGB, recoloured=True),
    # sizes
    "smaller": Case(made("small.mp4", size=SMALL), notes={"scaled"}),
    "larger": Case(made("large.mp4", size=(288, 162)), notes={"scaled", "swapped"}),
    "anamorphic": Case(made("anamorphic.mp4", size=(144, 108), aspect=Fraction(4, 3)), notes={"scaled"}),
    "filling a display": Case(made("two.mp4", shown=[0, 1]), made("two.mkv", "ffv1", shown=[0, 1]),
        options={"display": "1080p"}, size=(1920, 1080), notes={"scaled"}),
    "odd size": Case(made("odd.webm", "libvpx-vp9", size=ODD, options=VP9),
        made("odd.mkv", "ffv1", size=ODD), size=ODD),
    # depth, chroma, range, matrix
    "10 bit and 10 bit": Case(made("hi10.mp4", pix_fmt="yuv420p10le"), DEEP, pix_fmt="yuv420p10le"),
    "8 bit and 10 bit": Case(made("hi10.mp4", pix_fmt="yuv420p10le"), pix_fmt="yuv420p10le", notes=DEEPER),
    "4:4:4 encode": Case(made("444.mp4", pix_fmt="yuv444p"), notes=CHROMA),
    "4:4:4 source": Case(ENCODE, made("444.mkv", "ffv1", "yuv444p"), pix_fmt="yuv444p", notes=CHROMA),
    "4:2:2 encode": Case(made("422.mp4", pix_fmt="yuv422p"), notes=CHROMA),
    "4:2:2 source": Case(ENCODE, made("422.mkv", "ffv1", "yuv422p"), pix_fmt="yuv422p", notes=CHROMA),
    "full-range encode": Case(made("full.mp4", pix_fmt="yuvj420p", color_range=2), notes={"range"}),
    "full-range source": Case(ENCODE, made("full.mkv", "ffv1", "yuv420p", full=True), full=True,
        notes={"range"}),
    "gray": Case(made("gray.mkv", "ffv1", "gray", color_range=2), notes={"range", "chroma-layout"}),
    "bt601 encode": Case(made("sd.mp4", matrix="smpte170m"), notes={"matrix"}, recoloured=True,
        within=0.05),
    "everything differs": Case(made("small.mp4", size=SMALL),
        made("422p10.mkv", "ffv1", "yuv422p10le", full=True), pix_fmt="yuv422p10le", full=True,
        notes=DEEPER | CHROMA | {"scaled", "range"}),
    # times
    "29.97 in milliseconds": Case(made("ntsc.webm", "libvpx-vp9", rate=Fraction(30000, 1001), options=VP9),
        made("ntsc.mp4", rate=Fraction(30000, 1001), options={"qp": "0"})),
    "starts late.mp4": Case(made("late.mp4", ticks=range(3, FRAMES + 3))),
    "starts late.mkv": Case(made("late.mkv", ticks=range(37, FRAMES + 37))),
    "starts late.ts": Case(made("late.ts", ticks=range(75, FRAMES + 75))),
    "half the rate": Case(made("half.mp4", shown=range(0, FRAMES, 2), rate=Fraction(25, 2)),
        options={"rate": "match"}, step=2, notes={"rate"}),
    "hidden by an edit list": Case(cut_by_edit_list("cut.mp4", 5), options={"skip_ref": 5}, skip=5,
        notes={"hidden-frames"}),
    "head of a stream cut off": Case(beheaded("late.ts", 0.1, options={"x264-params": "keyint=4:bframes=0"}),
        options={"skip_ref": 4}, skip=4, notes={"leading-frames"}),
    # few frames, more than video
    "one frame": Case(made("one.mp4", shown=[0]), made("one.mkv", "ffv1", shown=[0])),
    "two frames": Case(made("two.mp4", shown=[0, 1]), made("two.mkv", "ffv1", shown=[0, 1])),
    "cover picture first": Case(with_cover("first.mp4", first=True)),
    "cover picture last": Case(with_cover("last.mp4", first=False)),
}  # fmt: skip


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Make], Path]:
    """Makes each clip once."""
    folder, known = tmp_path_factory.mktemp("everyday"), {}

    def once(maker: Make) -> Path:
        if maker not in known:
            (place := folder / str(len(known))).mkdir()
            known[maker] = maker(place)
        return known[maker]

    return once


@pytest.fixture(scope="module")
def scored(make: Callable[[Make], Path]) -> Callable[[str], ScoreReport]:
    """Scores each case once."""

    @cache
    def once(name: str) -> ScoreReport:
        case = CASES[name]
        return acuity.score(make(case.ref), make(case.dis), **case.options)

    return once


def by_pyav(path: Path, case: Case) -> Iterator[bytes]:
    """The frames of a file as PyAV decodes and converts them."""
    with av.open(str(path)) as container:
        cover = av.stream.Disposition.attached_pic
        [stream] = [one for one in container.streams.video if not one.disposition & cover]
        for frame in container.decode(stream):
            matrix = Colorspace.ITU709 if case.recoloured else None
            full = ColorRange.JPEG if case.full else ColorRange.MPEG
            how = {"dst_colorspace": matrix, "dst_color_range": full, "interpolation": EXACT}
            yield samples(frame.reformat(*case.size, case.pix_fmt, **how))


def samples(frame: av.VideoFrame) -> bytes:
    rows = (np.frombuffer(plane, np.uint8).reshape(plane.height, plane.line_size) for plane in frame.planes)
    wide = 2 if "p1" in frame.format.name else 1
    parts = zip(rows, frame.planes, strict=True)
    return b"".join(row[:, : plane.width * wide].tobytes() for row, plane in parts)


def truth(case: Case, paths: tuple[Path, Path], folder: Path) -> float:
    """The score of the samples that another program makes of both files."""
    ref, dis = (list(by_pyav(path, case)) for path in paths)
    raw = []
    for name, frames in (("ref.yuv", ref[case.skip :: case.step]), ("dis.yuv", dis)):
        raw.append(folder / name)
        raw[-1].write_bytes(b"".join(frames[: len(dis)]))
    format = DIRECT[case.pix_fmt]
    geometry = {"width": case.size[0], "height": case.size[1]}
    how = {**geometry, "pixel_format": format.layout, "bitdepth": format.depth, "align": "off"}
    return acuity.score(*raw, **how).score


@pytest.mark.parametrize("name", CASES)
def test_it_is_scored_as_other_programs_decode_it(
    name: str, make: Callable[[Make], Path], scored: Callable[[str], ScoreReport], tmp_path: Path
) -> None:
    case, report = CASES[name], scored(name)
    paths = make(case.ref), make(case.dis)
    said = {note.code for note in report.notes if "does not say its matrix" not in note.text}
    assert said - {"display", "skipped"} == case.notes
    assert report.score == pytest.approx(truth(case, paths, tmp_path), abs=case.within)


LONG = range(45)
PQ = {"color_trc": 16, "color_primaries": 9, "colorspace": 9}
HDR = made("pq.mkv", "ffv1", "yuv420p10le", **PQ)
AHEAD = "{} frames ahead of .*src.mkv' from frame 0 on .*: pass skip_ref={}, or align='auto'"

REFUSED: dict[str, tuple[Make, Make, dict[str, Any], str]] = {
    "hidden by an edit list": (made("src.mkv", "ffv1", shown=LONG),
        cut_by_edit_list("cut.mp4", 15, shown=LONG), {}, AHEAD.format(15, 15)),
    "head of a stream cut off": (made("src.mkv", "ffv1", shown=LONG),
        beheaded("late.ts", 0.3, shown=LONG, options={"x264-params": "keyint=8:bframes=0"}), {},
        AHEAD.format(15, 15)),
    "two streams joined, which the clock tells": (SOURCE,
        joined("joined.ts", made("1.ts", shown=range(8)), made("2.ts", shown=range(8, FRAMES))),
        {"allow_damaged": True},
        "frame 8 comes 0.040 s after the one before it in .* frames are missing or doubled in one of them: "
        "pass align='auto'"),
    "half the rate, the odd frames": (SOURCE,
        made("odd.mp4", shown=range(1, FRAMES, 2), ticks=range(1, FRAMES, 2)), {},
        "25 and .* 12.5 frames a second: pass rate='match'"),
    "25 and 24.975 frames a second": (SOURCE, made("pal.mp4", rate=Fraction(24975, 1000)), {},
        "25 and .* 24.975 frames a second: pass align='auto' .*, if frame n .* rate='by-index'"),
    "frames lost, their times kept": (SOURCE,
        made("vfr.mp4", shown=[*range(10), *range(13, FRAMES)], ticks=[*range(10), *range(13, FRAMES)]), {},
        "frame 10 is shown at 0.400 s in .*src.mkv' but at 0.520 s in .*vfr.mp4'"),
    "PQ and SDR": (HDR, ENCODE, {}, "is HDR .smpte2084. and .* is SDR .bt709.: .* hdr='ignore'"),
    "a damaged stream": (SOURCE, wiped("broken.ts"), {}, "broken.ts' is damaged or incomplete near frame"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_with_one_sentence(name: str, make: Callable[[Make], Path]) -> None:
    ref, dis, options, sentence = REFUSED[name]
    with pytest.raises(AcuityError, match=sentence) as caught:
        acuity.score(make(ref), make(dis), **options)
    assert "\n" not in str(caught.value)
