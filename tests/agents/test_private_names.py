"""Acuity uses no private name of another package but those in the runtime's table."""

from __future__ import annotations

from pathlib import Path

from private_names import private_names

SOURCE = Path(__file__).resolve().parents[2] / "src" / "acuity"


def test_no_file_uses_one() -> None:
    assert private_names(SOURCE) == set()
