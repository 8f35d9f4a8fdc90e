"""Every instruction set gives what the plain table gives, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from acuity import _native

PATTERNS = ("noise", "zeros", "peaks", "coins", "checkerboard", "stripes", "impulse", "ramp", "natural")


@st.composite
def planes(draw: st.DrawFn, smallest: int) -> tuple[Any, Any, int]:
    """Two planes of one size and depth, each of any pattern, with rows that may be padded."""
    width = draw(st.integers(smallest, 150))
    height = draw(st.integers(smallest, 70))
    depth = draw(st.sampled_from([8, 10, 12, 16]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    first = plane(draw(st.sampled_from(PATTERNS)), width, height, depth, rng)
    if draw(st.booleans()):
        peak = (1 << depth) - 1
        moved = first * rng.uniform(0.8, 1.3) + rng.normal(0, peak / 50, first.shape)
        second = np.clip(moved, 0, peak).astype(first.dtype)
    else:
        second = plane(draw(st.sampled_from(PATTERNS)), width, height, depth, rng)
    return padded(first, draw(st.integers(0, 5))), padded(second, draw(st.integers(0, 5))), depth


def plane(pattern: str, width: int, height: int, depth: int, rng: np.random.Generator) -> Any:
    peak = (1 << depth) - 1
    y, x = np.mgrid[0:height, 0:width]
    values = {
        "noise": lambda: rng.integers(0, peak + 1, x.shape),
        "zeros": lambda: np.zeros_like(x),
        "peaks": lambda: np.full_like(x, peak),
        "coins": lambda: rng.integers(0, 2, x.shape) * peak,
        "checkerboard": lambda: ((x + y) & 1) * peak,
        "stripes": lambda: ((x // rng.integers(1, 4)) & 1) * peak,
        "impulse": lambda: ((x == width // 2) & (y == height // 2)) * peak,
        "ramp": lambda: (x * 5 + y * 3) & peak,
        "natural": lambda: peak * (0.5 + 0.4 * np.sin(x * 0.2) * np.cos(y * 0.13)),
    }[pattern]()
    return np.asarray(values).astype(np.uint8 if depth == 8 else np.uint16)


def padded(samples: Any, padding: int) -> Any:
    height, width = samples.shape
    room = np.full((height, width + padding), 0, samples.dtype)
    room[:, :width] = samples
    return room[:, :width]


@settings(max_examples=25)
@given(planes(16), st.lists(st.sampled_from([100.0, 1.0, 1.2, 7.5]), min_size=1, max_size=4), st.booleans())
def test_vif(instruction_set: str, pair: tuple[Any, Any, int], gains: list[float], skip: bool) -> None:
    ref, dis, depth = pair
    height, width = ref.shape

    def run(name: str) -> list[float]:
        kernel = _native.Vif(
            _native.Workspace(), width, height, depth, skip_scale0=skip, gains=gains, instruction_set=name
        )
        return kernel.run(ref, dis)

    np.testing.assert_array_equal(run(instruction_set), run("plain"))


@settings(max_examples=25)
@given(
    planes(17),
    st.lists(
        st.tuples(st.sampled_from([100.0, 1.0, 1.2]), st.sampled_from([0.03125, 0.0])), min_size=1, max_size=3
    ),
    st.sampled_from([(0, 3.0, 1080), (1, 3.0, 1080), (2, 5.0, 1080), (3, 3.0, 2160), (0, 9.0, 2160)]),
    st.booleans(),
    st.booleans(),
)
def test_adm(
    instruction_set: str,
    pair: tuple[Any, Any, int],
    chosen: list[tuple[float, float]],
    screen: tuple[int, float, int],
    skip: bool,
    aim: bool,
) -> None:
    ref, dis, depth = pair
    height, width = ref.shape
    mode, distance, lines = screen

    def run(name: str) -> list[float]:
        seen = {"csf_mode": mode, "view_distance": distance, "display_height": lines}
        scales = {"csf_scale": 1.0, "csf_diagonal_scale": 1.0, "skip_scale0": skip}
        more: dict[str, Any] = {**seen, **scales, "aim": aim, "settings": chosen, "instruction_set": name}
        return _native.Adm(_native.Workspace(), width, height, depth, **more).run(ref, dis)

    np.testing.assert_array_equal(run(instruction_set), run("plain"))


@settings(max_examples=25)
@given(planes(3))
def test_motion(instruction_set: str, pair: tuple[Any, Any, int]) -> None:
    before, now, depth = pair
    height, width = now.shape

    def run(name: str) -> float:
        kernel = _native.Motion(_native.Workspace(), width, height, depth, instruction_set=name)
        return kernel.run(before, now)

    assert run(instruction_set) == run("plain")
