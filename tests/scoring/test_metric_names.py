"""Metrics by their friendly names."""

from __future__ import annotations

from fractions import Fraction

import pytest

from acuity.errors import FeatureError
from acuity.features import make_extractor
from acuity.models import load_model
from acuity.models.choose import AUTO
from acuity.scoring.metrics import METRICS, Headline, Metric, find_metrics, headlines


def names(*given: str) -> list[str]:
    return [metric.name for metric in find_metrics(given)]


def test_names_are_taken_as_people_write_them() -> None:
    assert names("vmaf,psnr", "ssim", "psnr") == ["vmaf", "psnr", "ssim"]
    assert names("MS-SSIM, ms_ssim , Psnr") == ["ms-ssim", "psnr"]
    assert names() == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("vmff", "unknown metric 'vmff': did you mean 'vmaf'? there are vmaf, "),
        ("float_ssim", "did you mean 'ssim'?"),
        ("motion", "'motion' is an extractor and no metric: ask for it as a feature"),
        ("loudness", "unknown metric 'loudness': use one of vmaf, "),
        ("", "unknown metric ''"),
        ("vmaf,,psnr", "unknown metric ''"),
    ],
)
def test_unknown_names_are_explained(name: str, words: str) -> None:
    with pytest.raises(FeatureError) as caught:
        find_metrics([name])
    assert words in str(caught.value)
    assert "speed-temporal" in str(caught.value)


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS.keys())
def test_every_metric_is_measured_by_one_thing(metric: Metric) -> None:
    assert bool(metric.feature) != bool(metric.model)
    assert metric.help
    assert bool(metric.key) == (metric.model != AUTO)
    if metric.model and metric.model != AUTO:
        assert load_model(metric.model).output_names() == [metric.key]


EXTRACTED = [metric for metric in METRICS.values() if metric.feature]


@pytest.mark.parametrize("metric", EXTRACTED, ids=lambda metric: metric.name)
def test_the_figure_that_counts_is_one_of_the_extractors(metric: Metric) -> None:
    extractor = make_extractor(metric.spec(Fraction(50)))
    assert metric.key in extractor.keys(late=False)


def test_headlines_are_in_the_order_asked() -> None:
    psnr, vmaf, neg = find_metrics(["psnr,vmaf,vmaf-neg"])
    models = {"vmaf": "vmaf_v0.6.1", "other": "/models/other.json", "vmaf_neg": "vmaf_v0.6.1neg"}
    assert headlines([psnr, vmaf, neg], models) == [
        Headline(psnr, "psnr_y", "psnr"),
        Headline(vmaf, "vmaf", "vmaf_v0.6.1"),
        Headline(vmaf, "other", "/models/other.json"),
        Headline(neg, "vmaf_neg", "vmaf_v0.6.1neg"),
    ]


def test_some_are_told_the_frame_rate() -> None:
    metric = METRICS["xpsnr"]
    assert metric.spec(Fraction(60000, 1001)) == "xpsnr=frame_rate=59.9401"
    assert metric.spec(None) == "xpsnr"
    assert METRICS["vif"].spec(Fraction(60)) == "vif=debug=true"
    assert METRICS["vif"]._replace(rate_option="r").spec(Fraction(50)) == "vif=debug=true:r=50"


def test_the_worst_is_on_the_bad_side() -> None:
    assert METRICS["psnr"].worst == ("min", "p5")
    assert METRICS["cambi"].worst == ("max", "p95")
