"""Models to swap between, their unsteered scores, and the comparison of a steered run with these."""

from __future__ import annotations

import functools
import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from acuity.measure import Measurement, Results
from acuity.models import Model, ModelCollection, load_model
from acuity.video.picture import Picture
from moving_pictures import pair
from small_model import SVM_TEXT, small_document

ADM3 = "VMAF_integer_feature_adm3_score"
MOTION2 = "VMAF_integer_feature_motion2_score"
MOTION3 = "VMAF_integer_feature_motion3_score"
VIF0, VIF1 = (f"VMAF_integer_feature_vif_scale{scale}_score" for scale in range(2))
WIDE = {"motion_five_frame_window": True}
AVERAGE = {"motion_moving_average": True}

# Two features each, with options that make extractors start, settle and share in different ways.
_SMALL: dict[str, tuple[tuple[str, Mapping[str, Any]], tuple[str, Mapping[str, Any]]]] = {
    "still": ((VIF0, {}), (VIF1, {})),
    "still neg": ((VIF0, {"vif_enhn_gain_limit": 1.0}), (VIF1, {"vif_enhn_gain_limit": 1.0})),
    "motion": ((MOTION2, {}), (MOTION3, {})),
    "average": ((MOTION3, AVERAGE), (VIF0, {})),
    "wide": ((MOTION3, WIDE), (VIF0, {})),
    "wide average": ((MOTION3, {**WIDE, **AVERAGE}), (VIF1, {})),
    "aim": ((ADM3, {}), (VIF0, {})),
    "no aim": ((ADM3, {"adm_skip_aim": True}), (MOTION2, {})),  # other figures under the same names
}
MODELS = ("v0.6.1", "neg", "bag", *_SMALL)

AnyModel = Model | ModelCollection


@functools.cache
def model(name: str) -> AnyModel:
    """A model of the table, reported as 'vmaf'."""
    if name in ("v0.6.1", "neg"):
        return load_model({"v0.6.1": "vmaf_v0.6.1", "neg": "vmaf_v0.6.1neg"}[name])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name.replace(' ', '_')}.json"
        path.write_text(json.dumps(_document(name)))
        return load_model(f"path={path}:disable_clip")


def _document(name: str) -> dict[str, Any]:
    if name == "bag":
        texts = [SVM_TEXT.replace("rho -0.25", f"rho {-0.25 - 0.01 * n * n}") for n in range(4)]
        return {str(n): small_document("BOOTSTRAP_LIBSVMNUSVR", text) for n, text in enumerate(texts)}
    document = small_document()
    names, options = zip(*_SMALL[name], strict=True)
    document["model_dict"] |= {"feature_names": names, "feature_opts_dicts": options}
    return document


@functools.cache
def pictures(index: int) -> tuple[Picture, Picture]:
    return pair(index)


@functools.cache
def unsteered(name: str, frames: int) -> Results:
    """The model by itself from the first frame to the last."""
    return steer(frames, {}, name, threads=1)


Steps = Mapping[int, Callable[[Measurement], object]]


def steer(
    frames: int,
    steps: Steps,
    *names: str,
    threads: int = 2,
    subsample: int = 1,
    features: tuple[str, ...] = (),
) -> Results:
    """Feed frames to these models, reported as vmaf, vmaf2 and so on; steps[n] is taken before frame n."""
    with Measurement(threads, subsample) as measurement:
        for number, name in enumerate(names, start=1):
            measurement.add_model(model(name) if number == 1 else model(name).renamed(f"vmaf{number}"))
        for feature in features:
            measurement.add_feature(feature)
        for index in range(frames):
            if index in steps:
                steps[index](measurement)
            taken = measurement.add(*pictures(index))
            if taken is None:
                assert measurement.finished
                break
            assert taken == index
        if frames in steps:
            steps[frames](measurement)
        measurement.flush()
        return measurement.results()


def check(results: Results, length: int, models: tuple[str, ...] = MODELS) -> None:
    """Every figure is what a measurement of its model alone gives; every frame that counts has its scores."""
    by_label = {model(name).label: name for name in models}
    rows = {frame: row for row, frame in enumerate(results.frames)}
    names = {segment.name for segment in results.segments}
    for slot in names:
        covered = [s for s in results.segments if s.name == slot]
        assert [s.first for s in covered] == [0, *(s.last + 1 for s in covered[:-1])]
        assert covered[-1].last == length - 1
        for segment in covered:
            alone = unsteered(by_label[segment.label], length)
            for frame in range(segment.first, segment.last + 1):
                if frame not in rows:
                    continue
                for output in alone.models:
                    found = results.columns[output.replace("vmaf", slot, 1)][rows[frame]]
                    assert found == alone.columns[output][frame], (frame, output, segment)
    _check_features(results, length, models)


def _check_features(results: Results, length: int, models: tuple[str, ...]) -> None:
    for key, values in results.columns.items():
        if key in results.models:
            continue
        # Where two models have different figures under one name, either may be there.
        runs = [unsteered(name, length).columns for name in models]
        possible = np.array([run[key] for run in runs if key in run])[:, results.frames]
        known = ~np.isnan(values)
        assert known.any(), key
        assert (possible == values).any(axis=0)[known].all(), key
