"""Files as people have them, cut, damaged and joined: on the card they end as they do on the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acuity.devices.cuda.nvdec.reader import NvdecReader
from acuity.errors import AcuityError
from acuity.video.card_picture import CardPicture
from acuity.video.readers.container import ContainerReader
from emulated_card import needs_compiler
from everyday_clips import Make, beheaded, cut_by_edit_list, joined, made, wiped
from fake_cuda import emulated_card
from fake_driver import FakeDriver

pytestmark = needs_compiler

SMALL: dict[str, Any] = {"size": (96, 64)}
OPEN: dict[str, Any] = {
    "options": {"x265-params": "log-level=none:open-gop=1:keyint=8:min-keyint=8:bframes=3"}
}

FILES: dict[str, tuple[Make, bool]] = {  # and whether the card decodes all of it
    "a transport stream": (made("a.ts", **SMALL), True),
    "hidden by an edit list": (cut_by_edit_list("cut.mp4", 5, **SMALL), True),
    "a recording that began late": (beheaded("late.ts", 0.3, options={"g": "6"}, **SMALL), False),
    "a transport stream with a hole": (wiped("hole.ts"), False),
    "open groups of pictures": (made("open.mkv", "libx265", **OPEN, **SMALL), True),
    "a size that changes": (joined("joined.ts", made("one.ts", **SMALL), made("two.ts", size=(64, 64))),
        False),
    "times that jump": (joined("twice.ts", made("one.ts", **SMALL), made("two.ts", **SMALL)), False),
}  # fmt: skip


def outcome(reader: ContainerReader) -> tuple[list[Any], int, str, list[str]]:
    """The pictures with their times, how many came from the card, how it ended, and the notes."""
    pictures, on_card = [], 0
    reader.expect(converted=False)
    try:
        for picture in reader:
            on_card += isinstance(picture, CardPicture)
            pictures.append((picture.pts, [plane.copy() for plane in picture.planes]))
    except AcuityError as error:
        return pictures, on_card, f"{type(error).__name__}: {error}", []
    return pictures, on_card, "", [note.text for note in reader.notes]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("allow_damaged", [False, True])
def test_a_file_ends_alike(name: str, allow_damaged: bool, tmp_path: Path) -> None:
    make, decodes = FILES[name]
    path = make(tmp_path)
    # With one thread the decoder is no frames behind, so refusals name the same frame on every machine.
    how: dict[str, Any] = {"allow_damaged": allow_damaged, "threads": 1}
    with ContainerReader(path, **how) as reader:
        expected, _, end, notes = outcome(reader)
    settings: dict[str, Any] = {"card": emulated_card(), "library": FakeDriver(2), "required": False}
    with NvdecReader(path, **settings, **how) as reader:
        found, on_card, found_end, found_notes = outcome(reader)
    assert found_end == end
    assert found_notes == notes
    assert [pts for pts, _ in found] == [pts for pts, _ in expected]
    for (_, planes), (_, wanted) in zip(found, expected, strict=True):
        assert all(map(np.array_equal, planes, wanted))
    # Damage is concealed by each decoder in its own way, so the CPU decodes where it is allowed.
    assert (on_card == len(found)) == (decodes and not allow_damaged)
