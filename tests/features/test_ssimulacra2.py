"""SSIMULACRA 2 against the reference program, cloudinary/ssimulacra2 version 2.1 (commit 81feacf).

Its recursive blur rounds coarsely: the last bit of an input moves a score by some thousandths, and its own
instruction sets differ by up to five points, because some lack fused multiply-add. Figures here are those of
its AVX2 and AVX-512 code, which agree.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from acuity import _native
from acuity.errors import FeatureError
from acuity.features.extractor import Geometry
from acuity.features.ssimulacra2 import Ssimulacra2
from acuity.video.picture import ColourTags, Picture
from formula_pictures import damage, measure, pair, pattern, picture, plane
from seeded import figures

# The program was given linear light as floats, made from tests/formula_pictures.py in single precision by the
# formulas of the kernel, so that nothing is left to rounding.
REFERENCE = [
    ((96, 64, "420", 8), {}, 86.4703421),
    ((96, 64, "420", 10), {}, 86.15501405),
    ((150, 101, "420", 8), {"matrix": "bt709"}, 85.79496389),
    ((97, 66, "422", 8), {"range": "full"}, 83.60855644),
    ((64, 50, "444", 12), {"transfer": "srgb"}, 67.91740306),
    ((96, 64, "400", 8), {}, 93.20974069),
    ((8, 8, "444", 8), {}, 94.65402187),  # two scales, the second of 4x4
    ((15, 9, "420", 8), {}, 93.6100838),
    ((352, 288, "420", 8), {"transfer": "gamma22"}, 77.21506204),
    ((70, 70, "444", 8), {"transfer": "linear", "range": "full"}, 76.16551926),
]

# Light of BT.2020's primaries, which the program was given in BT.709's: rounded differently.
WIDE = [
    ((61, 47, "444", 16), {"matrix": "bt2020"}, 38.16170874),
    ((80, 60, "420", 10), {"matrix": "bt2020", "transfer": "pq"}, 55.06798411),
]

PATTERNS = [
    ("black", "white", 0, -61.77424286),
    ("white", "black", 0, -60.5014713),
    ("noise", "noise", 1, -714.06490183),
    ("checkers", "checkers", 1, -2421.35038302),
    ("gradient", "gradient", 0, 100.0),
    ("gradient", "black", 0, -64.22776558),
]


def score(
    ref: Picture, dis: Picture, options: dict[str, Any] | None = None, instruction_set: str = ""
) -> float:
    return figures("ssimulacra2", ref, dis, options, instruction_set)["ssimulacra2"]


@pytest.mark.parametrize(("shape", "options", "figure"), [*REFERENCE, *WIDE])
def test_equals_the_reference(
    shape: tuple[int, int, str, int], options: dict[str, Any], figure: float
) -> None:
    within = 0.01 if options.get("matrix") == "bt2020" else 1e-6
    assert score(*pair(*shape), options) == pytest.approx(figure, abs=within)


@pytest.mark.parametrize(("ref", "dis", "seed", "figure"), PATTERNS)
def test_equals_the_reference_on_patterns(ref: str, dis: str, seed: int, figure: float) -> None:
    pictures = pattern(ref, 80, 56, "420", 8), pattern(dis, 80, 56, "420", 8, seed)
    assert score(*pictures) == pytest.approx(figure, abs=1e-6)


def coded(rgb: list[NDArray[Any]], red: float, blue: float) -> Picture:
    """Red, green and blue of 8 bits as full-range 4:4:4 of 16 bits, which loses next to nothing."""
    r, g, b = (channel / 255 for channel in rgb)
    y = red * r + (1 - red - blue) * g + blue * b
    u, v = (b - y) / (2 * (1 - blue)), (r - y) / (2 * (1 - red))
    planes = [np.round(y * 65535), np.round(u * 65535) + 32768, np.round(v * 65535) + 32768]
    return picture([np.clip(p, 0, 65535) for p in planes], "444", 16)


@pytest.mark.parametrize(("size", "figure"), [((96, 64), 78.89120842), ((150, 101), 79.23650755)])
@pytest.mark.parametrize(("matrix", "weights"), [("bt709", (0.2126, 0.0722)), ("bt601", (0.299, 0.114))])
def test_agrees_with_the_reference_on_images(
    size: tuple[int, int], figure: float, matrix: str, weights: tuple[float, float]
) -> None:
    """The unchanged program given 8-bit PPM files, against the same colours in another coding."""
    ref = [plane(size[::-1], 8, 0, seed) for seed in range(3)]
    dis = [damage(samples, 8, 0, seed) for seed, samples in enumerate(ref)]
    options = {"matrix": matrix, "range": "full", "transfer": "srgb"}
    assert score(coded(ref, *weights), coded(dis, *weights), options) == pytest.approx(figure, abs=0.01)


@pytest.mark.parametrize("layout", ["400", "420", "422", "444"])
@pytest.mark.parametrize("depth", [8, 10, 12, 16])
def test_equal_pictures_are_exactly_100(layout: str, depth: int) -> None:
    ref, _ = pair(101, 67, layout, depth)
    assert score(ref, ref) == 100.0
    noise = pattern("noise", 64, 48, layout, depth)
    assert score(noise, noise) == 100.0


@settings(max_examples=15)
@given(
    st.integers(8, 90),
    st.integers(8, 50),
    st.sampled_from(["400", "420", "422", "444"]),
    st.sampled_from([8, 10, 16]),
)
def test_instruction_sets_agree(width: int, height: int, layout: str, depth: int) -> None:
    pictures = pair(width, height, layout, depth)
    found = {score(*pictures, None, name) for name, runs in _native.instruction_sets() if runs}
    assert len(found) == 1


def test_chroma_that_rounds_down_is_upsampled_too() -> None:
    grey = np.full((33, 65), 120)
    shapes = [(33, 65), (16, 32), (16, 32)]
    flat = picture([np.full(shape, 90) for shape in shapes], "420", 8)
    same = picture([grey, *(np.full(shape, 90) for shape in shapes[1:])], "420", 8)
    assert score(flat, flat) == 100.0
    assert score(flat, same) < 100.0


def test_chroma_is_sited_on_the_left_and_between_rows() -> None:
    """A column of chroma belongs to the luma column that it lies on, a row to the two around it."""
    luma = np.full((16, 32), 120)
    flat = np.full((8, 16), 128)
    for across in (True, False):
        # Chroma changes sharply; the same at full size, as bilinear upsampling should make it.
        small, full = flat.copy(), np.full((16, 32), 128)
        if across:
            small[:, 8:] = 168
            full[:, 16:] = 168
            full[:, 15] = 148
        else:
            small[4:, :] = 168
            full[8:, :] = 168
            full[7, :], full[8, :] = 138, 158
        subsampled = picture([luma, small, flat], "420", 8)
        whole = picture([luma, full, np.full((16, 32), 128)], "444", 8)
        plain = picture([luma, flat, flat], "420", 8)
        plain_whole = picture([luma, np.full((16, 32), 128), np.full((16, 32), 128)], "444", 8)
        assert score(plain, subsampled) == pytest.approx(score(plain_whole, whole), abs=1e-3)


@pytest.mark.parametrize(
    ("width", "height", "matrix"),
    [(1280, 720, "bt709"), (720, 577, "bt709"), (720, 576, "bt601"), (1279, 500, "bt601")],
)
def test_chooses_the_matrix_by_size(width: int, height: int, matrix: str) -> None:
    geometry = Geometry(width, height, 8, (width // 2, height // 2))
    assert Ssimulacra2().colour(geometry).steps == Ssimulacra2({"matrix": matrix}).colour(geometry).steps


def test_curves_go_from_black_to_white() -> None:
    geometry = Geometry(64, 64, 8, None)
    for transfer in ("bt1886", "srgb", "gamma22", "gamma28", "linear", "pq", "hlg"):
        curve = Ssimulacra2({"transfer": transfer}).colour(geometry).curve
        assert curve[0] == 0.0
        assert curve[-1] == pytest.approx(1.0, abs=1e-6)
        assert (np.diff(curve) >= 0).all()
    pq = Ssimulacra2({"transfer": "pq"}).colour(geometry).curve
    assert pq[1024] * 10000 == pytest.approx(92.2457, abs=1e-3)  # half of the range, by ST 2084
    hlg = Ssimulacra2({"transfer": "hlg"}).colour(geometry).curve
    assert hlg[1024] == pytest.approx((1 / 12) ** 1.2, abs=1e-6)  # half of the range, by BT.2100


@pytest.mark.parametrize(
    ("tags", "options"),
    [
        (ColourTags(), {"matrix": "bt601", "range": "limited", "transfer": "bt1886"}),
        (ColourTags("bt709", True, "bt709"), {"matrix": "bt709", "range": "full", "transfer": "bt1886"}),
        (ColourTags("bt470bg", True, "iec61966-2-1"), {"range": "full", "transfer": "srgb"}),
        (ColourTags("bt2020nc", None, "smpte2084", "bt2020"), {"matrix": "bt2020", "transfer": "pq"}),
        (ColourTags("bt2020nc", False, "arib-std-b67"), {"matrix": "bt2020", "transfer": "hlg"}),
        (ColourTags("smpte170m", False, "bt470m", "smpte170m"), {"transfer": "gamma22"}),
    ],
)
def test_reads_samples_as_the_pair_says(tags: ColourTags, options: dict[str, Any]) -> None:
    silent = Geometry(96, 64, 10, (48, 32))
    told = replace(silent, colour=tags)
    assert repr(Ssimulacra2().colour(told)) == repr(Ssimulacra2(options).colour(silent))
    named = {"matrix": "bt709", "range": "full", "transfer": "linear"}
    assert repr(Ssimulacra2(named).colour(told)) == repr(Ssimulacra2(named).colour(silent))


@pytest.mark.parametrize(
    ("tags", "option"),
    [
        (ColourTags(matrix="ictcp"), "matrix=bt709"),
        (ColourTags(transfer="log100"), "transfer=bt1886"),
        (ColourTags("bt709", primaries="film"), "matrix=bt709"),
    ],
)
def test_refuses_tags_that_it_cannot_read(tags: ColourTags, option: str) -> None:
    geometry = Geometry(96, 64, 8, (48, 32), tags)
    with pytest.raises(FeatureError, match=f"convert it, or .* as in ssimulacra2={option}"):
        Ssimulacra2().check_size(geometry)
    name, _, value = option.partition("=")
    Ssimulacra2({name: value}).check_size(geometry)


def test_refuses_small_pictures() -> None:
    Ssimulacra2().check_size(Geometry(8, 8, 8))
    assert Ssimulacra2.min_size == _native.SSIMULACRA2_MIN_SIZE
    with pytest.raises(FeatureError, match="ssimulacra2 needs pictures of at least 8x8 samples, because"):
        measure([pair(32, 7, "420", 8)], "ssimulacra2")
