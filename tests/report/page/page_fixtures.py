"""Pages made up for the browser: a short clip with pictures, a comparison, a film of 170,000 frames."""

from __future__ import annotations

import base64
import functools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from acuity.png import rgb_png
from acuity.report.page.html_page import html_page
from acuity.report.page.page_document import (
    FigureTile,
    Page,
    PageColumn,
    PageEvent,
    PageNote,
    PagePicture,
    RatePoint,
    Rates,
    Series,
)
from acuity.report.tables import Table

HOSTILE = "<script>window.stopped = ['ran']</script><img src=x onerror=alert(1)>.mp4"
_FEATURES = ("adm2", "vif_scale0", "vif_scale1", "vif_scale2", "vif_scale3", "motion2")


def curve(rows: int, seed: int, middle: float = 78.0) -> NDArray[np.float64]:
    """A score that wanders, drops at cuts and stays within 0 and 100."""
    random = np.random.default_rng(seed)
    steps = np.cumsum(random.normal(0, 1.1, rows))
    period = max(60, rows // 40)
    wander = steps - np.interp(np.arange(rows), np.arange(0, rows, period), steps[::period])
    drops = np.where(random.random(rows) < 0.01, random.uniform(8, 30, rows), 0)
    slow = 8 * np.sin(np.arange(rows) / max(20, rows / 9))
    return np.clip(middle + slow + wander + random.normal(0, 0.8, rows) - drops, 5, 100)


def figures(values: NDArray[np.float64]) -> list[tuple[str, str]]:
    known = values[np.isfinite(values)]
    return [
        ("mean", f"{known.mean():.2f}"),
        ("harmonic mean", f"{len(known) / (1 / (known + 1)).sum() - 1:.2f}"),
        ("lowest", f"{known.min():.2f}"),
        ("p5", f"{np.percentile(known, 5):.2f}"),
    ]


def columns(rows: int, seed: int, middle: float = 78.0) -> list[PageColumn]:
    score = np.round(curve(rows, seed, middle), 6)
    psnr = np.round(20 + score / 4 + np.sin(np.arange(rows) / 7), 6)
    found = [
        PageColumn("vmaf", "VMAF", "score", score, better="higher", figures=figures(score)),
        PageColumn("psnr_y", "PSNR Y", "metric", psnr, unit="dB", better="higher", figures=figures(psnr)),
    ]
    for number, name in enumerate(_FEATURES):
        values = np.round(score / 100 + np.sin(np.arange(rows) / (5 + number)) / 40, 6)
        found.append(PageColumn(f"integer_{name}", name, "feature", values, better="higher"))
    return found


@functools.cache
def picture_url(width: int, height: int, seed: int, kind: str) -> str:
    """A picture that looks like something: a sky, a hill, and blocks where it is distorted."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    hill = y > height * (0.55 + 0.16 * np.sin(x / width * 6 + seed))
    base = np.where(hill[..., None], [70, 110, 60], [150, 185, 225]) + (y / height * 40 - 20)[..., None]
    base = base + 18 * np.sin(x / 9 + y / 13)[..., None] * hill[..., None]
    blocks = 20 * np.sign(np.sin(x / 8) * np.sin(y / 8))[..., None] * (x > width * 0.55)[..., None]
    shown = {"reference": base, "distorted": base + blocks, "difference": 128 + 3 * blocks}.get(kind)
    if shown is None:
        heat = np.exp(-(((x - width * 0.75) / 140) ** 2) - ((y - height * 0.4) / 90) ** 2)
        shown = np.stack([255 * heat, 160 * heat**2, 90 * (1 - heat)], axis=-1)
    whole = np.broadcast_to(np.clip(shown, 0, 255), (height, width, 3))
    png = rgb_png(whole.astype(np.uint8))
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"


def worst_pictures(values: NDArray[np.float64], rate: float, many: int = 6) -> list[PagePicture]:
    found = []
    for number, frame in enumerate(np.argsort(values)[:many].tolist()):
        kinds = ("reference", "distorted", "difference", "heat")
        urls = (picture_url(640, 360, number % 2, kind) for kind in kinds)
        about = frame, float(values[frame]), "most of the loss is at the right, above the middle", 640, 360
        found.append(PagePicture(*about, *urls, time=frame / rate, region=(0.6, 0.2, 0.3, 0.4)))
    return found


def score_fixture(rows: int = 600, *, name: str = "encoded.mp4", pictures: int = 6) -> Page:
    made = columns(rows, 3)
    score = made[0].values
    times = np.round(np.arange(rows) / 30, 6)
    swap = PageEvent(rows // 3, "model vmaf_v0.6.1neg from here on")
    events = [swap, PageEvent(rows // 2, "2 frames missing")]
    return Page(
        "score",
        name,
        "against original.mkv, vmaf_v0.6.1",
        cards=[
            FigureTile("VMAF", f"{score.mean():.2f}", f"vmaf_v0.6.1, mean of {rows} frames"),
            FigureTile("Harmonic mean", dict(made[0].figures)["harmonic mean"], "weighs bad frames more"),
            FigureTile("Lowest frame", f"{score.min():.2f}", f"frame {int(score.argmin())}", "warning"),
            FigureTile("PSNR Y", f"{made[1].values.mean():.2f} dB", "mean of the frames"),
            FigureTile("Frames", f"{rows}", "0:20 at 30 per second"),
        ],
        series=[Series(name, np.arange(rows), made, times, events)],
        pictures=worst_pictures(score, 30, pictures) if pictures else (),
        no_pictures=None if pictures else "the frames came through a pipe, so they can't be read again",
        notes=[
            PageNote("warning", "the reference has 2 frames more than the distorted video at its end"),
            PageNote("info", "frames were paired by their times; the offset is 0"),
        ],
        facts=[
            ("reference", "original.mkv, 640x360, yuv420p, 30 frames per second"),
            ("distorted", f"{name}, 640x360, yuv420p"),
            ("command", "acuity score encoded.mp4 --reference original.mkv --pictures 6 -o report.html"),
            ("version", "acuity 0.9"),
        ],
    )


def compare_fixture(names: Sequence[str] = ("x264_24.mp4", "x265_26.mp4", "svt_av1_32.mp4")) -> Page:
    rows = 900
    series = [
        Series(name, np.arange(rows), columns(rows, 10 + number, 74 + 5 * number), np.arange(rows) / 25)
        for number, name in enumerate(names)
    ]

    def point(step: int, size: float, lost: float) -> RatePoint:
        score = 100 - 30 / (1.6**step) - lost
        return RatePoint(400 * 1.7**step * size, score, f"crf {36 - 4 * step}", step == 2)

    rates = [
        Rates(encoder, [point(step, size, lost) for step in range(5)])
        for encoder, size, lost in (("x264", 1.0, 4.0), ("x265", 0.8, 3.0), ("svt-av1", 0.7, 2.5))
    ]
    means = [f"{one.columns[0].values.mean():.2f}" for one in series]
    rows_text = [
        [name, mean, f"{1800 - 333.5 * number:,.1f}", "" if number else "remembered"]
        for number, (name, mean) in enumerate(zip(names, means, strict=True))
    ]
    rows_text.append(["broken.mp4", "", "", "moov atom not found in broken.mp4; give a complete file"])
    ranking = Table(["name", "VMAF", "kbit/s", "remark"], rows_text, [False, True, True, False])
    return Page(
        "compare",
        f"{len(names)} encodes of original.mkv",
        "vmaf_v0.6.1",
        cards=[
            FigureTile(name, text[1], f"{text[2]} kbit/s")
            for name, text in zip(names, rows_text, strict=False)
        ],
        series=series,
        no_pictures=None,
        rates=rates,
        targets=[90.0],
        tables=[("Ranking", ranking)],
        facts=[("command", "acuity compare original.mkv x264_24.mp4 x265_26.mp4 -o compare.html")],
    )


def written(page: Page, folder: Path, name: str = "page.html") -> str:
    """The page in a file; its address."""
    path = folder / name
    path.write_text("".join(html_page(page)), encoding="utf-8")
    return path.as_uri()
