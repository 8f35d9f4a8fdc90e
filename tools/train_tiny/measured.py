"""Measured clips: VMAF and its features of every frame, and the pictures for the no-reference model.

They are kept in build/tiny, one file a content, and made again when what they depend on changes.
"""

from __future__ import annotations

import ast
import hashlib
import json
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acuity.measure import Measurement
from acuity.models import load_model
from acuity.tune.encoders import find_encoder
from acuity.tune.encoders.versions import encoder_version
from contents import ROOT, Content, all_contents
from distortions import RANGES, Distortion, distorted, distortions_of

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]

CACHE: Final = ROOT / "build" / "tiny"
MODEL: Final = "vmaf_v0.6.1"
FEATURES: Final = ("adm2", "vif_scale0", "vif_scale1", "vif_scale2", "vif_scale3", "motion2")
SEEN: Final = (2, 4, 6)  # the frames that the no-reference model sees
_VERSION: Final = 1  # of this file's meaning


class Clip(NamedTuple):
    """A distorted clip and its figures."""

    content: Content
    distortion: Distortion
    features: Floats  # (frames, 6)
    vmaf: Floats  # (frames,)
    seen: Bytes  # (len(SEEN), height, width): luma of the frames SEEN
    seen_vmaf: Floats


def versions() -> dict[str, str]:
    """The encoders that clips were made with."""
    return {name: encoder_version(find_encoder(name)) for name in RANGES}


def measure_all(contents: list[Content], workers: int = 2) -> Iterator[list[Clip]]:
    """The clips of each content, in order; two contents at a time, in processes of their own."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(workers) as pool:
        for content, path in zip(contents, pool.map(_kept, contents), strict=True):
            yield _clips(content, path)


def measure_splits(splits: tuple[str, ...]) -> dict[str, list[Clip]]:
    """The clips of each split that can be made here, with a line of progress."""
    contents = all_contents(splits)
    found: dict[str, list[Clip]] = {split: [] for split in splits}
    begin = time.monotonic()
    for done, clips in enumerate(measure_all(contents), 1):
        found[clips[0].content.split] += clips
        seconds = time.monotonic() - begin
        print(f"\rmeasured {done} of {len(contents)} contents, {seconds:.0f} s", end="", flush=True)
    print()
    return {split: clips for split, clips in found.items() if clips}


def measured(content: Content) -> list[Clip]:
    """All distorted clips of a content."""
    return _clips(content, _kept(content))


def _kept(content: Content) -> Path:
    """The file with a content's measured clips, made if need be."""
    drawn = distortions_of(content.name)
    path = CACHE / f"{content.name}-{_key(content, drawn)}.npz"
    if not path.is_file():
        _measure(content, drawn, path)
    return path


def _clips(content: Content, path: Path) -> list[Clip]:
    with np.load(path) as kept:
        seen, features, vmaf = kept["seen"], kept["features"], kept["vmaf"]
    chosen = [n for n in SEEN if n < vmaf.shape[-1]]
    return [
        Clip(content, one, features[n, m], vmaf[n, m], seen[n][:, rows, columns], vmaf[n, m, chosen])
        for n, one in enumerate(distortions_of(content.name))
        for m, (rows, columns) in enumerate(content.tiles(*seen.shape[2:]))
    ]


def _key(content: Content, drawn: list[Distortion]) -> str:
    here = Path(__file__).parent
    made = ("scenes.py",) if content.kind in ("scene", "sheet") else ("../../bench/tune_contents.py",)
    code = [_code(here / name) for name in (*made, "distortions.py")]
    about = [content.name, [list(one) for one in drawn], versions(), _VERSION, SEEN, code]
    return hashlib.sha256(json.dumps(about).encode()).hexdigest()[:12]


def _code(path: Path) -> str:
    """What the file does, without its comments and docstrings."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
            and ast.get_docstring(node) is not None
        ):
            node.body = node.body[1:]
    return ast.dump(tree)


def _measure(content: Content, drawn: list[Distortion], path: Path) -> None:
    frames, rate = content.frames()
    source = CACHE / f"{content.name}.y4m"
    _write(source, frames, rate)
    made: dict[str, list[Any]] = {"features": [], "vmaf": [], "seen": []}
    try:
        for one in drawn:
            pictures = list(distorted(source, frames, one))
            found = [
                figures([frame[tile] for frame in frames], [picture[tile] for picture in pictures])
                for tile in content.tiles(*frames[0].shape)
            ]
            made["features"].append(np.stack([features for features, _ in found]))
            made["vmaf"].append(np.stack([vmaf for _, vmaf in found]))
            made["seen"].append(np.stack([pictures[n] for n in SEEN if n < len(pictures)]))
    finally:
        source.unlink()
    partial = path.with_suffix(".part.npz")
    np.savez_compressed(partial, **{name: np.stack(values) for name, values in made.items()})
    partial.rename(path)


def figures(reference: list[Bytes], pictures: list[Bytes]) -> tuple[Floats, Floats]:
    """The features and the VMAF of every frame."""
    if len(reference) != len(pictures):
        raise ValueError(f"{len(reference)} frames were encoded and {len(pictures)} came out")
    with Measurement(threads=1) as measurement:
        measurement.add_model(load_model(MODEL))
        for ref, dis in zip(reference, pictures, strict=True):
            measurement.add(ref, dis)
        measurement.flush()
        columns = measurement.results().columns
    features = np.column_stack([columns[f"integer_{name}"] for name in FEATURES])
    return features, np.asarray(columns["vmaf"])


def _write(path: Path, frames: list[Bytes], rate: int) -> None:
    """A Y4M file with gray chroma."""
    height, width = frames[0].shape
    chroma = np.full((2 * ((height + 1) // 2), (width + 1) // 2), 128, np.uint8).tobytes()
    with open(path, "wb") as out:
        out.write(f"YUV4MPEG2 W{width} H{height} F{rate}:1 Ip C420jpeg\n".encode())
        for frame in frames:
            out.write(b"FRAME\n" + frame.tobytes() + chroma)
