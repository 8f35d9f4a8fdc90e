"""Heatmaps: libvmaf's samples, as images that can be looked at."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acuity.errors import OutputError
from acuity.measure import Measurement
from acuity.png import grey_png
from banding import HEATMAPS, Case, pictures

SUMS: list[list[int]] = json.loads(Path(__file__).with_name("banding_figures.json").read_text())["heatmaps"]


def read_png(data: bytes) -> Any:
    """A 16-bit grey image without filters, every checksum looked at."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + body)
        chunks[kind] = chunks.get(kind, b"") + body
        at += 12 + length
    assert list(chunks) == [b"IHDR", b"pHYs", b"IDAT", b"IEND"]
    width, height, *form = struct.unpack(">II5B", chunks[b"IHDR"])
    assert form == [16, 0, 0, 0, 0]
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 1 + 2 * width)
    assert not rows[:, 0].any()
    return np.ascontiguousarray(rows[:, 1:]).view(">u2").astype(np.uint16)


def draw(feature: str, case: Case, frames: int, threads: int) -> None:
    ref, dis = pictures(*case[1:])
    with Measurement(threads=threads) as measurement:
        measurement.add_feature(feature)
        for shift in range(frames):
            measurement.add((ref,), (np.roll(dis, shift, 1),), bitdepth=case.depth)
        measurement.flush()


def test_an_image_is_what_was_drawn() -> None:
    image = np.arange(35, dtype=np.uint16).reshape(5, 7) * 1800
    np.testing.assert_array_equal(read_png(grey_png(image)), image)


@pytest.mark.parametrize(("case", "sums"), list(zip(HEATMAPS, SUMS, strict=True)))
def test_samples_are_libvmafs(case: Case, sums: list[int], tmp_path: Path) -> None:
    folder = tmp_path / "not" / "there"
    draw(f"cambi={case.options}:heatmaps_path={folder}", case, 1, 1)
    images = [read_png(path.read_bytes()) for path in sorted(folder.iterdir())]
    width, height = case.width, case.height
    for image in images:
        assert image.shape == (height, width)
        width, height = (width + 1) // 2, (height + 1) // 2
    assert images[0].any()
    assert [zlib.crc32(image.astype("<u2").tobytes()) for image in images] == sums


def test_names_say_frame_and_scale_and_threads_write_all(tmp_path: Path) -> None:
    case = HEATMAPS[1]
    draw(f"cambi=topk=0.5:heatmaps_path={tmp_path}", case, 7, 4)
    assert {path.name for path in tmp_path.iterdir()} == {
        f"cambi_topk_0.5_heatmap_frame_{frame:06d}_scale_{scale}.png"
        for frame in range(7)
        for scale in range(5)
    }
    first, second = (
        (tmp_path / f"cambi_topk_0.5_heatmap_frame_00000{n}_scale_0.png").read_bytes() for n in (0, 1)
    )
    assert first != second


def test_halved_pictures_have_halved_heatmaps(tmp_path: Path) -> None:
    case = Case("", 1920, 1080, 8)
    draw(f"cambi=cambi_high_res_speedup=1080:heatmaps_path={tmp_path}", case, 1, 1)
    assert read_png(next(tmp_path.glob("*scale_0.png")).read_bytes()).shape == (540, 960)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"heatmaps could not be written to '.*file/maps': Not a directory"):
        draw(f"cambi=heatmaps_path={tmp_path}/file/maps", HEATMAPS[1], 1, 1)
