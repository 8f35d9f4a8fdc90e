"""A document in two parts: what stays the same for long, and the few numbers that hardly ever do."""

from __future__ import annotations

from typing import Any, NamedTuple


class Parted(NamedTuple):
    """A document that is asked for again and again, so that the bytes of the greater part can be kept."""

    # All keys in their order, with anything in place of what varies; the same object as long as it is equal.
    constant: dict[str, Any]
    varying: dict[str, float | None]  # keys of the constant part, in an order that is always the same

    def whole(self) -> dict[str, Any]:
        return self.constant | self.varying
