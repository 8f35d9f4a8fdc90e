"""The CUDA device on this machine: its figures beside the CPU's, and its speed.

    python bench/cuda.py                      # everything
    python bench/cuda.py check                # figures of every extractor and model, compared bit for bit
    python bench/cuda.py check --small        # the same with few small pictures, for compute-sanitizer
    python bench/cuda.py pinned kernels       # speed from page-locked memory; kernels' times
    python bench/cuda.py file first           # whole processes: raw files; up to the first score
    python bench/cuda.py encoded              # H.264 decoded on the card, beside its decoders alone
    python bench/cuda.py golden               # every golden run (ACUITY_GOLDEN), compared bit for bit
    VMAF_CUDA_REFERENCE_BIN=/path/to/vmaf python bench/cuda.py peer    # beside libvmaf's CUDA program

Speeds of `pinned` are frames a second of a measurement whose pictures lie in page-locked memory already, from
its first frame to its last figure, after one that warmed everything up.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import cuda_golden
import cuda_peer
from acuity.devices.cpu import CpuDevice
from acuity.devices.cuda.backend import CudaDevice
from acuity.devices.cuda.batch import FRAME, Batch, Bench
from acuity.devices.cuda.fitting import batch_frames
from acuity.devices.cuda.hardware.cards import CARDS
from acuity.devices.cuda.table import TWINS
from acuity.errors import UnfitPictureError
from acuity.features import get_extractor
from acuity.features.extractor import Geometry
from acuity.measure import Measurement
from acuity.video.picture import Picture, PixelFormat

V061 = ["version=vmaf_v0.6.1"]
BOTH = [*V061, "version=vmaf_v0.6.1neg:name=neg"]
V1 = ["version=vmaf_v1.0.16_3d0h"]
SIZES = {"1080p": (1920, 1080), "2160p": (3840, 2160)}
_PAIRS = 40  # more than are under way at once
_RUNS = 5
CHECKED = [(64, 64), (67, 51), (176, 144), (481, 321), (1920, 1080)]
FORMS = [
    (8, "420", "usual"),
    (8, "444", "extreme"),
    (10, "420", "usual"),
    (10, "422", "extreme"),
    (12, "420", "usual"),
    (16, "420", "extreme"),
]
# Enough for every kernel to run, and little enough for a tool that slows it down a hundred times.
SMALL = [(67, 51), (230, 170)]
SMALL_FORMS = [FORMS[0], FORMS[3]]


def planes(random: np.random.Generator, width: int, height: int, depth: int, layout: str, kind: str) -> Any:
    """A reference picture and a distorted one."""
    most, form = (1 << depth) - 1, PixelFormat(layout, depth)
    pair: tuple[list[Any], list[Any]] = ([], [])
    for shape in form.plane_shapes(width, height):
        if kind == "extreme":
            ref, dis = random.integers(0, 2, shape) * most, random.integers(0, 2, shape) * most
        else:
            rows, columns = np.ogrid[: shape[0], : shape[1]]
            wave = np.sin(rows / 9.0) * np.cos(columns / 13.0) * most / 3 + most / 2
            ref = np.clip(wave + random.normal(0, most / 40, shape), 0, most).astype(np.int64)
            dis = np.clip(ref + random.normal(0, most / 60, shape), 0, most).astype(np.int64)
        pair[0].append(ref.astype(form.dtype))
        pair[1].append(dis.astype(form.dtype))
    return Picture(tuple(pair[0]), form), Picture(tuple(pair[1]), form)


def measured(devices: Any, wanted: Sequence[str], pairs: Iterable[Any]) -> tuple[Any, float]:
    with Measurement(backend=devices) as measurement:
        for name in wanted:
            (measurement.add_model if name.startswith("version=") else measurement.add_feature)(name)
        start = time.perf_counter()
        count = 0
        for ref, dis in pairs:
            measurement.add(ref, dis)
            count += 1
        measurement.flush()
        took = time.perf_counter() - start
        return measurement.results(), count / took


def check(card: CudaDevice, small: bool = False) -> bool:
    """Compare all extractors and models with the CPU, bit for bit."""
    wanted = [
        *BOTH,
        *V1,
        *(kind.name for kind in TWINS),
        "vif=debug=true:vif_skip_scale0=true",
        "adm=debug=true:adm_csf_mode=2",
        "motion=motion_five_frame_window=true",
    ]
    good = True
    for size in SMALL if small else CHECKED:
        for depth, layout, kind in SMALL_FORMS if small else FORMS:
            random = np.random.default_rng(1)
            count = 3 if small or size[0] > 1000 else 7
            pairs = [planes(random, *size, depth, layout, kind) for _ in range(count)]
            for name in wanted:
                try:
                    ours, _ = measured([card, CpuDevice()], [name], pairs)
                except UnfitPictureError:
                    continue
                except Exception as error:
                    print(f"FAILED  {name} {size} {depth} {layout} {kind}: {error!r}", flush=True)
                    good = False
                    continue
                theirs, _ = measured([CpuDevice()], [name], pairs)
                for key, column in theirs.columns.items():
                    if not np.array_equal(column, ours.columns[key], equal_nan=True):
                        where = np.flatnonzero(column != ours.columns[key])[:3]
                        print(
                            f"DIFFERS {name} {size} {depth} {layout} {kind} {key} frames {where}: "
                            f"{ours.columns[key][where]} {column[where]}",
                            flush=True,
                        )
                        good = False
    print("check:", "all equal" if good else "NOT equal", flush=True)
    return good


def pinned(card: CudaDevice) -> None:
    """Frames a second from page-locked memory, the best of some runs."""
    for size, depth, wanted, label, frames in (
        ("1080p", 8, V061, "v0.6.1", 6000),
        ("1080p", 8, BOTH, "v0.6.1 and NEG", 6000),
        ("1080p", 10, V061, "v0.6.1", 3000),
        ("1080p", 8, V1, "v1 3d0h", 2000),
        ("2160p", 8, V061, "v0.6.1", 1500),
        ("2160p", 10, V061, "v0.6.1", 1000),
        ("1080p", 8, ["psnr"], "psnr", 3000),
        ("1080p", 8, ["float_ssim"], "float_ssim", 2000),
    ):
        width, height = SIZES[size]
        luma_only = label == "v0.6.1" or "NEG" in label
        kept = _pinned_pairs(card, width, height, depth, luma_only)

        def pairs(kept: list[Any] = kept, frames: int = frames) -> Iterable[Any]:
            for number in range(frames):
                yield kept[number % len(kept)]

        try:
            measured([card, CpuDevice()], wanted, kept)
            runs = [measured([card, CpuDevice()], wanted, pairs()) for _ in range(_RUNS)]
            found, fps = max(runs, key=lambda run: run[1])
            few, _ = measured([CpuDevice()], wanted, kept[:8])
        except Exception as error:
            print(f"pinned  {size} {depth} bit {label}: {error!r}", flush=True)
            continue
        name = next(reversed(found.columns)) if not found.models else found.models[0]
        equal = np.array_equal(found.columns[name][:7], few.columns[name][:7], equal_nan=True)
        print(
            f"pinned  {size} {depth:2} bit {label:15} {fps:8.0f} fps  {name} {found.columns[name][0]:.6f} "
            f"{'as on the CPU' if equal else 'NOT as on the CPU'}",
            flush=True,
        )


def _pinned_pairs(card: CudaDevice, width: int, height: int, depth: int, luma: bool) -> list[Any]:
    """Pairs of page-locked pictures: a few that are drawn, and others that are those moved."""
    random = np.random.default_rng(0)
    drawn = [planes(random, width, height, depth, "420", "usual") for _ in range(4)]
    return [
        tuple(_locked(card, picture, number, luma) for picture in drawn[number % len(drawn)])
        for number in range(_PAIRS)
    ]


def _locked(card: CudaDevice, picture: Picture, moved: int, luma: bool) -> Picture:
    found = []
    for plane in picture.planes[: 1 if luma else 3]:
        memory = card.card.pinned(plane.nbytes).view(plane.dtype).reshape(plane.shape)
        memory[:] = np.roll(plane, moved, 1)
        found.append(memory)
    return Picture(tuple(found), PixelFormat("400" if luma else "420", picture.format.depth))


def kernels(card: CudaDevice) -> None:
    """Microseconds of the card for each frame, by extractor."""
    for size, depth in (("1080p", 8), ("1080p", 10), ("2160p", 8)):
        width, height = SIZES[size]
        geometry = Geometry(width, height, depth, (width // 2, height // 2))
        most = batch_frames(geometry)
        stream = card.card.stream()
        held, table = [], np.zeros(most, FRAME)
        random = np.random.default_rng(0)
        pictures = [planes(random, width, height, depth, "420", "usual") for _ in range(2)]
        for number in range(most):
            for place, picture in zip(
                ("ref", "dis", "before_ref", "before_dis"),
                (*pictures[number % 2], *pictures[(number + 1) % 2]),
                strict=True,
            ):
                for plane_number, plane in enumerate(picture.planes):
                    pitch = -(-plane.shape[1] * plane.itemsize // 256) * 256
                    memory = card.card.allocate(pitch * plane.shape[0])
                    locked = card.card.pinned(plane.nbytes).view(plane.dtype).reshape(plane.shape)
                    locked[:] = plane
                    stream.upload(memory.address, pitch, locked)
                    held.append((memory, locked))
                    into = table[number][place] if place in ("ref", "dis") else table[number][place][0]
                    into["plane"][plane_number], into["pitch"][plane_number] = memory.address, pitch
                if place.startswith("before"):
                    table[number][place][1] = table[number][place][0]
        records = card.card.allocate(table.nbytes)
        locked = card.card.pinned(table.nbytes)
        locked[:] = table.view(np.uint8)
        stream.upload(records.address, table.nbytes, locked.reshape(1, -1))
        stream.mark().wait()
        for kind, entry in TWINS.items():
            try:
                twin = entry.twin()([get_extractor(kind.name)()], geometry, Bench(card.card, most))
                sums = card.card.allocate(max(8, most * twin.words * 8))
                took = _time(stream, partial(twin.launch, Batch(stream, records.address, most), sums.address))
                print(
                    f"kernels {size} {depth:2} bit {kind.name:16} {took / most * 1e6:9.1f} us a frame",
                    flush=True,
                )
            except Exception as error:
                print(f"kernels {size} {depth} bit {kind.name}: {error!r}", flush=True)


def _time(stream: Any, launch: Callable[[], None]) -> float:
    launch()
    stream.mark().wait()
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        for _ in range(10):
            launch()
        stream.mark().wait()
        best = min(best, (time.perf_counter() - start) / 10)
    return best


PARTS: dict[str, Callable[[CudaDevice], Any]] = {"kernels": kernels, "pinned": pinned, "check": check}
ENCODED = "encoded"  # a part that needs PyAV, and PyNvVideoCodec as its peer: it is imported only for itself
# Parts in processes of their own, which find the card as idle as users do: it isn't opened here.
PROGRAMS: dict[str, Callable[[int, Path | None], Any]] = {
    "file": cuda_peer.file,
    "first": cuda_peer.first,
    "peer": cuda_peer.peer,
    "golden": lambda *_: cuda_golden.golden(),
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    every = (*PROGRAMS, *PARTS, ENCODED)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(every)}; all, unless named")
    parser.add_argument("--small", action="store_true", help="check: few small pictures")
    parser.add_argument("--frames", type=int, default=3000, help="file, peer: frames of 1080p (3000)")
    parser.add_argument("--folder", type=Path, help="file, first, peer: keep clips here")
    arguments = parser.parse_args()
    parts = arguments.parts or list(every)
    if unknown := set(parts) - set(every):
        parser.error(f"no part is called {', '.join(sorted(unknown))}")
    if ENCODED in parts:
        import cuda_encoded

        PARTS[ENCODED] = cuda_encoded.encoded
    # This file would hide the package of that name, which CuPy imports.
    sys.path.remove(os.path.dirname(os.path.abspath(__file__)))
    results = [PROGRAMS[part](arguments.frames, arguments.folder) for part in parts if part in PROGRAMS]
    if own := [part for part in parts if part in PARTS]:
        start = time.perf_counter()
        card = CARDS.open(0)
        assert card is not None
        print(card.properties, f"opened in {time.perf_counter() - start:.2f} s", flush=True)
        device = CudaDevice(card)
        for part in own:
            results.append(check(device, arguments.small) if part == "check" else PARTS[part](device))
    return 1 if False in results else 0


if __name__ == "__main__":
    raise SystemExit(main())
