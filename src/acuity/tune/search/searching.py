"""Searches with real encodes: the largest quality value of an encoder that meets a target."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from acuity.errors import AcuityError, UnreachableError
from acuity.tune.clip import Clip
from acuity.tune.encoders import ENCODERS, Encoder
from acuity.tune.encoders.encoder import EncoderSettings
from acuity.tune.points.point import Point
from acuity.tune.points.workbench import Workbench
from acuity.tune.progress import Stopped
from acuity.tune.search.priors import Related, prior_for
from acuity.tune.search.search import Search
from acuity.tune.search.target import Target

MOST_ENCODES: Final = 8
_ANY_VMAF: Final = Target(0.0)
_TYPICAL: Final = 3  # encodes of a search, for the progress


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The answer of a search: the point, and the curve that was measured on the way."""

    settings: EncoderSettings
    target: Target
    point: Point
    points: list[Point]  # all that are known, from best to worst quality
    encodes: int  # that were made for this search; points from the cache aren't counted
    complete: bool  # False: the encodes ran out before a larger value could be ruled out
    allowed: int

    @property
    def quality(self) -> float:
        return self.point.quality

    @property
    def notes(self) -> list[str]:
        """Notes on an answer that says little, or that may not be the best."""
        said, encoder = [], self.settings.encoder
        if self.target.kind == "quality" and encoder.step(self.quality) == encoder.last_step:
            said.append(
                f"even the worst quality, {encoder.knob} {self.quality:g}, meets {self.target}: that says "
                f"little of how it looks ({shown(_ANY_VMAF, self.point)})"
            )
        if not self.complete:
            better = "cheaper" if self.target.kind == "quality" else "better"
            made = "1 encode wasn't" if self.allowed == 1 else f"{self.allowed} encodes weren't"
            said.append(f"{made} enough to rule out a {better} value: raise max_iterations")
        return said


def shown(target: Target, point: Point) -> str:
    """A point as people read it: `VMAF 93.41 at 1,830 kbit/s`."""
    about = target if target.kind == "quality" else _ANY_VMAF
    bitrate = f"{point.bitrate_kbps:,.0f} kbit/s"
    return f"{about.shown(about.figure(point))} at {bitrate}" if about.column in point.scores else bitrate


def search(
    bench: Workbench,
    clip: Clip,
    settings: EncoderSettings,
    target: Target,
    *,
    quality_range: tuple[float, float] | None = None,
    tolerance: float | None = None,
    max_encodes: int = MOST_ENCODES,
) -> SearchAnswer:
    """Find the largest quality value that meets the target, or the smallest that keeps to a bitrate or size.

    "Largest" is towards worse quality, whichever way the encoder's knob goes. A point that meets the target
    by at most `tolerance` ends the search; 0 asks for the very largest value. Points that the cache knows are
    used first: several targets share their curve, and a rerun makes no encode. After `max_encodes` the best
    answer so far is given. Raises UnreachableError if nothing meets the target, with the best point.
    """
    encoder = settings.encoder
    if quality_range is not None:
        for quality in quality_range:
            encoder.check_quality(quality)
    ends = sorted(encoder.step(quality) for quality in quality_range or (encoder.best, encoder.worst))
    run = _Run(bench, clip, settings, target, ends, tolerance)
    found = run.until_done(max_encodes)
    if found is None:
        raise run.unreachable(quality_range, max_encodes)
    return SearchAnswer(settings, target, found, run.curve, run.encodes, run.search.done, max_encodes)


def search_rows(
    bench: Workbench,
    clip: Clip,
    rows: Sequence[tuple[EncoderSettings, Target]],
    *,
    ranges: Callable[[Encoder], tuple[float, float] | None] | None = None,
    **options: Any,
) -> Iterator[SearchAnswer | AcuityError]:
    """Search for each of several settings and targets, in order; a row that fails is its error.

    The first row of the clip is searched alone: what it finds out about the content spares the others, which
    run side by side, their first encodes. Rows of the same settings follow each other, to share their points.
    `ranges` gives the quality values of an encoder that may be tried, or None for all.
    """

    def one(index: int) -> SearchAnswer | AcuityError:
        settings, target = rows[index]
        try:
            within = None if ranges is None else ranges(settings.encoder)
            return search(bench, clip, settings, target, quality_range=within, **options)
        except Stopped:
            raise
        except AcuityError as error:
            return error

    groups: dict[str, list[int]] = {}
    for index, (settings, _) in enumerate(rows):
        groups.setdefault(str(settings.document()), []).append(index)
    if not groups:
        return
    first, *others = groups.values()
    done: dict[int, SearchAnswer | AcuityError] = {}

    def several(group: list[int]) -> None:
        for index in group:
            done[index] = one(index)

    several(first)
    if others:
        with ThreadPoolExecutor(min(len(others), bench.cores), thread_name_prefix="search") as pool:
            futures = [pool.submit(several, group) for group in others]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                bench.stop()
                raise
    yield from (done[index] for index in range(len(rows)))


class _Run:
    """A search under way: it asks the workbench for the points that Search names."""

    def __init__(
        self,
        bench: Workbench,
        clip: Clip,
        settings: EncoderSettings,
        target: Target,
        ends: Sequence[int],
        tolerance: float | None,
    ) -> None:
        self.encodes = 0
        self._bench, self._clip, self._settings, self._target = bench, clip, settings, target
        self._points: dict[int, Point] = {}
        self.search = Search(target, self._prior(), tolerance=tolerance, first=ends[0], last=ends[-1])
        encoder = settings.encoder
        for point in bench.known(clip, settings, map(encoder.quality, range(encoder.last_step + 1))).values():
            self._add(point)

    @property
    def curve(self) -> list[Point]:
        return [self._points[step] for step in sorted(self._points)]

    def until_done(self, most: int) -> Point | None:
        """Encode until the search is done or has made `most` points; the answer, or None."""
        tally = self._bench.tally
        tally.plan(_TYPICAL)
        asked = 0
        try:
            while asked < most:
                self.search.learn(self._prior())
                step = self.search.next()
                if step is None:
                    break
                if asked == most - 1 and asked >= 2 and self.search.found is None:
                    step = self.search.surest  # better a generous answer than none
                asked += 1
                point = self._bench.point(self._clip, self._settings, self._settings.encoder.quality(step))
                self.encodes += not point.cached
                self._add(point)
                if (best := self.search.found) is not None:
                    label = self._settings.label(self._settings.encoder.quality(best))
                    tally.set_best(f"{label}: {shown(self._target, self._points[best])}")
        finally:
            tally.plan(asked - _TYPICAL)
        return None if self.search.found is None else self._points[self.search.found]

    def unreachable(self, quality_range: tuple[float, float] | None, most: int) -> UnreachableError:
        nearest = self.search.nearest
        best = None if nearest is None else self._points[nearest]
        encoder, target = self._settings.encoder, self._target
        within = "" if quality_range is None else " with {} {} to {}".format(encoder.knob, *quality_range)
        instead = ""
        if best is not None:
            instead = f": the best is {encoder.knob} {best.quality} with {target.shown(target.figure(best))}"
        goal = f"reach {target} of" if target.kind == "quality" else f"stay under {target} with"
        about = f"{goal} '{self._clip.path}'{within}"
        sentence = f"{encoder.name} can't {about}{instead}"
        if not self.search.done:
            made = "1 encode" if most == 1 else f"{most} encodes"
            sentence = f"{encoder.name} didn't {about} in {made}{instead}; raise max_iterations"
        return UnreachableError(sentence, best=best, points=self.curve)

    def _add(self, point: Point) -> None:
        step = self._settings.encoder.step(point.quality)
        self._points[step] = point
        self.search.add(step, self._target.figure(point))

    def _prior(self) -> Any:
        info, target = self._clip.info, self._target
        width, height = self._settings.size or (info.width, info.height)
        count = float(self._clip.rate) if target.kind == "bitrate" else self._clip.frames
        related = [
            Related(encoder, encoder.step(made.point.quality), target.figure(made.point))
            for made in self._bench.made_of(self._clip)
            if made.size == self._settings.size and (encoder := ENCODERS.get(made.encoder)) is not None
        ]
        return prior_for(
            self._settings.encoder, target, pixels=width * height * count if count else None, related=related
        )
