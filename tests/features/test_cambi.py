"""Banding: libvmaf's figures, whatever the options; heatmaps; steps that can be seen; what is refused."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import formula_pictures
from acuity import _native
from acuity.errors import FeatureError, OutputError
from acuity.features.cambi import Cambi
from acuity.features.extractor import Geometry
from acuity.features.visible_steps import visible_steps
from acuity.measure import Results
from banding import CASES, HEATMAPS, Case, pictures

FIGURES, SUMS = json.loads(Path(__file__).with_name("banding_figures.json").read_text()).values()


def measure(*features: str, size: tuple[int, int, int], instruction_set: str | None = None) -> Results:
    ref, dis = pictures(*size)
    pairs = [((ref,), (dis,))]
    return formula_pictures.measure(pairs, *features, bitdepth=size[2], instruction_set=instruction_set)


@pytest.mark.parametrize(
    ("case", "expected"), list(zip(CASES, FIGURES, strict=True)), ids=[case.options for case in CASES]
)
def test_figures_are_libvmafs(case: Case, expected: dict[str, float]) -> None:
    columns = measure(f"cambi={case.options}", size=case[1:]).columns
    found = {key: float(column[0]) for key, column in columns.items()}
    assert list(found) == list(expected)
    assert found == pytest.approx(expected, rel=1e-14, abs=0)
    assert any(expected.values())


def test_what_differs_after_the_work_is_shared() -> None:
    plain = Cambi()
    after: list[dict[str, Any]] = [{"cambi_max_val": 3.0}, {"full_ref": True}, {"heatmaps_path": "maps"}]
    for options in after:
        assert Cambi(options).sharing == plain.sharing
    assert Cambi({"eotf": "pq"}).sharing == Cambi({"cambi_eotf": "pq"}).sharing
    assert Cambi({"topk": 0.3}).sharing == Cambi({"topk": 0.3, "cambi_topk": 0.2}).sharing
    names = ("window_size", "enc_bitdepth", "max_log_contrast", "tvi_threshold", "cambi_high_res_speedup")
    for name, value in zip(names, (63, 8, 1, 0.5, 1080), strict=True):
        assert Cambi({name: value}).sharing != plain.sharing


def test_drawing_changes_no_figure() -> None:
    drawn, plain = Cambi({"heatmaps_path": "maps"}), Cambi({"full_ref": True})
    for merged in (drawn.merge(plain), plain.merge(drawn)):
        assert merged.text("heatmaps_path") == "maps"
        assert merged.flag("full_ref")
        assert merged.covers(plain)
        assert merged.covers(drawn)
    assert drawn.covers(Cambi())
    assert not Cambi().covers(drawn)
    with pytest.raises(FeatureError, match="heatmaps_path=maps and with heatmaps_path=other"):
        drawn.merge(Cambi({"heatmaps_path": "other"}))


@pytest.mark.parametrize(
    ("options", "size", "sentence"),
    [
        ({}, (160, 90), "cambi needs pictures with at least 216 samples on one side, .* these are 160x90"),
        ({"enc_width": 200, "enc_height": 160}, (352, 288), "these are 200x160"),
        ({"src_width": 400, "src_height": 200}, (352, 288),
         "cambi can't compare a source of 400x200 with an encode of 352x288"),
        ({"window_size": 127}, (3840, 2160),
         "takes a window of 127 samples at 3840x2160, and 65 is the most: give window_size=65 or less"),
        ({}, (7680, 4320), "window of 131 samples at 7680x4320, .* window_size=32 or less"),
    ],
)  # fmt: skip
def test_what_has_no_answer(options: dict[str, Any], size: tuple[int, int], sentence: str) -> None:
    with pytest.raises(FeatureError, match=sentence):
        Cambi(options).check_size(Geometry(*size, 8))


@pytest.mark.parametrize(("width", "height"), [(1600, 20), (20, 1600), (216, 1), (1, 216), (217, 3)])
def test_very_wide_and_very_high_pictures(width: int, height: int, instruction_set: str) -> None:
    """libvmaf reads and writes outside its memory once a scale is smaller than its window."""
    found = measure("cambi=full_ref=true", size=(width, height, 10), instruction_set=instruction_set)
    expected = measure("cambi=full_ref=true", size=(width, height, 10), instruction_set="plain")
    for key, column in found.columns.items():
        assert np.isfinite(column).all()
        np.testing.assert_array_equal(column, expected.columns[key])


@st.composite
def planes(draw: st.DrawFn) -> tuple[Any, int]:
    """Bands, blocks and noise of few or many values, with rows that may be padded."""
    width, height = draw(st.integers(1, 700)), draw(st.integers(1, 60))
    depth = draw(st.sampled_from([8, 9, 10, 12, 16]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    y, x = np.mgrid[0:height, 0:width]
    cell = draw(st.integers(1, 40))
    values = 64 + ((x // cell) * 5 + (y // cell) * 3) % draw(st.sampled_from([2, 30, 900]))
    odd = rng.random(x.shape) < draw(st.sampled_from([0, 0.02, 0.3]))
    values = np.where(odd, rng.integers(0, 1024, x.shape), values)
    scaled = values >> (10 - depth) if depth < 10 else np.minimum(values << (depth - 10), (1 << depth) - 1)
    room = np.zeros((height, width + draw(st.integers(0, 5))), np.uint8 if depth == 8 else np.uint16)
    room[:, :width] = scaled
    return room[:, :width], depth


@settings(max_examples=25)
@given(
    planes(),
    st.sampled_from([1, 3, 9, 33, 65]),
    st.integers(0, 5),
    st.sampled_from([0.0001, 0.3, 0.6, 1.0]),
    st.booleans(),
    st.booleans(),
)
def test_instruction_sets_agree(
    instruction_set: str,
    picture: tuple[Any, int],
    window: int,
    contrast: int,
    share: float,
    smooth: bool,
    halve: bool,
) -> None:
    plane, depth = picture
    height, width = plane.shape

    def run(name: str) -> tuple[list[float], list[Any]]:
        how: dict[str, Any] = {"smooth": smooth, "halve": halve, "share": share, "heatmaps": True}
        how |= {"steps": visible_steps("bt1886", 0.019, 0.06, 1 << contrast), "instruction_set": name}
        how |= {"judged": (width, height, window), "source": (max(1, width * 2 // 3), height + 1, window)}
        kernel = _native.Cambi(_native.Workspace(), width, height, depth, **how)
        maps = [np.zeros((rows, columns), np.uint16) for columns, rows in kernel.sizes]
        return kernel.run(plane, plane, maps), maps

    (scores, maps), (expected, expected_maps) = run(instruction_set), run("plain")
    assert scores == expected
    for found, wanted in zip(maps, expected_maps, strict=True):
        np.testing.assert_array_equal(found, wanted)


def read_png(path: Path) -> Any:
    with av.open(str(path)) as file:
        frame = next(file.decode(video=0))
    assert isinstance(frame, av.VideoFrame)
    assert frame.format.name == "gray16be"
    return frame.to_ndarray(format="gray16le")


def draw(feature: str, case: Case, frames: int, threads: int) -> None:
    ref, dis = pictures(*case[1:])
    pairs = [((ref,), (np.roll(dis, shift, 1),)) for shift in range(frames)]
    formula_pictures.measure(pairs, feature, bitdepth=case.depth, threads=threads)


@pytest.mark.parametrize(("case", "sums"), list(zip(HEATMAPS, SUMS, strict=True)))
def test_samples_are_libvmafs(case: Case, sums: list[int], tmp_path: Path) -> None:
    folder = tmp_path / "not" / "there"
    draw(f"cambi={case.options}:heatmaps_path={folder}", case, 1, 1)
    images = [read_png(path) for path in sorted(folder.iterdir())]
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


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"heatmaps could not be written to '.*file/maps': Not a directory"):
        draw(f"cambi=heatmaps_path={tmp_path}/file/maps", HEATMAPS[1], 1, 1)


@pytest.mark.parametrize(
    ("eotf", "share", "highest"),
    [
        ("bt1886", 0.019, [178, 305, 432, 559]),
        ("pq", 0.019, [233, 1023, 1023, 1023]),
        ("bt1886", 0.2, [64, 77, 89, 102]),
        ("bt1886", 0.5, [0, 0, 68, 73]),
        ("bt1886", 0.0001, [1023, 1023, 1023, 1023]),
    ],
)
def test_brightest_values(eotf: str, share: float, highest: list[int]) -> None:
    steps = visible_steps(eotf, share, 0.0, 4)
    assert [step.highest for step in steps] == highest
    assert [step.weight for step in steps] == [1, 2, 3, 4]
    assert all(step.lowest < 0 for step in steps)


@pytest.mark.parametrize(
    ("eotf", "darkest", "limit"),
    [
        ("bt1886", 0.06, 78),
        ("bt1886", 1.0, 135),
        ("bt1886", 300.0, 940),
        ("pq", 0.06, 108),
        ("pq", 100.0, 510),
    ],
)
def test_darkest_values(eotf: str, darkest: float, limit: int) -> None:
    lowest = [step.lowest for step in visible_steps(eotf, 0.019, darkest, 4)]
    assert lowest == [limit - 4 - d for d in range(4)]
