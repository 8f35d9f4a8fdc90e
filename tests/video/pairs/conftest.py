"""Clips whose frames are not the same, made once."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from misaligned_clips import COUNT, Luma, Make, encode_luma, frames_of


@pytest.fixture(scope="session")
def clip_of(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Makes an encode that shows these frames of a content; without options it is the source, exactly."""
    known: dict[str, Path] = {}

    def encoded(content: str, shown: Sequence[int], name: str = "x.mkv", **how: Any) -> Path:
        key = repr((content, shown, name, how))
        if key not in known:
            frames = frames_of(content)
            path = tmp_path_factory.mktemp(content) / name
            known[key] = encode_luma(path, [frames[n] for n in shown], **(how or {"codec": "ffv1"}))
        return known[key]

    return encoded


@pytest.fixture(scope="session")
def frames() -> list[Luma]:
    return frames_of("grain")[:COUNT]


@pytest.fixture(scope="session")
def source(clip_of: Make) -> Path:
    return clip_of("grain", range(COUNT))


@pytest.fixture(scope="session")
def make(clip_of: Make) -> Make:
    """Makes an encode that shows these frames of the source."""

    def encoded(shown: Sequence[int], name: str = "x.mp4", **how: Any) -> Path:
        return clip_of("grain", shown, name, **{"crf": "30", "preset": "ultrafast", **how})

    return encoded


@pytest.fixture(scope="session")
def others() -> list[Luma]:
    """Frames of other content."""
    return frames_of("screen")[:15]


@pytest.fixture
def no_threads_left() -> Iterator[None]:
    """Fails a test that leaves threads that read."""
    yield
    gc.collect()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("acuity-read")]
