"""What the native module accepts, refuses and keeps apart."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from acuity import _native
from acuity.errors import BackendError, FeatureError


def noise(seed: int, shape: tuple[int, int] = (40, 50), depth: int = 8) -> Any:
    dtype = np.uint8 if depth == 8 else np.uint16
    return np.random.default_rng(seed).integers(0, 1 << depth, shape).astype(dtype)


def vif(width: int = 50, height: int = 40, depth: int = 8, **more: Any) -> _native.Vif:
    options: dict[str, Any] = {"skip_scale0": False, "gains": [100.0], **more}
    return _native.Vif(_native.Workspace(), width, height, depth, **options)


@pytest.mark.parametrize("depth", [8, 12])
def test_any_row_stride_gives_the_same_figures(depth: int) -> None:
    ref, dis = noise(1, depth=depth), noise(2, depth=depth)
    expected = vif(depth=depth).run(ref, dis)
    wide = np.zeros((40, 77), ref.dtype)
    wide[:, 3:53] = ref
    upside_down = np.ascontiguousarray(dis[::-1])[::-1]
    assert vif(depth=depth).run(wide[:, 3:53], upside_down) == expected


@pytest.mark.parametrize(
    ("array", "error", "message"),
    [
        (noise(1, (40, 51)), ValueError, "size"),
        (noise(1, (41, 50)), ValueError, "size"),
        (noise(1, depth=10), TypeError, "uint8"),
        (noise(1, (50, 40)).T, ValueError, "contiguous"),
        (noise(1, (40, 100))[:, ::2], ValueError, "contiguous"),
        (noise(1).astype(np.float32), TypeError, "uint8"),
    ],
)
def test_wrong_arrays_are_refused(array: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        vif().run(noise(1), array)


@pytest.mark.parametrize(("width", "height"), [(15, 40), (40, 15), (0, 0), (-5, 40)])
def test_vif_says_what_size_it_needs(width: int, height: int) -> None:
    with pytest.raises(FeatureError, match="vif needs pictures of at least 16x16"):
        vif(width, height)


@pytest.mark.parametrize("depth", [7, 17])
def test_depths_outside_8_to_16_are_refused(depth: int) -> None:
    with pytest.raises(ValueError, match="bit depth"):
        vif(depth=depth)


def test_plain_is_always_there_and_last() -> None:
    assert _native.instruction_sets()[-1] == ("plain", True)


def test_an_unknown_instruction_set_is_named() -> None:
    with pytest.raises(BackendError, match=r"'mmx' is not in this build: use one of .*plain"):
        _native.select_instruction_set("mmx")


def test_environment_chooses_the_instruction_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACUITY_CPU", "plain")
    assert _native.select_instruction_set() == "plain"
    monkeypatch.setenv("ACUITY_CPU", "mmx")
    with pytest.raises(BackendError, match="in ACUITY_CPU 'mmx'"):
        _native.select_instruction_set()
    monkeypatch.delenv("ACUITY_CPU")
    assert _native.select_instruction_set() == next(n for n, runs in _native.instruction_sets() if runs)


def test_workspace_is_shared_and_grows_to_the_largest_user() -> None:
    workspace = _native.Workspace()
    small = _native.Motion(workspace, 16, 16, 8, instruction_set="plain")
    before = workspace.size
    large = _native.Vif(workspace, 200, 100, 8, skip_scale0=False, gains=[100.0], instruction_set="plain")
    assert workspace.size > before
    ref, dis = noise(1, (100, 200)), noise(2, (100, 200))
    expected = large.run(ref, dis)
    small.run(noise(3, (16, 16)), noise(4, (16, 16)))
    assert large.run(ref, dis) == expected


def test_kernels_run_without_the_interpreter_lock() -> None:
    ref, dis = noise(1, (700, 900)), noise(2, (700, 900))
    kernel = vif(900, 700, instruction_set="plain")
    started, finished = threading.Event(), threading.Event()

    def work() -> None:
        started.set()
        kernel.run(ref, dis)
        finished.set()

    thread = threading.Thread(target=work)
    thread.start()
    started.wait()
    turns = 0
    while not finished.is_set():
        turns += 1  # could not grow much if the lock were held
    thread.join()
    assert turns > 1000


@pytest.mark.parametrize("depth", range(9, 17))
def test_samples_that_do_not_fit_are_seen(depth: int) -> None:
    samples = np.full((5, 77), (1 << depth) - 1, np.uint16)
    assert _native.samples_fit(samples, depth)
    if depth < 16:
        samples[4, 76] += 1
        assert not _native.samples_fit(samples, depth)
        assert _native.samples_fit(samples[:, :76], depth)
