"""Models that clients name: checked, loaded beside the measurement, and kept for the next request."""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from acuity.access.path_text import shown
from acuity.access.paths import AllowedPaths
from acuity.errors import ModelError

if TYPE_CHECKING:
    from acuity.models import Model, ModelCollection

_KEPT: Final = 8
_Stamp = tuple[int, int, int]


class ModelLoader:
    """Loads models that clients name, on a thread beside the event loop, one at a time."""

    def __init__(self, paths: AllowedPaths) -> None:
        self._paths = paths
        self._kept: OrderedDict[str, tuple[Model | ModelCollection, _Stamp]] = OrderedDict()
        self._loading = asyncio.Lock()

    async def load(self, spec: str) -> Model | ModelCollection:
        """The model of a name or of libvmaf's notation; raises ModelError or PathError.

        One that is asked for again is the same object, unless its file has changed.
        """
        async with self._loading:
            return await asyncio.to_thread(self._load, spec)

    def _load(self, spec: str) -> Model | ModelCollection:
        from acuity.models import load_model

        _refuse_tiny(spec)
        checked = self._paths.check_model(spec)
        kept = self._kept.get(checked)
        if kept is not None and kept[1] == _stamp(kept[0]):
            self._kept.move_to_end(checked)
            return kept[0]
        model = load_model(checked)
        self._kept[checked] = model, _stamp(model)
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return model


def _refuse_tiny(spec: str) -> None:
    from acuity.models.sources import is_tiny

    name = spec.removeprefix("version=").removeprefix("path=").partition(":")[0]
    if name.endswith(".onnx") or ("/" not in name and is_tiny(name)):
        raise ModelError(
            f"'{shown(name)}' is a tiny model, which can't replace another one while frames are measured: "
            "name one that list_models has with the format json"
        )


def _stamp(model: Model | ModelCollection) -> _Stamp:
    """What changes when a file is written over."""
    try:
        found = os.stat(model.path)
    except OSError:
        return (0, 0, 0)
    return found.st_mtime_ns, found.st_size, found.st_ino
