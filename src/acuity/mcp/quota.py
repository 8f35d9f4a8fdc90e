"""Places of which there are only so many: in all, and for each holder."""

from __future__ import annotations

from collections import Counter
from typing import Literal, TypeAlias

Full: TypeAlias = Literal["each", "all"]


class Quota:
    """Counts the places that each holder has."""

    def __init__(self, places: int, each: int) -> None:
        self.places = places
        self.each = each
        self._taken: Counter[str] = Counter()
        self._total = 0

    @property
    def taken(self) -> int:
        return self._total

    def full(self, holder: str) -> Full | None:
        """Return which of the two limits leaves no place for this holder."""
        if self._taken[holder] >= self.each:
            return "each"
        return "all" if self._total >= self.places else None

    def take(self, holder: str) -> None:
        self._taken[holder] += 1
        self._total += 1

    def give_back(self, holder: str) -> None:
        self._total -= 1
        self._taken[holder] -= 1
        if not self._taken[holder]:
            del self._taken[holder]  # holders come and go
