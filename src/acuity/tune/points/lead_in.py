"""A lead-in: the frame before a part of a video, given to scoring ahead of the part's own frames.

Some figures of a frame depend on the frame before it, as motion does. Scored alone, a part's first frame has
no motion, and a score that may be many points from its score in the whole video. A lead-in mends that.
"""

from __future__ import annotations

from dataclasses import replace

from acuity.errors import NoFramesError
from acuity.tune.clip import Clip, Part
from acuity.tune.encoders.encode import Target
from acuity.tune.encoders.settings import Settings
from acuity.video.picture import Picture
from acuity.video.readers.reader import BaseReader, RgbTarget


def before(clip: Clip) -> Part | None:
    """The frame before a clip that wants a lead-in; None if it doesn't, or begins with the first frame."""
    if not clip.led or clip.parts is None or len(clip.parts) != 1 or clip.parts[0].start == 0:
        return None
    return Part(clip.parts[0].start - 1, clip.parts[0].start)


class LedReader(BaseReader):
    """An encode of a clip, and ahead of it the frame before the clip as the encoder would have got it."""

    def __init__(self, reader: BaseReader, clip: Clip, settings: Settings) -> None:
        super().__init__()
        self.notes = reader.notes
        self._reader = reader
        part = before(clip)
        frames = reader.info.frames
        self.info = replace(reader.info, frames=None if frames is None else frames + 1)
        self._rate = clip.rate
        self._given = 0
        self._lead: Picture | None = None
        try:
            if part is None:
                raise NoFramesError("there is no frame before the first one")
            with clip.of(part).reader() as source:
                picture = source.read()
                for step in Target.of(clip, settings).steps(clip.info):
                    picture = step(picture) if picture is not None else None
            self._lead = picture
        except BaseException:
            reader.close()
            raise

    def read(self) -> Picture | None:
        picture, self._lead = self._lead, None
        if picture is None:
            picture = self._reader.read()
        if picture is not None:
            picture.pts = float(self._given / self._rate)
            self._given += 1
        return picture

    def prepare(self, *, chroma: bool = False, rgb: RgbTarget | None = None) -> None:
        self._reader.prepare(chroma=chroma, rgb=rgb)

    def close(self) -> None:
        self._reader.close()
