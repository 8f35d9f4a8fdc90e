"""Runs a twin on an emulated card, and the CPU beside it, on the same frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acuity._native import Workspace
from acuity.devices.cuda.batch import FRAME, Batch, Bench, Twin, cleared, placed
from acuity.devices.cuda.hardware.card import Card
from acuity.devices.cuda.table import TWINS
from acuity.features import get_extractor
from acuity.features.extractor import CpuContext, Extractor, Frame, Geometry, Pair
from acuity.video.picture import ColourTags, Picture, PixelFormat
from fake_cuda import emulated_card

NO_TAGS = ColourTags()


def picture(planes: Sequence[NDArray[Any]], layout: str, depth: int) -> Picture:
    return Picture(tuple(planes), PixelFormat(layout, depth))


def random_frames(
    count: int,
    width: int,
    height: int,
    depth: int,
    *,
    layout: str = "400",
    seed: int = 0,
    extreme: bool = False,
) -> list[Frame]:
    """Frames of noise, distorted ones near their references; if `extreme`, of the extreme samples."""
    random = np.random.default_rng(seed)
    most = (1 << depth) - 1
    form = PixelFormat(layout, depth)
    frames: list[Frame] = []
    before: tuple[Pair, ...] = ()
    for index in range(count):
        planes: tuple[list[Any], list[Any]] = ([], [])
        for shape in form.plane_shapes(width, height):
            if extreme:
                ref = random.integers(0, 2, shape) * most
                dis = random.integers(0, 2, shape) * most
            else:
                smooth = np.add.outer(np.arange(shape[0]), np.arange(shape[1])) * most // sum(shape)
                ref = np.clip(smooth + random.integers(-most // 6, most // 6, shape), 0, most)
                dis = np.clip(ref + random.integers(-most // 12, most // 12, shape), 0, most)
            planes[0].append(ref.astype(form.dtype))
            planes[1].append(dis.astype(form.dtype))
        pair = Pair(Picture(tuple(planes[0]), form), Picture(tuple(planes[1]), form))
        frames.append(Frame(index, *pair, before))
        before = (pair, *before)[:2]
    return frames


def geometry_of(frame: Frame) -> Geometry:
    planes = frame.ref.planes
    chroma = (planes[1].shape[1], planes[1].shape[0]) if len(planes) > 1 else None
    return Geometry(frame.ref.width, frame.ref.height, frame.ref.format.depth, chroma)


def on_cpu(
    members: Sequence[Extractor], frames: Sequence[Frame], colour: ColourTags = NO_TAGS
) -> list[dict[str, float]]:
    geometry = replace(geometry_of(frames[0]), colour=colour)
    runner = type(members[0]).runner(members, geometry, CpuContext(Workspace(), ""))
    return [runner(frame) for frame in frames]


def on_card(
    twin: Callable[..., Any],
    members: Sequence[Extractor],
    frames: Sequence[Frame],
    most: int = 3,
    *,
    packed: bool = False,
    colour: ColourTags = NO_TAGS,
    processors: int = 1,
) -> list[dict[str, float]]:
    """The figures of batches of `most` frames each; with `packed`, of planes that are aligned to nothing."""
    card = emulated_card(processors=processors)
    made: Twin = twin(members, replace(geometry_of(frames[0]), colour=colour), Bench(card, most))
    found = []
    for start in range(0, len(frames), most):
        found += _one_batch(card, made, frames[start : start + most], packed)
    return found


def same(
    name: str,
    frames: Sequence[Frame],
    *settings: Mapping[str, Any],
    most: int = 3,
    packed: bool = False,
    colour: ColourTags = NO_TAGS,
    processors: int = 1,
) -> list[dict[str, float]]:
    """The figures of an extractor with these settings, after the card's are found to be the CPU's."""
    members = extractors(name, *settings)
    found = on_cpu(members, frames, colour)
    how: dict[str, Any] = {"packed": packed, "colour": colour, "processors": processors}
    on_it = on_card(TWINS[type(members[0])].twin(), members, frames, most, **how)
    assert repr(on_it) == repr(found)  # as text, because extreme pictures give NaN, which equals nothing
    return found


def _one_batch(card: Card, twin: Twin, frames: Sequence[Frame], packed: bool) -> list[dict[str, float]]:
    stream = card.stream()
    held: list[Any] = []
    known: dict[int, NDArray[Any]] = {}

    def record(shown: Picture) -> NDArray[Any]:
        if id(shown) not in known:
            entry = np.zeros((), FRAME["ref"])
            for number, plane in enumerate(shown.planes):
                width = plane.shape[1] * plane.itemsize
                pitch = width if packed else -(-width // 256) * 256
                memory = card.allocate(pitch * plane.shape[0] + plane.itemsize)
                address = memory.address + (plane.itemsize if packed else 0)
                stream.upload(address, pitch, plane)
                entry["plane"][number], entry["pitch"][number] = address, pitch
                held.append(memory)
            known[id(shown)] = entry
        return known[id(shown)]

    table = np.zeros(len(frames), FRAME)
    for row, frame in zip(table, frames, strict=True):
        row["ref"], row["dis"] = record(frame.ref), record(frame.dis)
        for number, pair in enumerate(frame.before):
            row["before_ref"][number], row["before_dis"][number] = record(pair.ref), record(pair.dis)
    records = placed(card, table.view(np.uint8))
    words = np.zeros((len(frames), twin.words), np.int64)
    sums = cleared(card, words.nbytes)
    twin.launch(Batch(stream, records.address, len(frames)), sums.address)
    stream.download(words.reshape(-1).view(np.uint8), sums.address)
    stream.mark().wait()
    if (columns := getattr(twin, "columns", None)) is None:
        return [twin.figures(row, frame) for row, frame in zip(words, frames, strict=True)]
    found = {key: np.asarray(values).tolist() for key, values in columns(words, frames).items()}
    return [{key: found[key][number] for key in found} for number in range(len(frames))]


def extractors(name: str, *settings: Mapping[str, Any]) -> list[Extractor]:
    return [get_extractor(name)(dict(given)) for given in settings or ({},)]
