"""Fixtures of the model tests."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from acuity.errors import FeatureError
from small_model import small_document


@pytest.fixture
def document() -> dict[str, Any]:
    """A valid model of two features."""
    return small_document()


@pytest.fixture
def save(tmp_path: Path) -> Callable[[Any], str]:
    """Write a document (or text, or bytes) to a file and give its path."""

    def write(content: Any, name: str = "model.json") -> str:
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    return write


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry that knows adm2 and vif_scale0 only, whatever the real one has learnt."""
    providers = {"VMAF_integer_feature_adm2_score": "adm", "VMAF_integer_feature_vif_scale0_score": "vif"}

    def extractor_for_feature(name: str) -> type:
        if name not in providers:
            raise FeatureError(f"no extractor provides {name}")
        return type("Extractor", (), {"name": providers[name]})

    stand_in = ModuleType("acuity.features")
    stand_in.extractor_for_feature = extractor_for_feature  # type: ignore[attr-defined]
    stand_in.feature_key = lambda name, options: f"{name}:{sorted(options)}"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "acuity.features", stand_in)
