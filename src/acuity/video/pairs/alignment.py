"""Deals with frames that aren't the same in both videos: refuses them, warns of them, or follows them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from acuity.errors import PairingError, Remedy, to_set
from acuity.records import NamedTuple
from acuity.video.alignment.aligner import Aligner
from acuity.video.alignment.faults import Kind, Misalignment
from acuity.video.notes import Note, warning
from acuity.video.pairs.glimpse import Glimpse
from acuity.video.pairs.likeness import LIKELY, Brightness, Likeness, moved, relit, zoomed
from acuity.video.pairs.pair_plan import PairPlan
from acuity.video.picture import AnySignature, Picture

if TYPE_CHECKING:
    from acuity.video.alignment.geometry import Transformation
    from acuity.video.alignment.path import Solver

CODE: Final = "alignment"  # of notes
GEOMETRY: Final = "geometry"  # likewise
_SHORT: Final = ("detour", "frozen")  # faults that the frames after them don't have
_SHOWN: Final = 8  # frames that a sentence lists as evidence
_MOST_AWAY: Final = 0.8  # longest detour, as a share of the pairs; moved pictures look like a longer one

_SAID: Final[dict[Kind, str]] = {
    "shift": "{dis} is {apart} {ref} from frame {pair} on {matches}",
    "lost": "{dis} lost {count} at frame {pair} and is {apart} {ref} from there on {matches}",
    "doubled": "{dis} shows {again} at frame {pair} and is {apart} {ref} from there on {matches}",
    "detour": "{dis} is {apart} {ref} from frame {pair} to {end} {matches}",
    "swapped": "{dis} shows frames {pair} and {next} of {ref} in the other order",
    "frozen": "{dis} stands still from frame {pair} to {end} while {ref} moves on",
    "twice": "{dis} shows every frame of {ref} twice (frames 2n and 2n+1 both match frame n)",
    "half": "{dis} has only every second frame of {ref} (frame n matches frame 2n)",
    "reversed": "{dis} shows the frames of {ref} backwards (frame n matches frame {frames} - n)",
    "other": "{dis} shows other content than {ref} from frame {pair} on (they have nothing in common)",
}

Sentence = tuple[str | Remedy, ...]


def statement(finding: Misalignment, plan: PairPlan, pair: int) -> str:
    """The sentence about a finding, with the evidence; `pair` is the pair of its first frame."""
    lag, first = finding.lag, max(pair, -finding.lag)
    last = first + min(finding.frames, _SHOWN) - 1
    count = frames_in_words(abs(lag))
    return _SAID[finding.kind].format(
        ref=plan.ref.name,
        dis=plan.dis.name,
        pair=pair,
        next=pair + 1,
        end=pair + finding.frames - 1,
        frames=finding.frames,
        count=count,
        again=f"{count} too many" if lag < -1 else "a frame twice",
        apart=f"{count} {'ahead of' if lag > 0 else 'behind'}",
        matches=f"(frames {first} to {last} match frames {first + lag} to {last + lag} far better)",
    )


def frames_in_words(count: int) -> str:
    """'1 frame', '2 frames'."""
    return "1 frame" if count == 1 else f"{count} frames"


class Decision(NamedTuple):
    """A decision where the videos were not aligned: which frames are left out before a pair."""

    pair: int
    reason: str
    leave_out_ref: int = 0
    leave_out_dis: int = 0
    statement: str = ""

    def to_dict(self) -> dict[str, Any]:
        return self._asdict()

    @property
    def text(self) -> str:
        for count, which in ((self.leave_out_ref, "reference"), (self.leave_out_dis, "distorted video")):
            if count:
                left = frames_in_words(count)
                return f"{self.statement}: {left} of the {which} left out before pair {self.pair}"
        return f"{self.statement}: these frames are compared all the same"


def _refusal(
    finding: Misalignment,
    plan: PairPlan,
    skips: tuple[int, int],
    perhaps: Transformation | None,
    *,
    bars: bool,
) -> Sentence:
    said = statement(finding, plan, finding.frame)
    auto, off = to_set("align", "auto"), to_set("align", "off")
    if perhaps is not None:
        said += f", unless its pictures are {perhaps}"
    if bars and finding.kind == "other":
        said += ", and one of them has black bars"
        return f"{said}: pass ", to_set("crop", "auto"), " to compare them without, or ", off
    if finding.kind == "shift":
        return f"{said}: pass ", _other_skip(finding.lag, plan, skips), ", or ", auto
    if finding.kind in ("lost", "doubled", "detour", "twice", "half"):
        return f"{said}: pass ", auto, " to follow it, or ", off, " to compare frame n with frame n"
    return f"{said}: pass ", off, " to compare them all the same"


def _other_skip(lag: int, plan: PairPlan, skips: tuple[int, int]) -> Remedy:
    """The number of frames to skip at the start so that the lag is gone; fewer, if too many are skipped."""
    less = skips[0] + lag * plan.ref.stride
    if lag > 0 or less >= 0:
        return to_set("skip_ref", str(less))
    return to_set("skip_dis", str(skips[1] - lag * plan.dis.stride))


def _signatures(pictures: Iterable[Picture]) -> Iterator[AnySignature]:
    return (picture.signed for picture in pictures if picture.signed is not None)


def other_pictures(aligner: Aligner, plan: PairPlan) -> str:
    """The sentence about stretches of pairs that show different things; '' if there are none, or most do."""
    found = [(first, last) for first, last in aligner.unlike if last - first + 1 >= _SHOWN]
    if not found or 2 * sum(last - first + 1 for first, last in found) >= aligner.pairs:
        return ""
    where = ", ".join(f"{first} to {last}" for first, last in found)
    text = f"frames {where} of {plan.dis.name} show other pictures than {plan.ref.name}"
    return f"{text}: they are compared all the same"


def transformed(found: Transformation, plan: PairPlan) -> PairingError:
    """The refusal of pictures that were moved, zoomed, turned or flipped."""
    said = f"{plan.dis.name} shows the pictures of {plan.ref.name} {found}: undo that first, or pass "
    return PairingError(said, to_set("align", "off"), " to compare them all the same")


def brightness_notes(brightness: Brightness, plan: PairPlan) -> Iterator[Note]:
    """The warning that one video is brighter than the other, if it is clearly."""
    if (how := brightness.difference()) is not None:
        text = f"{plan.dis.name} is {how} than {plan.ref.name}"
        yield warning("brightness", f"{text}: models count that more or less")


class Watch:
    """Looks at the pairs as they are scored; refuses, or adds one warning.

    After `align=auto` pictures come without signatures: then it only checks which part they show.
    """

    def __init__(
        self,
        plan: PairPlan,
        skips: tuple[int, int],
        notes: list[Note],
        *,
        refuse: bool,
        bars: Callable[[], bool],  # whether one of the videos has black bars
    ) -> None:
        self._bars = bars
        self._plan = plan
        self._skips = skips
        self._notes = notes
        self._refuse = refuse
        self._aligner: Aligner | None = Aligner()
        self._likeness, self._brightness = Likeness(), Brightness()
        self._moved: Transformation | None = None  # how some pictures seem to be moved
        self.scored: int | None = None  # pairs, if those after them are only looked at

    @property
    def certain(self) -> bool:
        """Whether it will refuse, and only has to see more frames to say why."""
        return self._refuse and self._aligner is not None and self._aligner.certain

    def add(self, ref: Glimpse, dis: Glimpse) -> None:
        found = self._likeness.look(ref, dis)
        pair = None if ref.signed is None or dis.signed is None else (ref.signed, dis.signed)
        self._brightness.add(pair)
        if found is not None and found.flip and self._aligner is not None:
            self._tell_transformed(found)
        # A pan that is a frame late looks like a picture that was moved: it is told when time isn't to blame.
        self._moved = self._moved or found
        if self._aligner is not None and pair is not None:
            self._tell(self._aligner.add(*pair))

    def end(self, ref: Iterable[Picture] = (), dis: Iterable[Picture] = ()) -> None:
        """Look at the last pairs; `ref` and `dis` are the frames after them, of which one has none."""
        if self._aligner is not None:
            found = self._aligner.end(_signatures(ref), _signatures(dis))
            share = 0.0 if found is None else found.frames / max(self._aligner.pairs, 1)
            if found is not None and found.kind in _SHORT and share < 0.5:
                self._refuse = False  # all pairs are scored, and most are right
            elif found is not None and found.kind == "detour" and share > _MOST_AWAY:
                found = None  # a lag of all pairs is told otherwise
            self._tell(found)
        if self._aligner is None:
            return
        aligner, self._aligner = self._aligner, None
        if self._moved is not None:
            self._tell_transformed(self._moved)
        elif others := other_pictures(aligner, self._plan):
            self._notes.append(warning(CODE, others))
        else:
            self._notes.extend(brightness_notes(self._brightness, self._plan))

    def leave(self, waiting: Iterable[tuple[Glimpse, Glimpse]] = ()) -> None:
        """Warn of what the pairs so far show, after those that it hasn't seen yet: no more are wanted, though
        the videos go on.
        """
        self._refuse = False
        for ref, dis in waiting:
            self.add(ref, dis)
        self.end()

    def _tell(self, finding: Misalignment | None) -> None:
        if finding is None or self._aligner is None:
            return
        recent, self._aligner, lag = self._aligner.drift.recent, None, finding.lag
        if self.scored is not None and finding.frame >= self.scored:
            return
        if finding.kind in ("shift", "lost", "doubled", "detour", "other"):
            found = moved(*self._likeness.recent, lag, least=LIKELY) or moved(*recent, lag)
            if found is not None:
                self._tell_transformed(found)
                return
            if lag and (how := relit(*recent, lag)) is not None:
                text = f"beside {self._plan.ref.name}, {self._plan.dis.name} has {how}"
                self._notes.append(warning("brightness", f"{text}: models count that more or less"))
                return
        if self._refuse:
            perhaps = (zoomed(*self._likeness.recent, lag) or zoomed(*recent, lag)) if lag else None
            raise PairingError(*_refusal(finding, self._plan, self._skips, perhaps, bars=self._bars()))
        said = f"{statement(finding, self._plan, finding.frame)}: the scores compare different frames"
        follow = ("; pass ", to_set("align", "auto"), " to follow it") if finding.kind == "detour" else ()
        self._notes.append(warning(CODE, said, *follow))

    def _tell_transformed(self, found: Transformation) -> None:
        """Say what was done to the pictures; those that are flipped or turned are refused."""
        self._aligner = None
        if self._refuse and found.flip:
            raise transformed(found, self._plan)
        said = f"{self._plan.dis.name} shows the pictures of {self._plan.ref.name} {found}"
        self._notes.append(warning(GEOMETRY, f"{said}: the score is that of pictures that don't coincide"))


Take = Callable[[], Picture | None]


class Straight:
    """Tries frames of the same number as pairs, beside what is solved: videos may be compared as they are."""

    def __init__(self, solver: Solver) -> None:
        self._solver = solver
        self.aligner = Aligner()
        self._found = False  # whether they were found not to match
        self.pairs = 0

    def add(self) -> None:
        """Take in the frames that both videos have now."""
        ref, dis = self._solver.ref, self._solver.dis
        if self.pairs < max(ref.first, dis.first):  # the videos are too far apart
            self._found = True
        while not self._found and self.pairs < min(ref.first + len(ref), dis.first + len(dis)):
            self._pair(ref.signatures[self.pairs - ref.first], dis.signatures[self.pairs - dis.first])

    def goes_on(self, ref: Take, dis: Take, most: int) -> bool:
        """Whether they pass the test to the end, where nothing else can be decided."""
        solver = self._solver
        if self._found or solver.foreign or self.pairs < max(solver.ref.first, solver.dis.first):
            return False
        sides = tuple(
            itertools.chain(side.signatures[self.pairs - side.first :], _signatures(iter(take, None)))
            for side, take in ((solver.ref, ref), (solver.dis, dis))
        )
        for one, other in itertools.zip_longest(*sides):
            if most and self.pairs >= most:
                break
            if one is None or other is None:
                return False
            self._pair(one, other)
        return self._passes()

    def holds(self, most: int) -> bool:
        """Whether both videos have the same number of frames, and these pass the test."""
        ends = [side.first + len(side) for side in (self._solver.ref, self._solver.dis)]
        same = ends[0] == ends[1] == self.pairs or bool(most)
        return same and self._solver.straight and not self._solver.foreign and self._passes()

    def _passes(self) -> bool:
        found = None if self._found else self.aligner.end()
        return not self._found and (found is None or found.kind == "frozen")

    def _pair(self, ref: AnySignature, dis: AnySignature) -> None:
        self.pairs += 1
        self._found = self.aligner.add(ref, dis) is not None or self._found
