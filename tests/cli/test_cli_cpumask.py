"""libvmaf's cpumask, translated."""

from __future__ import annotations

from pathlib import Path

import pytest

from acuity.cli.vmaf import main as vmaf_main
from acuity.cli.vmaf.specs import allowed, forbidden_cards
from acuity.devices import BACKENDS

X86 = ["avx512vnni", "avx512", "avx2", "sse4", "plain"]


@pytest.mark.parametrize(
    ("mask", "expected"),
    [(0, "avx512vnni"), (32, "avx512"), (16, "avx2"), (48, "avx2"), (8, "sse4"), (4, "plain"), (1, "plain"),
     (64, "avx512vnni"), (0xFFFFFFFF, "plain")],
)  # fmt: skip
def test_x86(mask: int, expected: str) -> None:
    assert allowed(X86, mask, "x86_64") == expected


@pytest.mark.parametrize(
    ("mask", "expected"), [(0, "neon"), (1, "plain"), (2, "neon"), (0xFFFFFFFF, "plain")]
)
def test_arm(mask: int, expected: str) -> None:
    assert allowed(["neon", "plain"], mask, "aarch64") == expected


@pytest.mark.parametrize(
    ("mask", "expected"),
    [(0, ()), (1, ("cuda:0",)), (2, ("cuda:1",)), (13, ("cuda:0", "cuda:2", "cuda:3")),
     (0xFFFFFFFF, BACKENDS[1:])],
)  # fmt: skip
def test_cards(mask: int, expected: tuple[str, ...]) -> None:
    assert forbidden_cards(mask) == expected


def test_a_gpumask_excludes_gpus_by_name(clips: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["-r", str(clips / "ref.y4m"), "-d", str(clips / "dis.y4m")]
    assert vmaf_main([*line, "--backend", "cuda", "--gpumask", "-1"]) == 100
    assert "'cuda' can't start (it is excluded)" in capsys.readouterr().err
    for mask in ("1", "-1"):
        assert vmaf_main([*line, "-q", "--gpumask", mask]) == 0
