"""Point: one encode of a clip and its scores; measure() makes it, and the cache keeps it.

The cache is an SQLite file that all commands share; it also has digests of files and lists of shots.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from acuity.cache_file import CacheFile, cache_path
from acuity.errors import InputError, Remedy
from acuity.features import get_extractor
from acuity.measure.measurement import Measurement
from acuity.measure.pooling import pool
from acuity.models import load_model
from acuity.models.choose import AUTO
from acuity.scoring.report import ScoreReport
from acuity.scoring.request import Request
from acuity.scoring.run import run_request
from acuity.tune.clip import Clip, Part
from acuity.tune.encoders.encode import PictureForm
from acuity.tune.encoders.encoded_reader import EncodedReader, Sink
from acuity.tune.encoders.encoder import EncoderSettings
from acuity.tune.encoders.versions import encoder_version
from acuity.tune.progress import Stopped
from acuity.video.picture import Picture
from acuity.video.readers.reader import BaseReader

# Called with the frames scored, and the number of all if known.
FramesCallback = Callable[[int, int | None], None]

_VMAF: Final = "vmaf"
# Notes about two files that may have been mistaken for each other.
_EXPECTED: Final = ("swapped", "identical")


@dataclass(frozen=True, slots=True)
class PointScoring:
    model: str = "auto"
    metrics: tuple[str, ...] = ()  # besides VMAF
    viewing: str | None = None
    display: str | None = None
    subsample: int = 1
    # What computes: no figure depends on it.
    threads: int | None = None
    backend: str = "auto"
    device: int | None = None
    share: int = 1  # the encodes that are scored side by side

    def document(self) -> dict[str, Any]:
        """Everything that decides the figures, as plain values."""
        decide = ("model", "metrics", "viewing", "display", "subsample")
        return {name: getattr(self, name) for name in decide}


@dataclass(frozen=True, eq=False)
class Point:
    quality: float
    bytes: int  # of the video's packets, without a container
    sizes: NDArray[np.int64]  # bytes of each frame, in the order they are shown
    rate: Fraction  # frames a second, on average
    scores: Mapping[str, NDArray[np.float64]]  # the figures of each scored frame, by column
    model: str  # label of the first model
    encoder_version: str
    encode_seconds: float  # of CPU time in the encoder, all threads; of an ffmpeg, of wall time
    notes: tuple[str, ...] = ()
    cached: bool = False

    @property
    def frames(self) -> int:
        return len(self.sizes)

    @property
    def seconds(self) -> float:
        return float(self.frames / self.rate)

    @property
    def bitrate_kbps(self) -> float:
        return float(self.bytes * 8 * self.rate / self.frames / 1000)

    def pool(self, column: str = _VMAF, method: str = "mean") -> float:
        """One figure for all frames: by 'mean', 'harmonic_mean', 'min', 'max', or 'p5' and the like."""
        if column not in self.scores:
            raise InputError(f"nothing named '{column}' was measured: there are {', '.join(self.scores)}")
        return pool(self.scores[column], method)


def measure(
    clip: Clip,
    settings: EncoderSettings,
    quality: float,
    scoring: PointScoring | None = None,
    *,
    frames: FramesCallback | None = None,
    stop: threading.Event | None = None,
    sink: Sink | None = None,
) -> Point:
    """Encode a clip and score it as one stream; the figures are those of a file with these packets.

    The source is read twice, once for the encoder and once as the reference, and nothing is kept. `stop`
    ends it within a second with Stopped. `sink` gets the packets in decoding order.
    """
    scoring = scoring or PointScoring()
    part = before(clip) if scoring.subsample == 1 else None
    luma_only = part is None and _luma_is_enough(scoring)
    encoded = EncodedReader(clip, settings, quality, luma_only=luma_only, sink=sink, stop=stop)
    source, distorted = clip, cast("BaseReader", encoded)
    if part is not None and clip.parts is not None:
        source = clip.of(Part(part.start, clip.parts[0].end))
        distorted = LedReader(encoded, clip, part, settings)
    report = score_encode(source, distorted, scoring, frames=frames, stop=stop, luma_only=luma_only)
    sizes = encoded.sizes
    return Point(
        quality=quality,
        bytes=int(sizes.sum()),
        sizes=sizes,
        rate=encoded.rate,
        scores={name: values[part is not None :] for name, values in scores_of(report).items()},
        model=report.model or "",
        encoder_version=encoder_version(settings.encoder),
        encode_seconds=encoded.encode_seconds,
        notes=_told(report),
    )


def score_encode(
    clip: Clip,
    distorted: BaseReader,
    scoring: PointScoring,
    *,
    frames: FramesCallback | None = None,
    stop: threading.Event | None = None,
    luma_only: bool = False,
) -> ScoreReport:
    """Score an encode of a clip frame by frame, whatever reads it; the reader is closed at the end.

    With `luma_only` the source is read without chroma, which is enough for most models.
    """
    try:
        reference = clip.reader(luma_only=luma_only)
    except BaseException:
        distorted.close()
        raise

    def check(_: object = None) -> None:
        if stop is not None and stop.is_set():
            raise Stopped

    def progress(done: int, total: int | None, _: float | None) -> None:
        if frames is not None:
            frames(done, total)

    def watch(measurement: Measurement) -> None:
        measurement.boundary.on_frame(check)
        measurement.boundary.on_idle(check)

    return run_request(
        _request(reference, distorted, scoring),
        progress=progress,
        running_mean=False,
        watch=watch,
        share=scoring.share,
    )


def _told(report: ScoreReport) -> tuple[str, ...]:
    """The notes that are told with a point: doubts, and that the size doesn't suit the model."""
    told = [note for note in report.notes if note.level == "warning" or note.code == "display"]
    return tuple(note.spelled(Remedy.plain) for note in told if note.code not in _EXPECTED)


def scores_of(report: ScoreReport) -> dict[str, NDArray[np.float64]]:
    keys = [*report.results.models, *(headline.key for headline in report.headlines)]
    return {key: report.results.columns[key] for key in dict.fromkeys(keys)}


def _luma_is_enough(scoring: PointScoring) -> bool:
    """Whether the figures need luma only: then no chroma is decoded, scaled or compared."""
    if scoring.metrics or scoring.viewing is not None:
        return False
    if scoring.model == AUTO:
        return True  # the models that go by size read luma only
    needed = load_model(scoring.model).extractors()
    return not any(get_extractor(name)(options).uses_chroma for name, options in needed)


def _request(reference: Any, distorted: BaseReader, scoring: PointScoring) -> Request:
    metrics = list(scoring.metrics)
    if metrics and _VMAF not in metrics:
        metrics.insert(0, _VMAF)
    return Request(
        reference,
        distorted,
        models=[scoring.model],
        metrics=metrics,
        viewing=scoring.viewing,
        display=scoring.display,
        subsample=scoring.subsample,
        threads=scoring.threads,
        backend=scoring.backend,
        device=scoring.device,
        align="off",  # each decoded frame is known to be that of its source frame
    )


# ---- a lead-in -----------------------------------------------------------------------------------
# A lead-in: the frame before a part of a video, given to scoring ahead of the part's own frames.
# Some figures of a frame depend on the frame before it, as motion does. Scored alone, a part's first frame
# has no motion, and a score that may be many points from its score in the whole video. A lead-in mends that.


def before(clip: Clip) -> Part | None:
    """The frame before a clip that wants a lead-in; None if it doesn't, or begins with the first frame."""
    if not clip.led or clip.parts is None or len(clip.parts) != 1 or clip.parts[0].start == 0:
        return None
    return Part(clip.parts[0].start - 1, clip.parts[0].start)


class LedReader(BaseReader):
    """An encode of a clip, and ahead of it the frame before the clip as the encoder would have got it."""

    def __init__(self, reader: BaseReader, clip: Clip, part: Part, settings: EncoderSettings) -> None:
        super().__init__()
        self.notes = reader.notes
        self._reader = reader
        frames = reader.info.frames
        self.info = replace(reader.info, frames=None if frames is None else frames + 1)
        self._rate = clip.rate
        self._given = 0
        self._lead: Picture | None = None
        try:
            with clip.of(part).reader() as source:
                self._lead = source.read()
                for step in PictureForm.of(clip, settings).steps(clip.info):
                    self._lead = step(self._lead) if self._lead is not None else None
        except BaseException:
            reader.close()
            raise

    def read(self) -> Picture | None:
        picture, self._lead = self._lead or self._reader.read(), None
        if picture is not None:
            picture.pts = float(self._given / self._rate)
            self._given += 1
        return picture

    def close(self) -> None:
        self._reader.close()


# ---- the cache -----------------------------------------------------------------------------------

# What JSON can hold of a point as it is.
_PLAIN: Final = ("quality", "bytes", "model", "encoder_version", "encode_seconds")


def default_path() -> str:
    return cache_path("tune")


class Cache(CacheFile):
    """Points and documents by key; any thread may use it."""

    def get(self, key: str) -> Point | None:
        return self.entry(key, _unpacked)

    def put(self, key: str, point: Point, *, source: str = "", maker: str = "") -> None:
        """Keep a point, and delete what was used longest ago.

        of_source() finds it by `source`, the key of the clip and its scoring; `maker` names what encoded it.
        """
        head, arrays = _packed(point)
        self.keep(key, head, arrays, source=source, maker=maker)

    def of_source(self, source: str) -> list[tuple[str, str, Point]]:
        return self.entries_of(source, _unpacked)


def _packed(point: Point) -> tuple[str, bytes]:
    head = {
        **{name: getattr(point, name) for name in _PLAIN},
        "rate": str(point.rate),
        "notes": point.notes,
        "sizes": len(point.sizes),
        "columns": [[name, len(column)] for name, column in point.scores.items()],
    }
    columns = b"".join(np.asarray(column, "<f8").tobytes() for column in point.scores.values())
    return json.dumps(head), np.asarray(point.sizes, "<i8").tobytes() + columns


def _unpacked(head: str, arrays: bytes) -> Point:
    """The point that was packed; raises ValueError or KeyError if the bytes are others."""
    values = json.loads(head)
    names, counts = zip(("sizes", values["sizes"]), *values["columns"], strict=True)
    if 8 * sum(counts) != len(arrays):
        raise ValueError("an entry is incomplete")
    sizes, *columns = np.split(np.frombuffer(arrays, "<f8").copy(), np.cumsum(counts[:-1]))
    return Point(
        **{name: values[name] for name in _PLAIN},
        sizes=sizes.view("<i8").astype(np.int64),
        rate=Fraction(values["rate"]),
        scores=dict(zip(names[1:], columns, strict=True)),
        notes=tuple(values["notes"]),
        cached=True,
    )
