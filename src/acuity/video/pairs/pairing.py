"""Pairs two videos frame by frame, with the conversions of their plan."""

from __future__ import annotations

import itertools
import os
import stat
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from acuity.errors import InputError, NoFramesError, PairingError, to_set
from acuity.video.notes import Note, info, warning
from acuity.video.pairs.clock import Clock, PairTimes
from acuity.video.pairs.content import ContentFigures, find_bars, remarks
from acuity.video.pairs.early_watch import EarlyWatch
from acuity.video.pairs.pair_options import AUTO, PairOptions
from acuity.video.pairs.pair_plan import PairPlan, Side
from acuity.video.pairs.planning import make_plan
from acuity.video.pairs.plausibility import plausibility_warnings
from acuity.video.pairs.producer import Ahead, PictureSource, Producer
from acuity.video.picture import Picture
from acuity.video.readers.prefetch import Prefetch, ReadAhead
from acuity.video.readers.reader import BaseReader, VideoInfo, VideoReader

if TYPE_CHECKING:
    from fractions import Fraction

    from acuity.video.pairs.alignment import Decision, Watch

_SEEN: Final = 60  # pairs that are looked at, if the videos have them, however few are scored
_FEW: Final = 16  # pairs that don't show whether the videos are aligned


def pair_videos(ref: VideoReader, dis: VideoReader, *, options: PairOptions | None = None) -> Pairing:
    """Decide how `dis` is compared with `ref`, or raise PairingError.

    The pairing takes over both readers: closing it closes them, and so does an error here.
    """
    options = options or PairOptions()
    try:
        once = ref.info.path == dis.info.path and not ref.info.seekable
        if once and not _gives_each_its_own(ref.info.path):
            raise PairingError(f"both videos are to come from {ref.info.path}: pass a file for one of them")
        for video in (ref.info, dis.info):
            if options.align == "auto" and not video.seekable:
                raise PairingError(
                    to_set("align", "auto"),
                    f" reads both videos twice, and '{video.path}' can be read once: pass a file, or ",
                    to_set("align", "off"),
                )
        active = (find_bars(ref), find_bars(dis)) if options.crop == AUTO else (None, None)
        plan = make_plan(ref.info, dis.info, options, active)
        for reader, side in zip((ref, dis), plan.sides, strict=True):
            if isinstance(reader, BaseReader):
                reader.prepare(chroma=side.needs_chroma, rgb=side.rgb_target)
                reader.expect(converted=bool(side.steps or side.deinterlace or side.rgb_target))
        plan.notes.extend(plausibility_warnings(ref.info, dis.info, cropped=plan.crop is not None))
        return Pairing(ref, dis, plan, options)
    except BaseException:
        ref.close()
        dis.close()
        raise


def _gives_each_its_own(path: str) -> bool:
    """Whether each reader gets all bytes, as with /dev/zero; the readers of a pipe share its bytes."""
    try:
        return stat.S_ISCHR(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


class Pairing(PictureSource):
    """Iterates (reference, distorted) pictures once, in order, reading both videos ahead in threads."""

    def __init__(self, ref: VideoReader, dis: VideoReader, plan: PairPlan, options: PairOptions) -> None:
        super().__init__((ref, dis), plan, options, plan.notes)
        self.info_ref: VideoInfo = ref.info
        self.info_dis: VideoInfo = dis.info
        self._frame_rate = ref.info.rate or dis.info.rate
        self._looks = tuple(ContentFigures(side.info, full_range=side.read_full_range) for side in plan.sides)
        self._skips = (options.skip_ref, options.skip_dis)
        self._offset: float | None = None  # seconds that the distorted video's first picture is shown later
        self._survey: Prefetch | None = None  # with align=auto, reads both videos before the pairs
        self.decisions: list[Decision] = []  # of the survey
        self._survey_notes: list[Note] = []
        self._lengths = _pairs(plan.ref, self._skips[0]), _pairs(plan.dis, self._skips[1])
        self._note_lengths(*self._lengths)
        self._note_choice()
        limits = [*self._lengths, options.frames or None]
        self.length: int | None = min((n for n in limits if n is not None), default=None)
        self.length_exact: bool = all(reader.info.frames_exact for reader in self._readers)
        skipped = options.skip_ref / self._frame_rate if self._frame_rate else None
        self.timeline = PairTimes(self.rate, skipped, variable=ref.info.variable_rate)

    @property
    def rate(self) -> Fraction | None:
        """Pairs a second."""
        return self._frame_rate / self._plan.ref.stride if self._frame_rate else None

    @property
    def description(self) -> dict[str, Any]:
        """The description of the input for reports, besides the notes, as plain values for JSON."""
        return {
            "reference": self.info_ref.to_dict(),
            "distorted": self.info_dis.to_dict(),
            "width": self.width,
            "height": self.height,
            "pixel_format": self.format.layout,
            "bitdepth": self.format.depth,
            "pair_by": self._plan.pair_by,
            "range": self._range(),
            "display": self.display,
            "filter": self.options.filter,
            "crop": list(self._plan.crop) if self._plan.crop else None,
            "conversions": list(self._plan.conversions),
            "frame_skip_ref": self.options.skip_ref,
            "frame_skip_dis": self.options.skip_dis,
            "frame_step_ref": self._plan.ref.stride,
            "frame_step_dis": self._plan.dis.stride,
            "time_offset": self._offset,
            "alignment": {"mode": self.options.align, "decisions": [d.to_dict() for d in self.decisions]},
            "pairs": self.pairs,
        }

    def __iter__(self) -> Iterator[tuple[Picture, Picture]]:
        if self._started:
            raise InputError("a pairing can be iterated only once: pair the videos again")
        self._started = True
        clock = Clock(self._plan)
        watch = None
        rest: list[Iterator[Picture]] = []
        if self.options.align != "off":
            known = [length for length in self._lengths if length is not None] if self.length_exact else []
            watch = EarlyWatch(self._watch, min(known, default=None))
        try:
            left, right = self._reading()
            decisions = list(reversed(self.decisions))
            while not self._enough():
                while decisions and decisions[-1].pair == self.pairs:
                    decision = decisions.pop()
                    for _ in range(decision.leave_out_ref):
                        left.take()
                    for _ in range(decision.leave_out_dis):
                        right.take()
                ref, dis = left.take(), right.take()
                if ref is None or dis is None:
                    one_ended = (ref is None) != (dis is None) and self._survey is None  # which has told it
                    if self.pairs and self._closer.alive and one_ended:
                        self._ended(ref is None, self.pairs)
                    rest = [_rest(left, ref), _rest(right, dis)]
                    break
                if self._survey is not None and self.pairs == self.length:
                    break  # what follows in both matches nothing, as a note says
                if self.options.align != "auto":  # which found out by looking which frames belong together
                    clock.check(ref, dis, self.pairs)
                if watch is not None:
                    watch.add(ref, dis)
                    if watch.certain:
                        watch.end(*_read_on(left, right, watch))
                self.timeline.note(ref.pts)
                if self.pairs == 0 and ref.pts is not None and dis.pts is not None:
                    self._offset = dis.pts - ref.pts
                self.pairs += 1
                yield ref, dis
                del ref, dis
            if watch is not None:
                surveyed = self._survey is not None  # the survey has seen all frames
                watch.end(*(() if surveyed else rest or self._read_on(left, right, watch)))
        except GeneratorExit:  # interrupted, or an agent stopped the measurement
            if watch is not None:
                watch.leave()
            raise
        finally:
            self._gather_notes()
            self.close()
            self.notes.extend(remarks(self._plan, self._looks))
        if self.pairs == 0:
            raise NoFramesError(self._nothing())

    def _watch(self) -> Watch:
        from acuity.video.pairs.alignment import Watch

        return Watch(
            self._plan,
            self._skips,
            self.notes,
            refuse=self.options.align != "warn",
            bars=lambda: self._looks[0].bars != self._looks[1].bars,
        )

    def _read_on(self, left: Ahead, right: Ahead, watch: EarlyWatch) -> tuple[Iterator[Picture], ...]:
        """Look at frames after the last pair that is wanted, because few pairs don't show what is wrong."""
        watch.scored = self.pairs
        try:
            return _read_on(left, right, watch, _SEEN - self.pairs)
        except InputError:  # of frames that are not scored
            return ()

    def ready(self, seconds: float) -> bool:
        """Wait at most that many seconds; returns whether the next pair or the end has come."""
        if self._enough():
            return True
        if len(self._prefetches) == 2 and self._prefetches[0].ready(0.0) and self._prefetches[1].ready(0.0):
            return True  # mostly, without a look at the time
        end = time.monotonic() + seconds
        survey = self._surveying()
        if survey is not None and not survey.ready(seconds):
            return False
        return all(prefetch.ready(max(end - time.monotonic(), 0.0)) for prefetch in self._reading())

    def _reading(self) -> list[Ahead]:
        """The threads that read ahead; started at the first call."""
        if len(self._prefetches) < 2:
            survey = self._surveying()
            if survey is not None:
                survey.take()  # waits for its end; an error is raised here
                self.notes.extend(self._survey_notes)
            self._prefetches[:] = self._start_reading(again=survey is not None)
        return self._prefetches

    def _surveying(self) -> Prefetch | None:
        """The thread that looks at both videos before they are scored; started at the first call."""
        if self.options.align != "auto":
            return None
        if self._survey is None:
            self._survey = Prefetch(self._look_through, ReadAhead(ahead=1), name="survey")
            self._prefetches.append(self._survey)
        return self._survey

    def _look_through(self, _: int) -> None:
        from acuity.video.pairs.survey import Survey

        survey = Survey(self._plan, self._lengths)
        readers = self._start_reading()
        try:
            survey.run(readers[0].take, readers[1].take, self.options.frames)
        finally:
            for prefetch in readers:
                prefetch.stop()
            for prefetch in readers:
                prefetch.join()
        self.decisions, self._survey_notes = survey.decisions, list(survey.notes)
        self.length, self.length_exact = survey.pairs, True

    def _start_reading(self, *, again: bool = False) -> list[Ahead]:
        signed = self.options.align != "off" and not again
        parts = (self._readers, self._plan.sides, self._looks, self._skips, ("ref", "dis"))
        started = []
        for reader, side, look, skip, name in zip(*parts, strict=True):
            seeing = None if again else look
            producer = Producer(reader, side, skip, look=seeing, signed=signed, again=again)
            started.append(producer.start(self.options.ahead, name))
        return started

    def _note_lengths(self, ref: int | None, dis: int | None) -> None:
        if 0 in (ref, dis):
            raise NoFramesError(self._nothing())
        exact = all(reader.info.frames_exact for reader in self._readers)
        # With align=auto the frames that one of them lacks may be left out of the other.
        if not exact or ref == dis or self.options.align == "auto":
            return
        if ref is not None and dis is not None and not 0 < self.options.frames <= min(ref, dis):
            self._ended(ref < dis, min(ref, dis))

    def _note_choice(self) -> None:
        """Note the frames that the caller left out."""
        skipped = [
            f"the first {_frames(count)} of '{reader.info.path}'"
            for count, reader in zip(self._skips, self._readers, strict=True)
            if count
        ]
        if skipped:
            text = f"left out: {' and '.join(skipped)}; frames are numbered from there on"
            self.notes.append(info("skipped", text))
        limit, length = self.options.frames, min((n for n in self._lengths if n is not None), default=None)
        few = length is not None and length < _FEW and self.options.align in ("refuse", "warn")
        why = ", too few to tell whether both videos show the same ones" if few else ""
        if limit and length is None:
            self.notes.append(info("frame-limit", f"at most {_frames(limit)} are scored{why}"))
        elif limit and length is not None and limit < length:
            self.notes.append(info("frame-limit", f"the first {limit} of {_frames(length)} are scored{why}"))

    def _ended(self, ref_first: bool, count: int) -> None:
        paths = (self.info_ref.path, self.info_dis.path)
        first, last = paths if ref_first else paths[::-1]
        if all(note.code != "frame-count" for note in self.notes):
            pairs = "pair is" if count == 1 else f"{count} pairs are"
            text = f"'{first}' ended before '{last}': the first {pairs} scored"
            if count > 1:
                text += "; if a frame is missing on the way, those after it don't match"
            self.notes.append(warning("frame-count", text))

    def _nothing(self) -> str:
        said = f"'{self.info_ref.path}' and '{self.info_dis.path}' have no frame in common"
        skipped = f"{self._skips[0]} and {self._skips[1]} frames"
        return f"{said} after skipping {skipped}: skip fewer" if any(self._skips) else said


def _frames(count: int) -> str:
    return "frame" if count == 1 else f"{count} frames"


def _read_on(
    left: Ahead, right: Ahead, watch: EarlyWatch, most: int | None = None
) -> tuple[Iterator[Picture], ...]:
    """Show the watch the next frames, `most` at most, until it knows what is wrong and raises an error.

    Returns the pictures after them that one of the videos has.
    """
    for _ in itertools.count() if most is None else range(most):
        ref, dis = left.take(), right.take()
        if ref is None or dis is None:
            return _rest(left, ref), _rest(right, dis)
        watch.add(ref, dis)
    return ()


def _rest(prefetch: Ahead, picture: Picture | None) -> Iterator[Picture]:
    """The picture and those after it, up to what can't be read."""
    while picture is not None:
        yield picture
        try:
            picture = prefetch.take()
        except InputError:
            return


def _pairs(side: Side, skip: int) -> int | None:
    """The number of compared frames of one video, if known."""
    if side.info.frames is None:
        return None
    left = side.info.frames - skip
    if left <= 0:
        return 0 if side.info.frames_exact else None
    return -(-left // side.stride)
