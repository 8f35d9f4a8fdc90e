"""Pictures with banding, the same on every machine, and libvmaf's figures for them.

Run as a program it asks a reference `vmaf` that prints all digits:

    python tests/features/banding.py /path/to/vmaf > tests/features/banding_figures.json
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Plane = NDArray[np.uint8] | NDArray[np.uint16]


class Case(NamedTuple):
    options: str  # of cambi
    width: int
    height: int
    depth: int


CASES = (
    Case("full_ref=true", 352, 288, 8),
    Case("full_ref=true", 355, 289, 10),
    Case("full_ref=true", 352, 288, 12),
    Case("window_size=127:max_log_contrast=5", 352, 288, 16),
    Case("max_log_contrast=0:tvi_threshold=0.005:full_ref=true", 352, 288, 10),
    Case("max_log_contrast=1:full_ref=true:cambi_max_val=0.5", 301, 240, 10),
    Case("max_log_contrast=3:cambi_vis_lum_threshold=0.2", 352, 288, 8),
    Case("max_log_contrast=4:window_size=40", 480, 270, 10),
    Case("eotf=pq:full_ref=true", 352, 288, 10),
    Case("eotf=pq:cambi_eotf=bt1886:full_ref=true", 352, 288, 10),
    Case("cambi_eotf=pq:full_ref=true:cambi_vis_lum_threshold=0.03", 352, 288, 8),
    Case("topk=0.2:cambi_topk=0.9", 352, 288, 10),
    Case("cambi_topk=0.9", 352, 288, 10),
    Case("topk=1.0", 352, 288, 8),
    Case("enc_width=320:enc_height=180:enc_bitdepth=8", 481, 321, 10),
    Case("enc_width=333", 481, 321, 10),  # without a height it means nothing
    Case("enc_width=300:enc_height=330", 481, 321, 10),  # neither does more than there is
    Case("full_ref=true:enc_width=400:enc_height=250:src_width=330:src_height=222", 481, 321, 8),
    Case("full_ref=true:src_width=600:src_height=400", 481, 321, 12),
    Case("cambi_high_res_speedup=1080:cambi_vis_lum_threshold=0.06:window_size=70", 1920, 1080, 8),
    Case("cambi_high_res_speedup=1440:full_ref=true", 1920, 1080, 10),
)
HEATMAPS = (Case("window_size=100", 352, 289, 8), Case("max_log_contrast=3", 301, 240, 10))


def pictures(width: int, height: int, depth: int) -> tuple[Plane, Plane]:
    """A smooth reference with a little noise, and the same in bands."""
    y, x = np.mgrid[0:height, 0:width].astype(np.int64)
    hashed = (x * 0x9E3779B1 + y * 0x85EBCA77) & 0xFFFFFFFF
    hashed = ((hashed ^ (hashed >> 15)) * 0x2C1B3C6D) & 0xFFFFFFFF
    hashed ^= hashed >> 13
    slope = 70 + abs((x * 2 + y) % 2600 - 1300) // 16 + (x // 90) * 100 % 700  # 10 bits
    noise = np.where(hashed % 16 == 0, hashed // 16 % 4, 0)
    ref = slope + np.where(y * 4 // height == 3, 0, noise)
    dis = slope // 4 * 4 + np.where(y * 4 // height == 1, noise, 0)
    planes = []
    for plane in (ref, dis):
        scaled = plane >> (10 - depth) if depth < 10 else plane << (depth - 10)
        planes.append(scaled.astype(np.uint8 if depth == 8 else np.uint16))
    return planes[0], planes[1]


def _ask(program: str, case: Case, folder: Path, options: str) -> dict[str, Any]:
    for name, luma in zip(("ref", "dis"), pictures(*case[1:]), strict=True):
        chroma = np.zeros((case.height // 2, case.width // 2), luma.dtype)
        (folder / name).write_bytes(luma.tobytes() + 2 * chroma.tobytes())
    command = [program, "-r", str(folder / "ref"), "-d", str(folder / "dis"), "-p", "420", "-q", "--json"]
    command += ["-w", str(case.width), "-h", str(case.height), "-b", str(case.depth), "--no_prediction"]
    command += ["--feature", f"cambi={options}", "-o", str(folder / "out"), "--cpumask", "4294967295"]
    subprocess.run(command, check=True)
    metrics: dict[str, Any] = json.loads((folder / "out").read_text())["frames"][0]["metrics"]
    return metrics


def ask(program: str) -> dict[str, Any]:
    """Figures, and checksums of the heatmaps' samples."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        figures = [_ask(program, case, folder, case.options) for case in CASES]
        sums = []
        for number, case in enumerate(HEATMAPS):
            maps = folder / f"maps{number}"
            _ask(program, case, folder, f"{case.options}:heatmaps_path={maps}")
            sums.append([zlib.crc32(path.read_bytes()) for path in sorted(maps.iterdir())])
    return {"figures": figures, "heatmaps": sums}


if __name__ == "__main__":
    print(json.dumps(ask(sys.argv[1]), indent=1))
