"""Made and golden contents for the benches of tune: those the search's priors were trained on, and others.

    python bench/tune_contents.py FOLDER      # writes all of them as Y4M

Every content is a function of nothing: the same frames each time. Photographs and short clips come from the
golden clips, whose folder is that of ACUITY_GOLDEN; without it those contents are left out.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Planes = tuple[Bytes, Bytes, Bytes]

GOLDEN: Final = Path(os.environ.get("ACUITY_GOLDEN", "")) / "clips"


class Content(NamedTuple):
    """A clip to be made: its name, its frame rate, and what makes its 4:2:0 frames."""

    name: str
    rate: int
    frames: Callable[[], Iterator[Planes]]
    needs: str = ""  # the golden clip that it is made from

    @property
    def available(self) -> bool:
        return not self.needs or (GOLDEN / self.needs).is_file()


# Without them the source takes others each time, whatever its seed.
_COLOURS: Final = ":".join(
    f"c{number}={colour}"
    for number, colour in enumerate(("navy", "orange", "teal", "crimson", "khaki", "purple", "seagreen"))
)


def _filtered(graph: str, count: int) -> Callable[[], Iterator[Planes]]:
    """Frames of FFmpeg's own sources and filters: `source=options,filter=options`."""

    def frames() -> Iterator[Planes]:
        from av.filter import Graph

        made = Graph()
        last = None
        for part in [*graph.split(","), "format=yuv420p", "buffersink"]:
            name, _, options = part.partition("=")
            node = made.add(name, options) if options else made.add(name)
            if last is not None:
                last.link_to(node)
            last = node
        made.configure()
        assert last is not None
        for _ in range(count):
            frame = last.pull()
            pictures = frame.to_ndarray()
            height, width = frame.height, frame.width
            luma, chroma = pictures[:height], pictures[height:].reshape(2, height // 2, width // 2)
            yield luma.copy(), chroma[0].copy(), chroma[1].copy()

    return frames


def _grey(lumas: Iterable[NDArray[np.float64]]) -> Iterator[Planes]:
    for luma in lumas:
        plain = np.clip(np.rint(luma), 16, 235).astype(np.uint8)
        chroma = np.full((plain.shape[0] // 2, plain.shape[1] // 2), 128, np.uint8)
        yield plain, chroma, chroma.copy()


def _grid(width: int, height: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rows, columns = np.mgrid[0:height, 0:width]
    return columns.astype(np.float64), rows.astype(np.float64)


def _grain(width: int, height: int, count: int, seed: int, strength: float) -> Iterator[Planes]:
    """Film grain over a slow gradient."""
    random = np.random.default_rng(seed)
    x, y = _grid(width, height)
    yield from _grey(
        60 + 0.25 * (x + y + 2 * n) + random.normal(0, strength, (height, width)) for n in range(count)
    )


def _waves(width: int, height: int, count: int, seed: int) -> Iterator[Planes]:
    """Plane waves of many lengths, drifting: a texture with the spectrum of natural pictures."""
    random = np.random.default_rng(seed)
    x, y = _grid(width, height)
    waves = [
        (
            2 ** random.uniform(0, 5.5),
            random.uniform(0, 2 * np.pi),
            random.uniform(0, 6),
            random.normal(0, 0.6),
        )
        for _ in range(40)
    ]

    def luma(n: int) -> NDArray[np.float64]:
        total = np.zeros((height, width))
        for cycles, angle, phase, speed in waves:
            along = (x * np.cos(angle) + y * np.sin(angle)) * 2 * np.pi * cycles / width
            total += np.sin(along + phase + speed * n) / cycles**0.7
        return 125 + 30 * total

    yield from _grey(luma(n) for n in range(count))


def _screen(width: int, height: int, count: int, seed: int) -> Iterator[Planes]:
    """A page of letters that scrolls and jumps, with a pointer: flat colours and hard edges."""
    random = np.random.default_rng(seed)
    page = np.full((height * 3, width), 225.0)
    for top in range(4, height * 3 - 10, 12):
        for left in range(6, int(width * random.uniform(0.5, 0.95)), 7):
            letter = random.random((7, 5)) < 0.5
            page[top : top + 7, left : left + 5][letter] = 40

    def luma(n: int) -> NDArray[np.float64]:
        top = 0 if n < count // 3 else min(4 * (n - count // 3), height)
        shown = page[top : top + height].copy()
        at = 10 + 3 * n
        shown[at % (height - 12) :][:10, at % (width - 12) :][:, :10] = 120
        return shown

    yield from _grey(luma(n) for n in range(count))


def _fades(width: int, height: int, count: int, seed: int) -> Iterator[Planes]:
    """One smooth picture fading into another through black."""
    one, two = (next(_waves(width, height, 1, seed + n))[0].astype(np.float64) for n in range(2))
    half = count // 2
    yield from _grey(
        16 + (one - 16) * (1 - n / half) if n < half else 16 + (two - 16) * (n - half) / half
        for n in range(count)
    )


def _balls(width: int, height: int, count: int, seed: int) -> Iterator[Planes]:
    """Shaded balls that move over a checkered floor, like drawn animation."""
    random = np.random.default_rng(seed)
    x, y = _grid(width, height)
    floor = 90 + 40 * ((x // 24 + y // 24) % 2) + y * 0.2
    balls = [
        (random.uniform(0, width), random.uniform(0, height), random.normal(0, 3, 2), random.uniform(8, 30))
        for _ in range(12)
    ]

    def luma(n: int) -> NDArray[np.float64]:
        shown = floor.copy()
        for left, top, (right, down), radius in balls:
            across, along = (left + right * n) % width, (top + down * n) % height
            distance = np.hypot(x - across, y - along) / radius
            inside = distance < 1
            shown[inside] = 60 + 150 * np.sqrt(1 - distance[inside] ** 2)
        return shown

    yield from _grey(luma(n) for n in range(count))


def _snow(width: int, height: int, count: int, seed: int) -> Iterator[Planes]:
    """Bright flakes falling before a gradient at many speeds."""
    random = np.random.default_rng(seed)
    x, y = _grid(width, height)
    flakes = random.uniform(0, 1, (220, 3))

    def luma(n: int) -> NDArray[np.float64]:
        shown = 40 + 90 * y / height + 10 * np.sin(x / 31)
        for across, along, near in flakes:
            left = int(across * (width - 4) + 3 * np.sin(n / 5 + 9 * near)) % (width - 4)
            top = int(along * height + n * (1 + 4 * near)) % (height - 4)
            size = 1 + int(3 * near)
            shown[top : top + size, left : left + size] = 150 + 80 * near
        return shown

    yield from _grey(luma(n) for n in range(count))


def _photo(
    name: str, size: tuple[int, int], view: tuple[int, int], count: int, step: tuple[float, float]
) -> Callable[[], Iterator[Planes]]:
    """A view that glides over the luma of a photograph, by fractions of a pixel, with a little grain."""

    def frames() -> Iterator[Planes]:
        width, height = size
        photo = np.fromfile(GOLDEN / name, np.uint8, width * height).reshape(height, width).astype(np.float64)
        random = np.random.default_rng(len(name))

        def luma(n: int) -> NDArray[np.float64]:
            across, along = step[0] * n, step[1] * n
            left, top = int(across), int(along)
            part = photo[top : top + view[1] + 1, left : left + view[0] + 1]
            x, y = across - left, along - top
            rows = part[:-1] * (1 - y) + part[1:] * y
            shown: NDArray[np.float64] = rows[:, :-1] * (1 - x) + rows[:, 1:] * x
            return shown + random.normal(0, 1.0, shown.shape)

        yield from _grey(luma(n) for n in range(count))

    return frames


def _raw(name: str, size: tuple[int, int], depth: int = 8, skip: int = 0) -> Callable[[], Iterator[Planes]]:
    """The frames of a raw 4:2:0 clip, at 8 bit."""

    def frames() -> Iterator[Planes]:
        width, height = size
        samples = np.fromfile(GOLDEN / name, np.uint8 if depth == 8 else np.dtype("<u2"))
        each = width * height * 3 // 2
        for frame in samples[: len(samples) // each * each].reshape(-1, each):
            plain = (frame >> (depth - 8)).astype(np.uint8)
            luma, chroma = (
                plain[: width * height],
                plain[width * height :].reshape(2, height // 2, width // 2),
            )
            yield luma.reshape(height, width), chroma[0], chroma[1]

    return frames


def _y4m(name: str, size: tuple[int, int]) -> Callable[[], Iterator[Planes]]:
    """The frames of an 8-bit 4:2:0 Y4M file without frame parameters."""

    def frames() -> Iterator[Planes]:
        width, height = size
        each = width * height * 3 // 2
        with open(GOLDEN / name, "rb") as file:
            file.readline()
            while file.readline():
                plain = np.frombuffer(file.read(each), np.uint8)
                chroma = plain[width * height :].reshape(2, height // 2, width // 2)
                yield plain[: width * height].reshape(height, width), chroma[0], chroma[1]

    return frames


# The priors of src/acuity/tune/search/priors.py were fitted to these.
TRAINING: Final = (
    Content("grain", 24, lambda: _grain(320, 180, 20, 1, 9.0)),
    Content("light-grain", 24, lambda: _grain(256, 144, 20, 2, 3.0)),
    Content("mandelbrot", 25, _filtered("mandelbrot=size=320x180:rate=25", 24)),
    Content(
        "life", 25, _filtered("life=size=320x180:mold=10:rate=25:ratio=0.1:seed=5:death_color=#C83232", 20)
    ),
    Content("testsrc2", 30, _filtered("testsrc2=size=320x180:rate=30", 24)),
    Content(
        "gradients",
        25,
        _filtered(f"gradients=size=320x180:rate=25:speed=0.03:seed=7:{_COLOURS}:nb_colors=4", 24),
    ),
    Content("waves", 30, lambda: _waves(320, 180, 20, 3)),
    Content("screen", 30, lambda: _screen(352, 192, 24, 4)),
    Content("fades", 24, lambda: _fades(256, 144, 24, 5)),
    Content("balls", 25, lambda: _balls(320, 180, 24, 6)),
    Content("photo-10081", 25, _photo("10081.yuv", (481, 321), (400, 256), 24, (2.3, 1.1)), "10081.yuv"),
    Content(
        "akiyo",
        25,
        _photo("akiyo_ref_352x288.yuv", (352, 288), (320, 256), 24, (0.6, 0.4)),
        "akiyo_ref_352x288.yuv",
    ),
    Content(
        "sparks",
        25,
        _raw("sparks_ref_480x270.yuv42010le.yuv", (480, 270), 10),
        "sparks_ref_480x270.yuv42010le.yuv",
    ),
    Content("src01-small", 24, _raw("src01_hrc00_160x90.yuv", (160, 90)), "src01_hrc00_160x90.yuv"),
    Content(
        "dark",
        25,
        _photo("dark_scene_1920x1080_420p_ref.yuv", (1920, 1080), (416, 240), 20, (7.7, 3.3)),
        "dark_scene_1920x1080_420p_ref.yuv",
    ),
)

# Contents that the priors never saw, for figures.
TESTING: Final = (
    Content(
        "park-joy",
        50,
        _y4m("park_joy_420_720p50_frm0to9_480x270.y4m", (480, 270)),
        "park_joy_420_720p50_frm0to9_480x270.y4m",
    ),
    Content("photo-100007", 30, _photo("100007.yuv", (481, 321), (384, 216), 30, (1.7, 0.9)), "100007.yuv"),
    Content(
        "photo-1012576",
        24,
        _photo("1012576_0m14s_15.yuv", (720, 486), (512, 288), 24, (8.0, 4.2)),
        "1012576_0m14s_15.yuv",
    ),
    Content(
        "hall",
        30,
        _photo("hall_cif_frm_0_frm_0.yuv", (352, 288), (304, 240), 30, (0.3, 0.2)),
        "hall_cif_frm_0_frm_0.yuv",
    ),
    Content(
        "blue-sky", 25, _raw("blue_sky_360p_10b_decoded.yuv", (640, 360), 10), "blue_sky_360p_10b_decoded.yuv"
    ),
    Content("snow", 30, lambda: _snow(384, 208, 30, 11)),
    Content("balls-fast", 30, lambda: _balls(416, 240, 30, 12)),
    Content("coarse-grain", 30, lambda: _grain(352, 288, 20, 13, 14.0)),
    Content("slow-waves", 24, lambda: _waves(288, 160, 30, 14)),
    Content("scrolled-page", 30, lambda: _screen(480, 272, 30, 15)),
    Content("cellauto", 25, _filtered("cellauto=size=320x176:rate=25:rule=110:random_seed=3:scroll=1", 24)),
    Content("sierpinski", 25, _filtered("sierpinski=size=352x288:rate=25:seed=9:jump=60", 24)),
    Content(
        "hue-noise",
        25,
        _filtered(
            f"gradients=size=400x224:rate=25:speed=0.08:seed=21:{_COLOURS}:nb_colors=7,"
            "noise=alls=6:all_seed=4:allf=t",
            24,
        ),
    ),
)


def write(content: Content, folder: Path) -> Path:
    """The content as a Y4M file in the folder; one that is there already is kept."""
    path = folder / f"{content.name}.y4m"
    if path.exists():
        return path
    partial = path.with_suffix(".part")
    with open(partial, "wb") as out:
        for index, planes in enumerate(content.frames()):
            if index == 0:
                height, width = planes[0].shape
                out.write(f"YUV4MPEG2 W{width} H{height} F{content.rate}:1 Ip C420jpeg\n".encode())
            out.write(b"FRAME\n" + b"".join(plane.tobytes() for plane in planes))
    partial.rename(path)
    return path


def write_all(contents: Iterable[Content], folder: Path) -> list[Path]:
    """Those that can be made here."""
    folder.mkdir(parents=True, exist_ok=True)
    return [write(content, folder) for content in contents if content.available]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Writes the contents as Y4M files.")
    parser.add_argument("folder", type=Path)
    for made in write_all((*TRAINING, *TESTING), parser.parse_args().folder):
        print(made)
