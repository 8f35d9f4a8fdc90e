"""The examples of README.md and docs/python.md are run as they are written, on small clips."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from acuity.png import rgb_png
from misaligned_clips import HEIGHT, WIDTH, encode_luma, frames_of
from prepared_programs import starter
from video_clips import clip

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
PYTHON = (ROOT / "docs" / "python.md").read_text()
FRAMES = 20
# What the README's loop over pictures takes for granted.
GIVEN = """\
import acuity
pictures = zip(acuity.open_video("original.mp4"), acuity.open_video("encoded.mp4"))
"""
_FENCED = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)

NEEDS = [
    line.strip()
    for line in README.partition("The usual needs:\n")[2].partition("\nAll metrics")[0].splitlines()
    if line.strip()
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("examples")
    frames = frames_of("grain")[: FRAMES + 2]
    lossless, lossy = {"codec": "ffv1"}, {"crf": "30"}
    source = frames[:FRAMES]
    for name in ("original.mp4", "original_360p.mp4"):
        encode_luma(made / name, source, crf="1")
    encode_luma(made / "encoded_540p.mp4", source, size=(WIDTH // 2, HEIGHT // 2), **lossy)
    encode_luma(made / "encoded_360p.mp4", source, **lossy)
    encode_luma(made / "original.mkv", source, **lossless)
    encode_luma(made / "in.mov", source, **lossy)
    encode_luma(made / "encoded.mp4", source, **lossy)
    encode_luma(made / "encoded.mkv", source, rate=24, **lossy)
    encode_luma(made / "late.mp4", source[1:], **lossy)
    encode_luma(made / "original_25fps.mkv", source[::2], **lossless)
    encode_luma(made / "encoded_50fps.mkv", source, rate=50, **lossy)
    (made / "encodes").mkdir()
    for quality in ("24", "36"):
        encode_luma(made / "encodes" / f"{quality}.mp4", source, crf=quality)
    _letterbox(made, source)
    for name, quality in (("hdr.mkv", "1"), ("hdr_encode.mkv", "24")):
        _hdr(made / name, source, quality)
    (made / "shots").mkdir()
    for number, luma in enumerate(source, 1):
        _image(made / "shots" / f"shot.{number:04d}.png", luma)
    return made


def _letterbox(made: Path, source: list[np.ndarray]) -> None:
    dark = []
    for luma in source:
        bars = np.full_like(luma, 16)
        bars[20:-20] = luma[20:-20]
        dark.append(bars)
    encode_luma(made / "letterboxed.mp4", dark, crf="1")
    inner = [av.VideoFrame.from_ndarray(np.ascontiguousarray(luma[20:-20]), "gray") for luma in source]
    clip(made / "cropped.mp4", inner, codec="libx264", pix_fmt="yuv420p", options={"crf": "30"})


def _hdr(path: Path, source: list[np.ndarray], quality: str) -> None:
    deep = "yuv420p10le"
    frames = [av.VideoFrame.from_ndarray(luma, "gray").reformat(format=deep) for luma in source]
    options = {"crf": quality, "x265-params": "log-level=none"}
    tags: dict[str, Any] = {"color_trc": 16, "color_primaries": 9, "colorspace": 9}
    clip(path, frames, codec="libx265", pix_fmt=deep, options=options, **tags)


def _image(path: Path, luma: np.ndarray) -> None:
    planes = np.vstack([luma, np.full((HEIGHT // 2, WIDTH), 128, np.uint8)])
    path.write_bytes(rgb_png(av.VideoFrame.from_ndarray(planes, "yuv420p").to_ndarray(format="rgb24")))


def ran(folder: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def test_there_are_needs() -> None:
    assert len(NEEDS) > 8


@pytest.mark.parametrize("line", NEEDS)
def test_the_usual_needs(folder: Path, line: str) -> None:
    if line.startswith("ffmpeg") and shutil.which("ffmpeg") is None:
        pytest.skip("ffmpeg, to write the pipe, is not installed here")
    here = shlex.join([*starter(), "-m", "acuity.cli.main", "score"])
    done = ran(folder, ["bash", "-o", "pipefail", "-c", line.replace("acuity score", here)])
    assert done.returncode == 0, done.stderr
    # HDR is not what the models were made for, and the encode of the images doesn't say its matrix.
    assert "warning" not in done.stdout + done.stderr or re.search("hdr|shots|--strict", line)
    assert re.search(r"VMAF +\d|^\d+\.\d{6}$", done.stdout, re.M), done.stdout


@pytest.mark.parametrize("page", [README, PYTHON], ids=["README", "python"])
def test_python(folder: Path, page: str) -> None:
    """The blocks of a page, one after the other, as a reader would type them."""
    blocks = _FENCED.findall(page)
    assert blocks
    done = ran(folder, [sys.executable, "-c", "\n".join([GIVEN, *blocks])])
    assert done.returncode == 0, done.stderr


def test_the_remark_beside_the_error_is_what_it_says(folder: Path) -> None:
    block = next(text for text in _FENCED.findall(PYTHON) if "except" in text)
    remark = re.search(r"# …: (.*)", block)
    assert remark is not None
    assert remark[1] in ran(folder, [sys.executable, "-c", f"import acuity\n{block}"]).stdout
