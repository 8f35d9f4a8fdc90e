"""The clips that judge alignment, kept in a folder, and what an encode of known frames scores in truth.

The truth takes a path of its own: PyAV decodes the encode, the frames that belong together are written to raw
files by the pattern that made the encode, and these are scored with align=off, or by libvmaf's program.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import av
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "video"))

import acuity
import alignment_held_out
import misaligned_clips
from misaligned_clips import CONTENTS, FRAMES, HARD_CONTENTS, HEIGHT, WIDTH, Luma, Shown, encode_luma, view

GOLDEN: Final = Path(os.environ.get("ACUITY_GOLDEN") or Path(__file__).resolve().parents[2] / "shared/golden")
REAL: Final = GOLDEN / "clips" / "src01_hrc00_160x90.yuv"  # 48 frames
REFERENCE_BIN: Final = os.environ.get("VMAF_REFERENCE_BIN")
RATE: Final = 25
MODEL: Final = "vmaf_v0.6.1"
DELAY: Final = 3  # frames between reading a packet and showing it, at most
MARGIN: Final = 3  # pairs around a pair, more than its motion depends on

Pairs = list[tuple[int, int]]  # a frame of the encode, and the source's frame that it is compared with
Part = tuple[float, float, float]  # of a picture: top, left and scale


def _generated(source: str) -> list[Luma]:
    """The first pictures of a source filter."""
    graph = av.filter.Graph()
    start, end = graph.add(source, f"size={WIDTH}x{HEIGHT}:rate={RATE}"), graph.add("buffersink")
    middle = graph.add("format", "gray")
    start.link_to(middle)
    middle.link_to(end)
    graph.configure()
    return [graph.pull().to_ndarray() for _ in range(FRAMES)]  # type: ignore[union-attr]


def _real() -> list[Luma]:
    """A camera's pictures, at twice their size."""
    clip = np.fromfile(REAL, np.uint8).reshape(-1, 90 * 3 // 2, 160)[:, :90].astype(np.float32)
    padded = np.pad(clip, ((0, 0), (2, 3), (2, 3)), "edge")
    return [np.clip(np.rint(view(frame, 1.75, 1.75, 0.5)), 0, 255).astype(np.uint8) for frame in padded]


OTHER_CONTENTS: Final[dict[str, Callable[[], list[Luma]]]] = {
    "mandelbrot": lambda: _generated("mandelbrot"),
    "testsrc2": lambda: _generated("testsrc2"),
    **({"real": _real} if REAL.exists() else {}),
}
HELD_OUT: Final = alignment_held_out.held_out(GOLDEN / "clips")


class Source:
    """One content's frames, and the encodes that are made of them, each of them once."""

    def __init__(self, folder: Path, content: str, seed: int = 0) -> None:
        maker: Any = (CONTENTS | HARD_CONTENTS | OTHER_CONTENTS | HELD_OUT)[content]
        makers = (
            alignment_held_out if content in HELD_OUT else maker,
            misaligned_clips.held,
            misaligned_clips.view,
            misaligned_clips.texture,
            _generated,
        )
        key = _key(*(inspect.getsource(each) for each in makers))
        self.name = content if not seed else f"{content}{seed}"
        self._folder = folder / f"{self.name}-{key}"
        self._folder.mkdir(parents=True, exist_ok=True)
        self.path = self._folder / "source.mkv"
        if not self.path.exists():
            made = (
                maker() if content in OTHER_CONTENTS | HELD_OUT else misaligned_clips.frames_of(content, seed)
            )
            self._make(self.path, made, codec="rawvideo")
        self.frames = decoded(self.path)
        hashes = [frame.tobytes() for frame in self.frames]
        self.pictures = [hashes.index(each) for each in hashes]  # the first frame that shows the same

    def encode(self, name: str, shown: Sequence[int], part: Part | None = None, **how: Any) -> Path:
        """An encode of these frames, one after the other."""
        path = self._folder / f"{name.replace(' ', '-')}-{_key([*shown], part, how)}.mkv"
        if not path.exists():
            self._make(path, [_part(self.frames[n], part) for n in shown], **how)
        return path

    def retimed(self, encode: Path, times: Sequence[int]) -> Path:
        """The same encode with each frame shown at the time of one of the source's."""
        path = encode.with_name(f"{encode.stem}-{_key([*times])}.mkv")
        if not path.exists():
            _move_in(path, lambda part: _retime(encode, part, times))
        return path

    def _make(self, path: Path, frames: Sequence[Luma], **how: Any) -> None:
        _move_in(path, lambda part: encode_luma(part, frames, rate=RATE, **how))


def _retime(encode: Path, path: Path, times: Sequence[int]) -> None:
    with av.open(str(encode)) as source, av.open(str(path), "w") as target:
        stream = source.streams.video[0]
        copy = target.add_stream_from_template(stream)
        step = 1 / (RATE * stream.time_base)
        packets = (packet for packet in source.demux(stream) if packet.pts is not None)
        for read, packet in enumerate(packets, -DELAY):
            shown = round(packet.pts / step)
            packet.pts, packet.dts = (round((times[n] if n >= 0 else n) * step) for n in (shown, read))
            packet.stream = copy
            target.mux(packet)


def _part(frame: Luma, part: Part | None) -> Luma:
    """What lies from `top` and `left` on at `scale`, at the size of the whole."""
    if part is None:
        return frame
    seen = view(np.pad(frame, 4, "edge").astype(np.float32), part[0] + 4, part[1] + 4, part[2])
    return np.clip(np.rint(seen), 0, 255).astype(np.uint8)


def _key(*what: object) -> str:
    return hashlib.sha1(repr(what).encode()).hexdigest()[:8]


def _move_in(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file beside its place first: of several processes that make it, the first one's stays.

    x264 doesn't make the same bytes each time, and what is remembered of a file must go with it.
    """
    part = path.with_name(f"{os.getpid()}-{path.name}")
    write(part)
    with contextlib.suppress(FileExistsError):
        os.link(part, path)
    part.unlink()


def decoded(path: Path) -> list[Luma]:
    """The luma of a file's pictures, in the order in which they are shown."""
    with av.open(str(path)) as container:
        return [frame.to_ndarray()[:HEIGHT] for frame in container.decode(video=0)]


@dataclass(frozen=True)
class Truth:
    """The scores of one right way to compare an encode: from the least to the greatest."""

    way: str
    pairs: int
    least: float
    greatest: float

    def off(self, score: float) -> float:
        """How far a score is from the nearest of them."""
        return score - min(max(score, self.least), self.greatest)


def remembered_truths(source: Source, shown: Sequence[Shown], encode: Path) -> list[Truth]:
    """The truths about an encode, found out once."""
    kept = encode.with_suffix(f".{_key([*shown], MODEL, REFERENCE_BIN)}.json")
    if not kept.exists():
        said = json.dumps([vars(truth) for truth in truths(source, shown, encode)])
        _move_in(kept, lambda part: part.write_text(said))
    return [Truth(**truth) for truth in json.loads(kept.read_text())]


def truths(source: Source, shown: Sequence[Shown], encode: Path) -> list[Truth]:
    """Every right way to compare an encode with its source.

    Frames of the encode that show the same picture more often than the source does are left out; which of
    them, is open. The source's pictures stay the same whichever are kept, so that each pair's score is its
    own, and the least and the greatest score of all choices are the means of the pairs' least and greatest.
    A frozen stretch may be compared with the source's frames at its place as well, each stretch for itself.
    """
    lumas = decoded(encode)
    assert len(lumas) == len(shown), encode
    first, *others = kept_pairs(source, shown)
    scores = np.array(_score(source, lumas, first))
    least, greatest = scores.copy(), scores.copy()
    for pairs in others:
        for start, end in _changes(first, pairs):
            begin = max(start - MARGIN, 0)
            some = _score(source, lumas, pairs[begin : end + MARGIN])[start - begin : end - begin]
            least[start:end] = np.minimum(least[start:end], some)
            greatest[start:end] = np.maximum(greatest[start:end], some)
    found = [Truth("left out", len(first), float(least.mean()), float(greatest.mean()))]
    for pairs in frozen_pairs(shown):
        mean = float(np.mean(_score(source, lumas, pairs)))
        found.append(Truth("in place", len(pairs), mean, mean))
    return found


def _changes(first: Pairs, pairs: Pairs) -> Iterator[tuple[int, int]]:
    """The stretches of pairs that are not the same in both."""
    for same, run in itertools.groupby(range(len(pairs)), lambda n: first[n] == pairs[n]):
        if not same:
            start, *rest = run
            yield start, start + 1 + len(rest)


def frozen_pairs(shown: Sequence[Shown]) -> Iterator[Pairs]:
    """The pairs if some or all frozen stretches are compared with the source's frames at their place."""
    stretches = [
        {index for index, _ in stretch}
        for frozen, stretch in itertools.groupby(
            enumerate(shown), lambda each: each[1].frame != each[1].place
        )
        if frozen
    ]
    for chosen in itertools.product((False, True), repeat=len(stretches)):
        left_out = {i for kept, stretch in zip(chosen, stretches, strict=True) if not kept for i in stretch}
        if any(chosen):
            yield [(index, each.place) for index, each in enumerate(shown) if index not in left_out]


def kept_pairs(source: Source, shown: Sequence[Shown]) -> Iterator[Pairs]:
    """The pairs if of too many frames of one picture the last are left out, the last but one and so on."""
    there: dict[int, list[int]] = {}  # the frames of the run of one picture, by each of them
    for _, frames in itertools.groupby(range(len(source.pictures)), source.pictures.__getitem__):
        run = [*frames]
        there.update(dict.fromkeys(run, run))
    runs = [
        ([index for index, _ in shows], there[first])
        for first, shows in itertools.groupby(enumerate(shown), lambda each: there[each[1].frame][0])
    ]
    surplus = [max(len(indexes) - len(run), 0) for indexes, run in runs]
    for left_out in range(max(surplus) + 1):
        yield [
            pair
            for (indexes, run), most in zip(runs, surplus, strict=True)
            for pair in zip(indexes[min(left_out, most) :], run, strict=False)
        ]


def least_pairs(source: Source, shown: Sequence[Shown]) -> int:
    """How many pairs there are if what is too much is left out."""
    return len(next(kept_pairs(source, shown)))


def _score(source: Source, lumas: Sequence[Luma], pairs: Pairs) -> list[float]:
    """The score of each pair, of raw files that hold nothing else."""
    grey = np.full((HEIGHT // 2, WIDTH), 128, np.uint8).tobytes()
    with tempfile.TemporaryDirectory() as folder:
        ref, dis, report = (Path(folder) / name for name in ("ref.yuv", "dis.yuv", "report.json"))
        ref.write_bytes(b"".join(source.frames[frame].tobytes() + grey for _, frame in pairs))
        dis.write_bytes(b"".join(lumas[index].tobytes() + grey for index, _ in pairs))
        if REFERENCE_BIN:
            geometry = f"-w {WIDTH} -h {HEIGHT} -p 420 -b 8".split()
            files = ["-r", str(ref), "-d", str(dis), "-o", str(report), "--json"]
            command = [REFERENCE_BIN, *files, *geometry, "-m", f"version={MODEL}"]
            subprocess.run(command, check=True, capture_output=True)
            return [frame["metrics"]["vmaf"] for frame in json.loads(report.read_text())["frames"]]
        raw: dict[str, Any] = {"width": WIDTH, "height": HEIGHT, "pixel_format": "420", "bitdepth": 8}
        found = acuity.score(ref, dis, align="off", model=MODEL, display="native", threads=1, **raw)
        return [float(value) for value in found.results.values("vmaf")]
