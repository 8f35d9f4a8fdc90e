"""The public surface: what __all__ says, no more, and cheap to import."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import acuity


def test_every_public_name_can_be_used() -> None:
    for name in acuity.__all__:
        assert getattr(acuity, name) is not None


def test_all_is_sorted_without_repeats() -> None:
    assert list(acuity.__all__) == sorted(set(acuity.__all__))


def test_the_lazy_table_matches_all() -> None:
    of_an_extra = {"EmbeddedConfig", "EmbeddedServer"}
    assert {*acuity._HOME_OF, "__version__"} == {*acuity.__all__, *of_an_extra}
    assert all(getattr(acuity, name) is not None for name in of_an_extra)


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'scorr'"):
        _ = acuity.scorr


def test_every_error_is_an_acuity_error() -> None:
    errors = [getattr(acuity, n) for n in acuity.__all__ if n.endswith("Error") or n == "NotReady"]
    assert len(errors) == 17
    assert all(issubclass(error, acuity.AcuityError) for error in errors)


def test_version_is_the_packages() -> None:
    assert acuity.__version__ == version("acuity-vmaf")


def test_importing_loads_nothing_heavy_and_brings_no_other_name() -> None:
    code = """
import sys, acuity
print(*[m for m in sys.modules if m.split('.')[0] in ('numpy', 'av', 'acuity')])
print(*[n for n in vars(acuity) if not n.startswith('_')])
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    loaded, names = said.splitlines()
    assert loaded == "acuity"
    assert set(names.split()) <= set(acuity.__all__)


def test_every_module_of_the_source_is_installed() -> None:
    installed = Path(acuity.__file__).parent
    source = Path(__file__).resolve().parents[1] / "src" / "acuity"
    ours, theirs = ({path.relative_to(top) for path in top.rglob("*.py")} for top in (source, installed))
    assert ours - theirs == set()
