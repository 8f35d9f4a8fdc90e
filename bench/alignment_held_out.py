"""Contents on which nothing was tuned: golden clips cut together, panned, slowed, darkened and held."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from misaligned_clips import FRAMES, HEIGHT, WIDTH, Luma, Values, view

_EDGE: Final = 3  # samples around a picture, which the view's interpolation reads
# File, width, height, frames and bytes a sample.
_PICTURES: Final = {
    "bear": ("100007.yuv", 481, 321, 1, 1),
    "plane": ("10081.yuv", 481, 321, 1, 1),
    "man": ("1012576_0m14s_15.yuv", 720, 486, 1, 1),
    "news": ("akiyo_ref_352x288.yuv", 352, 288, 1, 1),
    "hall": ("hall_cif_frm_0_frm_0.yuv", 352, 288, 1, 1),
    "night": ("dark_scene_1920x1080_420p_ref.yuv", 1920, 1080, 1, 1),
    "sky": ("blue_sky_360p_10b_decoded.yuv", 640, 360, 3, 2),
    "sparks": ("sparks_ref_480x270.yuv42010le.yuv", 480, 270, 5, 2),
    "camera": ("src01_hrc00_160x90.yuv", 160, 90, 48, 1),
}


def held_out(clips: Path) -> dict[str, Callable[[], list[Luma]]]:
    """Each content's maker, by its name; none without the folder of the clips."""
    if not clips.exists():
        return {}

    def of(name: str, frame: int = 0) -> Values:
        file, width, height, frames, size = _PICTURES[name]
        samples = np.fromfile(clips / file, "<u2" if size == 2 else np.uint8)
        planes = samples.reshape(frames, -1)[frame, : width * height].reshape(height, width)
        luma = planes.astype(np.float32) / (4 if size == 2 else 1)
        return np.pad(luma, _EDGE, "edge")

    def park(frame: int) -> Values:
        data = (clips / "park_joy_420_720p50_frm0to9_480x270.y4m").read_bytes()
        head, each = data.index(b"\n") + 1, 480 * 270 + 2 * 240 * 135 + len(b"FRAME\n")
        start = head + frame * each + len(b"FRAME\n")
        luma = np.frombuffer(data, np.uint8, 480 * 270, start).reshape(270, 480)
        return np.pad(luma.astype(np.float32), _EDGE, "edge")

    def camera(light: float, hold: int, slow: int = 1) -> Iterator[Values]:
        """A camera's pictures at twice their size, each shown so often, or blended into the next."""
        clip = [of("camera", n) for n in range(48)]
        for t in range(min(FRAMES, 47 * hold * slow)):
            n, part = divmod(t // hold, slow)
            scene = clip[n] + (clip[n + 1] - clip[n]) * (part / slow)
            yield 16 + (view(scene, 4.0, 4.0, 0.49) - 16) * light

    def hand() -> Iterator[Values]:
        """A hand-held camera that now and then stands still."""
        rng, scene = np.random.default_rng(5), of("man")
        place, speed = np.array([80.0, 150.0]), np.zeros(2)
        for t in range(FRAMES):
            if t % 25 < 20:
                speed = 0.85 * speed + rng.standard_normal(2) * 0.35
                place = np.clip(place + speed, 5, 120)
            yield view(scene, *place)

    def cut_together() -> Iterator[Values]:
        shots = (("bear", 0.4, 1.1), ("news", 0.3, 0.2), ("plane", 0.9, 0.5), ("hall", 0.6, 0.3))
        for t in range(FRAMES):
            name, down, right = shots[t // 13 % 4]
            yield view(of(name), 5 + down * (t % 13 + t // 13 * 3), 5 + right * (t % 13))

    def jumpy_park() -> Iterator[Values]:
        """Fast pictures, there and back, with a pan that tells the two apart."""
        order = [*range(10), *range(8, 0, -1)]
        for t in range(FRAMES):
            yield view(park(order[t % 18]), 5 + t * 0.7, 8 + t * 1.4)

    def talk() -> Iterator[Values]:
        """A still scene in which a small part moves unevenly."""
        scene, item = of("news"), of("hall")[100:140, 150:180]
        for t in range(FRAMES):
            frame = scene.copy()
            y, x = int(70 + 9 * np.sin(t * 0.37)), int(120 + 12 * np.sin(t * 0.23))
            frame[y : y + 40, x : x + 30] = item
            yield view(frame, 20.0, 15.0)

    def pan(
        name: str, down: float, right: float, scale: float = 1.0, counts: Sequence[int] = (1,)
    ) -> Iterator[Values]:
        shown = itertools.chain.from_iterable([n] * count for n, count in enumerate(itertools.cycle(counts)))
        scene = of(name)
        for n in itertools.islice(shown, FRAMES):
            yield view(scene, 5 + n * down, 5 + n * right, scale)

    def closer() -> Iterator[Values]:
        for t in range(FRAMES):
            scale = 1.45 * 0.9955**t
            yield view(of("bear"), 150 - HEIGHT / 2 * scale + 15, 230 - WIDTH / 2 * scale, scale)

    def sparks() -> Iterator[Values]:
        """Five pictures of sparks blended one into the next, on a slow pan."""
        for t in range(FRAMES):
            n, part = divmod(t % 40, 10)
            frame = of("sparks", n) + (of("sparks", n + 1) - of("sparks", n)) * (part / 10)
            yield view(frame, 5 + t * 0.5, 5 + t * 0.6)

    makers: dict[str, Callable[[], Iterator[Values]]] = {
        "shots": cut_together,
        "hand": hand,
        "park": jumpy_park,
        "talk": talk,
        "closer": closer,
        "sparks": sparks,
        "night": lambda: pan("night", 1.1, 2.3, 3.0),
        "sky": lambda: pan("sky", 0.2, 0.45),
        "dimmed": lambda: camera(0.25, 1),
        "slowed": lambda: camera(1.0, 1, 2),
        "on twos": lambda: camera(1.0, 2),
        "on threes": lambda: pan("plane", 0.5, 1.7, counts=(3,)),
        "telecine": lambda: pan("man", 0.9, 2.6, counts=(3, 2)),
    }

    def made(maker: Callable[[], Iterator[Values]]) -> Callable[[], list[Luma]]:
        return lambda: [np.clip(np.rint(frame), 0, 255).astype(np.uint8, order="C") for frame in maker()]

    return {name: made(maker) for name, maker in makers.items()}
