"""SSIMULACRA 2 of files: images against a port of the reference, videos by their tags of colour."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from numpy.typing import NDArray

import acuity
from acuity.png import rgb_png
from colour_clips import colours, rgb_clip, to_yuv, yuv_clip
from formula_pictures import damage, plane
from ssimulacra2_port import score
from video_clips import y4m_bytes

SIZES = [
    *((320, 180), (8, 8), (9, 15), (17, 33), (31, 24), (63, 65)),
    *((64, 64), (97, 66), (101, 67), (150, 101), (129, 255), (201, 37)),
]


def images(width: int, height: int) -> list[NDArray[np.uint8]]:
    ref = [plane((height, width), 8, 0, seed) for seed in range(3)]
    dis = [damage(samples, 8, 0, seed) for seed, samples in enumerate(ref)]
    return [np.stack(planes, -1).astype(np.uint8) for planes in (ref, dis)]


def ssimulacra2(report: acuity.ScoreReport) -> float:
    return float(report.results.columns["ssimulacra2"][0])


SRGB_READING = (
    "ssimulacra2 reads red, green and blue with the transfer srgb, as images have that say no other"
)


def readings(report: acuity.ScoreReport) -> list[str]:
    return [note.text for note in report.notes if note.code == "colour-scored"]


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_png_files_score_as_with_the_reference(tmp_path: Path, width: int, height: int) -> None:
    paths = [tmp_path / name for name in ("ref.png", "dis.png")]
    for path, image in zip(paths, images(width, height), strict=True):
        path.write_bytes(rgb_png(image))
    report = acuity.score(*paths, metrics=["ssimulacra2", "psnr"])
    assert ssimulacra2(report) == pytest.approx(score(*images(width, height)), abs=0.03)
    assert readings(report) == [SRGB_READING]
    assert report.to_dict()["input"]["reference"]["frame_rate"] is None


def test_rgb_video_that_says_nothing_is_read_as_images_are(tmp_path: Path) -> None:
    pair = images(64, 64)
    paths = [rgb_clip(tmp_path / f"{i}.mkv", [image / 255]) for i, image in enumerate(pair)]
    assert ssimulacra2(acuity.score(*paths, metrics=["ssimulacra2"])) == pytest.approx(score(*pair), abs=0.03)


def jpeg(path: Path, image: NDArray[np.uint8], pix_fmt: str) -> NDArray[np.uint8]:
    """Writes the image, and returns it as decoders do: chroma lies in the middle, and colours are rounded."""
    with av.open(str(path), "w", format="image2") as container:
        stream = container.add_stream("mjpeg", rate=1, options={"qmin": "2", "qmax": "2"})
        stream.width, stream.height, stream.pix_fmt = image.shape[1], image.shape[0], pix_fmt
        container.mux(stream.encode(av.VideoFrame.from_ndarray(image, "rgb24")))
        container.mux(stream.encode(None))
    with av.open(str(path)) as container:
        frame = next(container.decode(video=0))
    luma, *chroma = (
        np.frombuffer(bytes(p), np.uint8).reshape(p.height, -1)[:, : p.width].astype(float)
        for p in frame.planes
    )
    blue, red = (
        (enlarged(enlarged(p).T).T if p.shape != luma.shape else p)[: len(luma), : luma.shape[1]] - 128
        for p in chroma
    )
    rgb = [luma + 1.402 * red, luma - 0.344136 * blue - 0.714136 * red, luma + 1.772 * blue]
    return np.clip(np.rint(np.stack(rgb, -1)), 0, 255).astype(np.uint8)


def enlarged(samples: NDArray[Any]) -> NDArray[Any]:
    around = np.pad(samples, [(1, 1), (0, 0)], "edge")
    parts = [0.75 * samples + 0.25 * around[:-2], 0.75 * samples + 0.25 * around[2:]]
    return np.stack(parts, 1).reshape(-1, samples.shape[1])


@pytest.mark.parametrize("source", ["png", "jpg"])
@pytest.mark.parametrize("pix_fmt", ["yuvj444p", "yuvj420p"])
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_jpeg_files_score_as_what_decoders_show(
    tmp_path: Path, width: int, height: int, pix_fmt: str, source: str
) -> None:
    """Beside PNG files too, which are taken to the matrix and range of JPEG for other metrics."""
    ref, dis = images(width, height)
    shown = jpeg(tmp_path / "ref.jpg", ref, pix_fmt) if source == "jpg" else ref
    for name, image in (("ref", shown), ("dis", jpeg(tmp_path / "dis.jpg", dis, pix_fmt))):
        (tmp_path / f"{name}.png").write_bytes(rgb_png(image))
    report = acuity.score(tmp_path / f"ref.{source}", tmp_path / "dis.jpg", metrics=["ssimulacra2"])
    same = acuity.score(tmp_path / "ref.png", tmp_path / "dis.png", metrics=["ssimulacra2"])
    assert ssimulacra2(report) == ssimulacra2(same)
    assert readings(report) == [SRGB_READING]


def test_images_that_are_scaled_are_read_as_compared(tmp_path: Path) -> None:
    """What an image was before can't be told from then on."""
    pair = images(64, 64)[0], images(96, 96)[1]
    paths = [tmp_path / name for name in ("ref.png", "dis.png")]
    for path, image in zip(paths, pair, strict=True):
        path.write_bytes(rgb_png(image))
    report = acuity.score(*paths, metrics=["ssimulacra2"])
    text = "ssimulacra2 reads the samples with the matrix BT.709, limited range and the transfer srgb"
    assert readings(report) == [text]


VIDEOS = {
    "tagged SD": ("bt709", {"color_trc": 1, "color_primaries": 1}, "matrix=bt709",
        "the matrix BT.709, limited range and the transfer bt1886"),
    "full range": ("smpte170m", {"color_range": 2}, "range=full",
        "the matrix BT.601, full range and the transfer bt1886 (transfer assumed)"),
    "PQ": ("bt2020nc", {"color_trc": 16, "color_primaries": 9}, "matrix=bt2020:transfer=pq",
        "the matrix BT.2020, limited range, the transfer pq and the primaries BT.2020"),
    "HLG": ("bt2020nc", {"color_trc": 18}, "matrix=bt2020:transfer=hlg",
        "the matrix BT.2020, limited range, the transfer hlg and the primaries BT.2020"),
}  # fmt: skip


@pytest.mark.parametrize("case", VIDEOS)
def test_videos_are_read_by_their_tags(tmp_path: Path, case: str) -> None:
    matrix, tags, options, reading = VIDEOS[case]
    sharp = [to_yuv(colours(0), matrix)]
    coarse = [np.rint(planes / 12) * 12 for planes in sharp]
    # Samples that say nothing, to be read as options say.
    plain = [tmp_path / name for name in ("sharp.y4m", "coarse.y4m")]
    for path, planes in zip(plain, (sharp, coarse), strict=True):
        frame = [np.rint(samples).astype(np.uint8) for samples in planes[0]]
        path.write_bytes(y4m_bytes([frame], "W96 H64 F25:1 C444"))
    told = acuity.score(*plain, feature=[f"ssimulacra2={options}"])
    clips = [
        yuv_clip(tmp_path / f"{name}.mkv", planes, matrix, **tags)
        for name, planes in (("sharp", sharp), ("coarse", coarse))
    ]
    report = acuity.score(*clips, metrics=["ssimulacra2"])
    assert ssimulacra2(report) == ssimulacra2(told)
    assert readings(report) == [f"ssimulacra2 reads the samples with {reading}"]
    silent = acuity.score(*plain, metrics=["ssimulacra2"])
    assert ssimulacra2(silent) == ssimulacra2(
        acuity.score(*plain, feature=["ssimulacra2=matrix=bt601:range=limited:transfer=bt1886"])
    )
    assert readings(silent)[0].endswith("(matrix, range, transfer assumed)")


def test_ciede_says_where_libvmaf_reads_other_colours(tmp_path: Path) -> None:
    clips = [yuv_clip(tmp_path / f"{n}.mkv", [to_yuv(colours(n), "bt709")], "bt709") for n in range(2)]
    assert readings(acuity.score(*clips, metrics=["ciede"], align="off")) == []
    full = [
        yuv_clip(tmp_path / f"full{n}.mkv", [to_yuv(colours(n), "smpte170m")], "smpte170m", color_range=2)
        for n in range(2)
    ]
    assert readings(acuity.score(*full, metrics=["ciede"], align="off")) == [
        "ciede reads all samples as BT.709 in limited range, as libvmaf's does, though these have the matrix "
        "smpte170m and full range: compare its figures with those of such videos only"
    ]
