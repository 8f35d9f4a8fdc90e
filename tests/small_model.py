"""A small valid model file to start from, and ways to change it."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

SVM_TEXT = (
    "svm_type nu_svr\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 3\nrho -0.25\nSV\n"
    "4 1:0.5 2:0.125 \n-1.5 2:0.75 \n2.25 1:1 2:0.3 \n"
)


# Finite in the file, and beyond all bounds as soon as a distance is squared: 0 times infinity.
OVERFLOWING = "svm_type nu_svr\nkernel_type rbf\ngamma 0\nnr_class 2\ntotal_sv 1\nrho 0\nSV\n1 1:1e200 \n"


def small_document(kind: str = "LIBSVMNUSVR", svm: str = SVM_TEXT) -> dict[str, Any]:
    return {
        "param_dict": {"C": 4.0},
        "model_dict": {
            "model_type": kind,
            "feature_names": ["VMAF_integer_feature_adm2_score", "VMAF_integer_feature_vif_scale0_score"],
            "feature_opts_dicts": [{}, {"vif_enhn_gain_limit": 1.0}],
            "norm_type": "linear_rescale",
            "slopes": [0.01, 2.5, 1.25],
            "intercepts": [-0.3, -1.5, -0.2],
            "score_clip": [0.0, 100.0],
            "score_transform": {"p0": 1.5, "p1": 0.75, "p2": 0.001, "out_gte_in": "true"},
            "model": svm,
        },
    }


def change(document: dict[str, Any], data: st.DataObject, value: Any) -> dict[str, Any]:
    """Put a value at a place that hypothesis picks, however deep."""
    place: Any = document
    while True:
        key = data.draw(st.sampled_from(list(place) if isinstance(place, dict) else list(range(len(place)))))
        inner = place[key]
        if not isinstance(inner, dict | list) or not inner or data.draw(st.integers(0, 3)) == 0:
            place[key] = value
            return document
        place = inner
