"""Which steps are visible: libvmaf's thresholds for both transfer functions."""

from __future__ import annotations

import pytest

from acuity.features.visible_steps import EOTFS, visible_steps


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


def test_nothing_is_visible_where_no_value_is_bright_enough() -> None:
    assert all(step.lowest > 1024 for step in visible_steps("bt1886", 0.019, 301.0, 32))


@pytest.mark.parametrize("eotf", EOTFS)
@pytest.mark.parametrize("share", [0.0001, 0.004, 0.019, 0.1, 1.0])
def test_what_is_visible_is_visible_if_larger(eotf: str, share: float) -> None:
    """The kernels keep only the smallest step that is visible from a value."""
    steps = visible_steps(eotf, share, 5.0, 32)
    assert [s.highest for s in steps] == sorted(s.highest for s in steps)
    assert [s.lowest for s in steps] == sorted((s.lowest for s in steps), reverse=True)
    assert [s.weight for s in steps] == sorted(s.weight for s in steps)


def test_weights() -> None:
    weights = [step.weight for step in visible_steps("pq", 0.019, 0.0, 32)]
    assert [weights.count(weight) for weight in range(1, 10)] == [1, 1, 1, 2, 2, 4, 4, 7, 10]
