"""What computed a report of another binary, by what the report has."""

from __future__ import annotations

from typing import Any

import pytest

from acuity.jobs.tasks.external import label_backend

MODEL = "version=vmaf_v0.6.1"
CPU = ["integer_adm2", "integer_adm3", "integer_aim", "integer_motion", "integer_motion2", "integer_motion3"]
CPU += [f"integer_{name}_scale{scale}" for name in ("adm", "vif") for scale in range(4)]


def report(*names: str, **more: Any) -> dict[str, Any]:
    return {"frames": [{"frameNum": 0, "metrics": dict.fromkeys(names, 1.0)}], **more}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (report(*CPU, "vmaf", backend_used="sycl"), "sycl"),
        (report(*CPU, "vmaf", feature_backends={"adm": "cpu", "vif": "cpu"}), "cpu"),
        (report(*CPU, "vmaf", feature_backends={"adm": "cpu", "vif": "cuda"}), "cuda"),
        (report(*CPU, "vmaf", feature_backends={"adm": "hip", "vif": "cuda"}), "gpu"),
        (report(*CPU, "vmaf"), "cpu"),
        (report(*CPU, "vmaf", "psnr_y"), "cpu"),
        (report(*CPU[:-2], "vmaf"), "gpu"),
        (report(*CPU, "vif_scale0_cuda", "vmaf"), "gpu"),
        (report(), "unknown"),
        ({"frames": []}, "unknown"),
        ({"frames": [None]}, "unknown"),
        ({"frames": [{"metrics": [1]}]}, "unknown"),
        (report(*CPU, backend_used=7, feature_backends=[1]), "gpu"),  # there is no score in it
    ],
)
def test_labels(document: dict[str, Any], expected: str) -> None:
    assert label_backend(document, [MODEL], []) == expected


def test_features_and_presets_count() -> None:
    assert label_backend(report(*CPU, "vmaf"), [MODEL], ["psnr"]) == "gpu"
    assert label_backend(report(*CPU, "vmaf", "psnr_y", "psnr_cb", "psnr_cr"), [MODEL], ["psnr"]) == "cpu"
    assert label_backend(report(*CPU), [MODEL], [], predict=False) == "cpu"


def test_models_that_only_the_binary_knows() -> None:
    assert label_backend(report("vmaf"), ["version=of_a_fork"], []) == "unknown"
