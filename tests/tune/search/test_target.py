"""Targets: how near to them is near enough."""

from __future__ import annotations

import pytest

from acuity.tune.search.target import Target


@pytest.mark.parametrize(
    ("column", "value", "tolerance"),
    [
        ("vmaf", 93.0, 0.5),
        ("vmaf", 99.5, 0.125),
        ("vmaf", 100.0, 0.0),
        ("my_model", 99.0, 0.25),
        ("ssimulacra2", 90.0, 0.5),
        ("ssim", 0.98, 0.001),
        ("ssim", 0.999, 0.00025),
        ("cambi", 5.0, 0.2),
        ("cambi", 0.1, 0.025),
        ("psnr", 100.0, 0.2),
    ],
)
def test_near_the_perfect_figure_less_is_near(column: str, value: float, tolerance: float) -> None:
    assert Target(value, column=column).tolerance == pytest.approx(tolerance)


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (Target(99.9999), "VMAF 99.9999"),
        (Target(93.0), "VMAF 93"),
        (Target(40.25, column="psnr", pool="p5"), "p5 PSNR 40.25 dB"),
        (Target(5.0, kind="bitrate"), "5 kbit/s"),
        (Target(2500.0, kind="bitrate"), "2,500 kbit/s"),
    ],
)
def test_a_target_is_written_with_all_its_digits(target: Target, text: str) -> None:
    assert str(target) == text
