"""VIF: libvmaf's figures in single precision, what is refused, and narrow strips in integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import float_figures
from acuity import _native
from acuity._native import Vif, Workspace
from acuity.errors import FeatureError
from acuity.features.extractor import CpuContext, Geometry
from acuity.features.vif import FloatVif
from drawn_pictures import made_pairs
from float_figures import close, run

FIGURES, OPTIONS = float_figures.FIGURES["float_vif"].values()  # vif_scale0 to 3 of the second frame


@pytest.mark.parametrize(("case", "figures"), FIGURES, ids=str)
def test_figures_are_libvmafs(
    case: tuple[str, int, int, int], figures: list[float], instruction_set: str
) -> None:
    pairs = made_pairs(*case, "444")
    found = run("float_vif", pairs, instruction_set)
    assert list(found) == [f"vif_scale{scale}" for scale in range(4)]
    close([column[1] for column in found.values()], figures)


@pytest.mark.parametrize("options", OPTIONS)
def test_options_do_what_libvmafs_do(options: str) -> None:
    found = run(f"float_vif={options}", made_pairs("detail"))
    close([column[1] for column in found.values()], OPTIONS[options])


def test_debug_gives_the_fractions_too() -> None:
    found = run("float_vif=debug=true", made_pairs("detail"))
    assert list(found)[4:9] == ["vif", "vif_num", "vif_den", "vif_num_scale0", "vif_den_scale0"]
    figures = {key: column[1] for key, column in found.items()}
    close(
        [figures[key] for key in ("vif", "vif_num", "vif_den", "vif_num_scale3", "vif_den_scale3")],
        (0.7018795532, 21015.76071, 29942.11844, 279.0990906, 279.5503235),
    )


def test_gain_limits_share_a_pass() -> None:
    limits = ["1", "1.01", "1.05", "1.1", "1.2", "100"]  # more than one pass of the kernels serves
    features = [f"float_vif=vif_enhn_gain_limit={limit}:debug=true" for limit in limits]
    assert len({FloatVif({"vif_enhn_gain_limit": limit}).sharing for limit in limits}) == 1
    apart: dict[str, Any] = {}
    for feature in features:
        apart.update(run(feature, made_pairs("gradients")))
    assert run(features, made_pairs("gradients")) == apart


def test_unknown_windows_are_refused() -> None:
    with pytest.raises(
        FeatureError, match=r"vif_kernelscale cannot be 0\.9: it must be one of 0\.444444, 0\.5, "
    ):
        FloatVif({"vif_kernelscale": 0.9})
    with pytest.raises(FeatureError, match=r"must be one of nearest, bilinear, bicubic, lanczos4"):
        FloatVif({"vif_prescale_method": "area"})


@pytest.mark.parametrize(
    ("options", "smallest"),
    [({}, 16), ({"vif_kernelscale": 2.4}, 40), ({"vif_prescale": 0.5}, 31), ({"vif_prescale": 4.0}, 4)],
)
def test_sizes_follow_from_windows_and_prescale(options: dict[str, Any], smallest: int) -> None:
    extractor = FloatVif(options)
    extractor.check_size(Geometry(smallest, smallest, 8))
    FloatVif.runner([extractor], Geometry(smallest, smallest, 8), CpuContext(_native.Workspace(), ""))
    with pytest.raises(
        FeatureError, match=r"float_vif .*needs pictures of at least \d+x\d+ samples, because"
    ):
        extractor.check_size(Geometry(smallest - 1, 100, 8))
    with pytest.raises(FeatureError, match="needs pictures of at least"):
        FloatVif.runner([extractor], Geometry(smallest - 1, 100, 8), CpuContext(_native.Workspace(), ""))


@pytest.mark.parametrize("width", [513, 519, 520, 1026])
@pytest.mark.parametrize("depth", [8, 10])
def test_narrow_last_strips(width: int, depth: int, instruction_set: str) -> None:
    random = np.random.default_rng(width)
    ref, dis = random.integers(0, 1 << depth, (2, 18, width)).astype(np.uint8 if depth == 8 else np.uint16)

    def figures(kernels: str) -> list[float]:
        vif = Vif(Workspace(), width, 18, depth, skip_scale0=False, gains=[100.0], instruction_set=kernels)
        return vif.run(ref, dis)

    assert figures(instruction_set) == figures("plain")
