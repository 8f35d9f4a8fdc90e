"""float_vif: libvmaf's figures for made pictures and for every option, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from acuity import _native
from acuity.errors import FeatureError
from acuity.features.extractor import CpuContext, Geometry
from acuity.features.vif import FloatVif
from drawn_pictures import made_pairs
from float_figures import close, first_frame, run

# vif_scale0 to 3 of the second frame, as libvmaf's plain path says: pattern, width, height, depth.
FIGURES = {
    ("detail", 64, 48, 8): (0.61966615, 0.97975194, 0.99334614, 0.99838586),
    ("identical", 64, 48, 8): (1.0, 1.0, 1.0, 1.0),
    ("black against white", 64, 48, 8): (1.0, 0.99999992, 1.0, 1.0),
    ("noise", 64, 48, 8): (0.00064956676, 0.011660293, 0.030718803, 0.026428334),
    ("checkerboards", 64, 48, 8): (0.0, 1.0, 1.0, 1.0),
    ("gradients", 64, 48, 8): (0.6820416, 1.0000142, 1.0000478, 1.0000856),
    ("detail", 61, 47, 10): (0.61632348, 0.98097118, 0.99383221, 0.99963211),
    ("noise", 66, 35, 12): (0.00043937302, 0.014735481, 0.026674498, 0.020634268),
    ("checkerboards", 34, 64, 16): (0.0, 1.0, 1.0, 1.0),
    ("gradients", 40, 18, 16): (0.67595886, 1.0002617, 1.0003542, 1.0004243),
    ("detail", 17, 17, 8): (0.63319869, 0.99583344, 1.0083617, 1.0119912),
}

# The same of "detail", 64x48 at 8 bits, with options.
OPTIONS = {
    "vif_enhn_gain_limit=1": (0.61741853, 0.97708823, 0.99053261, 0.99427868),
    "vif_enhn_gain_limit=1.02": (0.61950879, 0.97953496, 0.99316595, 0.99802539),
    "vif_kernelscale=0.5": (0.5725627, 0.92967571, 0.97861832, 0.99468263),
    "vif_kernelscale=1.5": (0.6367928, 0.99282165, 0.99708466, 0.99828394),
    "vif_kernelscale=2.4": (0.64131237, 0.99533966, 0.99624872, 0.98711911),
    "vif_prescale=0.5": (0.6393081, 0.97562665, 0.98934166, 0.99720277),
    "vif_prescale=1.3:vif_prescale_method=bilinear": (0.71767506, 0.9628487, 0.98524605, 0.99292239),
    "vif_prescale=0.7:vif_prescale_method=bicubic": (0.6820443, 0.99078404, 0.99801411, 1.0010889),
    "vif_prescale=1.6:vif_prescale_method=lanczos4": (0.61842453, 0.94579288, 0.97941331, 0.99095465),
    "vif_prescale=0.4:vif_prescale_method=lanczos4": (0.6744019, 0.96123646, 0.96564216, 0.98234576),
    "vif_sigma_nsq=0": (0.03805082, 0.079817946, 0.088181277, 0.09182175),
    "vif_sigma_nsq=1.3": (0.58074978, 0.97165766, 0.98987814, 0.99613509),
    "vif_skip_scale0=true": (0.0, 0.97975194, 0.99334614, 0.99838586),
    "vif_scale1_min_val=0.99:vif_scale2_min_val=0.5:vif_scale3_min_val=1": (
        0.61966615,
        0.99,
        0.99334614,
        1.0,
    ),
}


@pytest.mark.parametrize(("pattern", "width", "height", "depth"), FIGURES)
def test_figures_are_libvmafs(
    pattern: str, width: int, height: int, depth: int, instruction_set: str
) -> None:
    pairs = made_pairs(pattern, width, height, depth, "444")
    found = run("float_vif", pairs, instruction_set)
    assert list(found) == [f"vif_scale{scale}" for scale in range(4)]
    close([column[1] for column in found.values()], FIGURES[pattern, width, height, depth])


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


def test_a_skipped_scale_has_no_fraction() -> None:
    figures = first_frame("float_vif=vif_skip_scale0=true:debug=true", made_pairs("detail"))
    assert figures["vif_num_scale0_ssclz"] == 0.0
    assert figures["vif_den_scale0_ssclz"] == -1.0
    shares = [figures[f"vif_num_scale{scale}_ssclz"] for scale in (1, 2, 3)]
    assert figures["vif_num_ssclz"] == sum(shares)


def test_names_carry_the_options() -> None:
    keys = FloatVif({"vif_prescale": 0.5, "vif_prescale_method": "bicubic", "vif_kernelscale": 1.5}).keys(
        late=False
    )
    assert keys[0] == "vif_scale0_ks_1.5_ps_0.5_pm_bicubic"


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
