"""The decoder that a request names, which has to have something to decode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acuity.errors import InputError, to_omit, to_set

if TYPE_CHECKING:
    from collections.abc import Callable

    from acuity.video.readers.reader import BaseReader


class NamedDecoder:
    """Opens containers as `containers` does, and knows whether there was one."""

    def __init__(self, name: str, containers: Callable[..., BaseReader]) -> None:
        self._name = name
        self._containers = containers
        self._used = False

    def __call__(self, *given: Any, **options: Any) -> BaseReader:
        self._used = True
        return self._containers(*given, **options)

    def check(self) -> None:
        """Called when the videos are open; raises InputError if it has opened none."""
        if not self._used:
            raise InputError(
                to_set("decoder", self._name),
                " has no encoded file to decode: raw video, Y4M and images are read without it, so ",
                to_omit("decoder"),
            )
