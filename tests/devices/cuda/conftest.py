"""A machine with a card that is made up, for the tests of what runs on one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acuity.devices.cuda.hardware import cards, probe
from acuity.devices.cuda.hardware.card import Card
from fake_cuda import FakeCuda, fake_card


@pytest.fixture
def unprobed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No kernel is run before a card is used, which has tests of its own."""
    monkeypatch.delenv(cards.MASK, raising=False)
    monkeypatch.setattr(probe, "check_card", lambda card: None)


@pytest.fixture
def cuda(unprobed: None) -> FakeCuda:
    return FakeCuda()


@pytest.fixture
def card(cuda: FakeCuda, tmp_path: Path) -> Iterator[Card]:
    yield fake_card(cuda, tmp_path)
    cuda.context = 0
