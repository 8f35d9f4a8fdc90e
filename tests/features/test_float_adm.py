"""float_adm: pictures without detail, sums without bounds, and names of figures."""

from __future__ import annotations

import math

import pytest

from acuity.errors import FeatureError
from acuity.features.adm import FloatAdm
from drawn_pictures import made_pairs
from float_figures import first_frame, run


def test_nothing_to_weigh_is_perfect_and_not_undefined() -> None:
    """libvmaf leaves the impairment of pictures without any detail unset."""
    factors = ":".join(f"adm_f{band}s{scale}=0" for band in (1, 2) for scale in range(4))
    figures = first_frame(f"float_adm=adm_noise_weight=0:{factors}", made_pairs("noise"))
    assert list(figures.values())[:3] == [1.0, 0.0, 1.0]


def test_sums_may_overflow_as_libvmafs_do() -> None:
    factors = ":".join(f"adm_f{band}s{scale}=10" for band in (1, 2) for scale in range(4))
    whole, aim, adm3, *scales = first_frame(
        f"float_adm=adm_p_norm=20:{factors}", made_pairs("noise")
    ).values()
    assert math.isnan(whole)
    assert (aim, adm3) == (1.0, 0.0)
    assert all(math.isnan(scale) for scale in scales)


def test_one_figure_has_one_name_whatever_the_options() -> None:
    limited = FloatAdm({"debug": True, "adm_enhn_gain_limit": 1.0})
    assert limited.keys(late=False)[6:9] == ["adm_scale3_egl_1", "adm", "adm_num_egl_1"]
    features = ["float_adm=debug=true", "float_adm=debug=true:adm_enhn_gain_limit=1"]
    with pytest.raises(FeatureError, match=r"float_adm and float_adm_egl_1 would both give 'adm': leave one"):
        run(features, made_pairs("detail"))
