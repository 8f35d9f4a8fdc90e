"""Finds the keyframe from which a decoder reaches a given frame. Importing this module imports PyAV."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import closing
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acuity.video.readers.decoder import ONE_TO_ONE, Decoder
from acuity.video.source import Source

# Containers with reliable seeking and time stamps.
_TRUSTED: Final = {"mov", "matroska"}
_REMEMBERED: Final = 8  # files; an index has 16 bytes for each frame


@dataclass(frozen=True, slots=True)
class KeyframeIndex:
    """The presentation times, in ticks, of all frames and of the keyframes."""

    stamps: NDArray[np.int64]
    keys: NDArray[np.int64]

    def start(self, frame: int) -> tuple[int, int] | None:
        """(time of the last keyframe not after `frame`, time of `frame`); None past the end."""
        if frame >= self.stamps.size:
            return None
        target = self.stamps[frame]
        return int(self.keys[np.searchsorted(self.keys, target, "right") - 1]), int(target)


def index_keyframes(decoder: Decoder) -> KeyframeIndex | None:
    """Read all packets without decoding; None if they don't give the frame numbers.

    A frame's number is its rank among the time stamps only if every packet is one frame with a time of its
    own, and the decoder can use all of them from the first one on.
    """
    trusted = _TRUSTED.intersection(decoder.container.format.name.split(","))
    if not trusted or decoder.stream.codec_context.name not in ONE_TO_ONE:
        return None
    stamps: list[int] = []
    keys: list[int] = []
    for packet in decoder.demux():
        if not packet.size:
            continue
        if packet.pts is None or packet.is_discard or packet.is_corrupt:
            return None
        stamps.append(packet.pts)
        if packet.is_keyframe:
            keys.append(packet.pts)
    if not keys or stamps[0] != keys[0] or stamps[0] != min(stamps) or len(set(stamps)) != len(stamps):
        return None
    return KeyframeIndex(np.sort(np.array(stamps, np.int64)), np.sort(np.array(keys, np.int64)))


class KeyframeIndexes:
    """The indexes of the files used last: a file that is opened again isn't read through again."""

    def __init__(self, most: int = _REMEMBERED) -> None:
        self._most = most
        self._known: OrderedDict[Hashable, KeyframeIndex | None] = OrderedDict()
        self._lock = threading.Lock()

    def of(
        self, file: Hashable | None, source: Source, decoder_of: Callable[[Source], Decoder]
    ) -> KeyframeIndex | None:
        """The index of a file, which is closed then; `file` tells that it is unchanged, unless it is None."""
        with self._lock:
            if file is not None and file in self._known:
                source.close()
                self._known.move_to_end(file)
                return self._known[file]
        with closing(decoder_of(source)) as decoder:
            found = index_keyframes(decoder)
        if file is not None:
            with self._lock:
                self._known[file] = found
                while len(self._known) > self._most:
                    self._known.popitem(last=False)
        return found
