"""Pictures that are difficult for metrics: equal, opposite, noisy, alternating, smooth.

Run as a program it asks a reference `vmaf` for its figures, which test_extremes.py holds ours to:

    python tests/features/extremes.py /path/to/vmaf > tests/features/extreme_figures.json

The program should print all digits; libvmaf's own prints six decimals.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

WIDTH, HEIGHT, FRAMES = 352, 288, 3
FORMATS = (("420", 8), ("420", 10), ("444", 8), ("422", 12))
FEATURES = (
    *("adm=debug=true", "cambi", "cambi=full_ref=true", "ciede", "float_adm", "float_ansnr", "float_moment"),
    *("float_motion", "float_ms_ssim", "float_ms_ssim=enable_db=true:clip_db=true", "float_psnr"),
    *("float_ssim", "float_ssim=enable_db=true", "float_ssim=enable_db=true:clip_db=true", "float_vif"),
    *("motion", "psnr=enable_mse=true:enable_apsnr=true", "psnr=min_sse=0.5:reduced_hbd_peak=true"),
    *("psnr_hvs", "speed_chroma", "speed_temporal", "vif=debug=true"),
    "speed_chroma=speed_nn_floor=0.1:speed_sigma_nn=0.19:speed_weight_var_mode=5:speed_max_val=45.0",
)

Plane = NDArray[np.int64]
Pattern = Callable[[Plane, Plane, int, int], tuple[Plane, Plane]]


def _noise(x: Plane, y: Plane, salt: int) -> Plane:
    """The same on every machine and with every version of a library: 16 bits of a hash."""
    h = (x * 0x9E3779B1 + y * 0x85EBCA77 + salt * 0xC2B2AE3D) & 0xFFFFFFFF
    h = ((h ^ (h >> 15)) * 0x2C1B3C6D) & 0xFFFFFFFF
    h = ((h ^ (h >> 12)) * 0x297A2D39) & 0xFFFFFFFF
    return np.asarray((h ^ (h >> 15)) & 0xFFFF)


def _spread(x: Plane, y: Plane, salt: int, peak: int) -> Plane:
    return _noise(x, y, salt) * peak // 0xFFFF


def _checkerboard(x: Plane, y: Plane, n: int, peak: int) -> tuple[Plane, Plane]:
    one = ((x + y + n) & 1) * peak
    return one, peak - one


def _gradient(x: Plane, y: Plane, n: int, peak: int) -> tuple[Plane, Plane]:
    smooth = (x + 2 * n) * peak // (2 * int(x.max()) + 8)
    step = max(peak // 64, 1)
    return smooth, smooth // step * step


PATTERNS: dict[str, Pattern] = {
    "identical": lambda x, y, n, peak: (_spread(x, y, n, peak),) * 2,
    "black_white": lambda x, y, n, peak: (0 * x, 0 * x + peak),
    "full_range": lambda x, y, n, peak: (_spread(x, y, n, peak), _spread(x, y, n + 100, peak)),
    "checkerboard": _checkerboard,
    "gradient": _gradient,
    "flat": lambda x, y, n, peak: (0 * x + peak // 2, 0 * x + peak // 2 + 1),
}

Planes = tuple[NDArray[np.uint8] | NDArray[np.uint16], ...]


def clip(pattern: str, layout: str, depth: int) -> Iterator[tuple[Planes, Planes]]:
    """Pairs of pictures."""
    shifts = {"420": (1, 1), "422": (1, 0), "444": (0, 0)}[layout]
    dtype = np.uint8 if depth == 8 else np.uint16
    for index in range(FRAMES):
        pairs = []
        for number in range(3):
            sx, sy = shifts if number else (0, 0)
            y, x = np.mgrid[0 : HEIGHT >> sy, 0 : WIDTH >> sx].astype(np.int64)
            pairs.append(PATTERNS[pattern](x, y, index + 10 * number, (1 << depth) - 1))
        ref, dis = (tuple(pair[side].astype(dtype) for pair in pairs) for side in (0, 1))
        yield ref, dis


def ask(program: str) -> dict[str, Any]:
    """The reference's figures by clip and feature; infinity as a word, which JSON has no number for."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary:
        paths = [Path(temporary) / name for name in ("ref.yuv", "dis.yuv", "out.json")]
        for pattern in PATTERNS:
            for layout, depth in FORMATS:
                pairs = list(clip(pattern, layout, depth))
                for side, path in enumerate(paths[:2]):
                    path.write_bytes(b"".join(plane.tobytes() for pair in pairs for plane in pair[side]))
                name = f"{pattern} {layout}p{depth}"
                found[name] = {feature: _ask(program, paths, layout, depth, feature) for feature in FEATURES}
    return found


def _ask(program: str, paths: list[Path], layout: str, depth: int, feature: str) -> dict[str, Any] | None:
    command = [program, "-r", str(paths[0]), "-d", str(paths[1]), "-w", str(WIDTH), "-h", str(HEIGHT)]
    command += ["-p", layout, "-b", str(depth), "--no_prediction", "--feature", feature, "-q", "--json"]
    command += ["-o", str(paths[2]), "--cpumask", "4294967295"]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        return None
    report = json.loads(paths[2].read_text())
    rows = [frame["metrics"] for frame in report["frames"]]
    figures = {key: [_shown(row[key]) for row in rows] for key in rows[0]}
    return {"frames": figures, "clip": {k: _shown(v) for k, v in report["aggregate_metrics"].items()}}


def _shown(value: float | None) -> float | str:
    return "not finite" if value is None else value


if __name__ == "__main__":
    print(json.dumps(ask(sys.argv[1]), indent=None, separators=(",", ":")).replace('},"', '},\n"'))
