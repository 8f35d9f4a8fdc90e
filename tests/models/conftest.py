"""Fixtures of the model tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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
