"""Survey: reads both videos before they are scored, and decides which frames are left out."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from acuity.arrays import np
from acuity.errors import PairingError, to_set
from acuity.video.alignment.aligner import Aligner
from acuity.video.alignment.doubts import Doubts
from acuity.video.alignment.faults import Misalignment
from acuity.video.alignment.geometry import Transformation
from acuity.video.alignment.matching import FLAT, correlation
from acuity.video.alignment.path import Frames, Solver
from acuity.video.notes import Note, info, warning
from acuity.video.pairs.alignment import (
    CODE,
    Decision,
    Straight,
    Take,
    brightness_notes,
    frames_in_words,
    other_pictures,
    statement,
    transformed,
)
from acuity.video.pairs.likeness import Brightness, moved, zoomed
from acuity.video.pairs.pair_plan import PairPlan
from acuity.video.picture import Signature

_WHOLE: Final = 0.05  # share of a frame by which a start time may miss a whole number of frames
_STANDS: Final = 0.1  # of the reference's motion: an encode that changes less stands still
_HOLDS: Final = 0.8  # correlation with what it held, at the least: coded pictures of it have 0.98
_MOST_LEFT: Final = 0.25  # frames left out of both videos at most, as a share of the pairs
_FEW_LEFT: Final = 0.05  # the same for videos of one length
_MOST_WITH_TAILS: Final = 1.5  # the same with the frames after the last pair
# How much larger the error is a frame away, where single frames are hard to tell apart.
_BLURRED: Final = 0.45
_MOVES: Final = 0.05  # squared steps from frame to frame that are motion
_ALIKE: Final = 0.4  # correlation of pictures that show the same
_SHOWN: Final = 8  # decisions that notes tell one by one
_HELD: Final = 4  # frames for which pictures are held

Known = Mapping[int, Signature]


class _Match(NamedTuple):
    """A frame of the distorted video and the frame of the reference that it shows."""

    dis: int
    ref: int


_START: Final = _Match(-1, -1)


class Survey:
    """Solves which frames match, over the whole of both videos, in bounded memory.

    The pairs that it decides on pass the test that refuses pairs, as those of any other run do.
    """

    def __init__(self, plan: PairPlan, lengths: tuple[int | None, int | None]) -> None:
        self._plan = plan
        self._solver = Solver(timed=plan.pair_by == "time", gaps=plan.time_slack is not None)
        self._lengths = lengths
        self._starts: tuple[int, ...] = (0,)  # frames of the reference that the other video may begin with
        self._seen = [False, False]  # whether any picture shows something
        self._aligner = Aligner()
        self._began = 0  # the pair that it began with
        self._passed: list[tuple[int, int]] = []  # pairs that it doesn't see: the first, and how many
        self._perhaps: Transformation | None = None  # what may have been done instead of a cut at the start
        self._rest: tuple[int, ...] = (0, 0)  # frames after the last pair, of both videos
        self._detours: list[str] = []  # what is told of pairs that seem to be wrong all the same
        self._doubts = Doubts(plan.dis.name, plan.ref.name)
        self._either = False  # whether frames of the same number pass the test, too
        self._long: list[Decision] = []  # stretches of other pictures
        self._others = ""  # what is told of other pictures among frames that were matched
        self._moves = 0.0  # the reference's usual motion
        self._likeness: list[float] = []  # correlations of every few pairs
        self._brightness = Brightness()
        self.decisions: list[Decision] = []
        self.pairs = 0

    @property
    def notes(self) -> Iterator[Note]:
        """Notes on the decisions, for the report."""
        strange = [done for done in self.decisions if done.reason == "other"]
        usual = [done for done in self.decisions if done.reason != "other"]
        for decision in (*usual[:_SHOWN], *strange[:_SHOWN]):
            yield (warning if decision in self._long else info)(CODE, decision.text)
        if rest := [*usual[_SHOWN:], *strange[_SHOWN:]]:
            left = sum(decision.leave_out_ref + decision.leave_out_dis for decision in rest)
            places = "1 more place like these" if len(rest) == 1 else f"{len(rest)} more places like these"
            text = f"{places}, with {frames_in_words(left)} left out"
            yield info(CODE, f"{text}: the report's alignment.decisions has them all")
        if self._others:
            yield warning(CODE, self._others)
        yield from brightness_notes(self._brightness, self._plan)
        if min(self._rest) > 0:
            text = f"the last {self._rest[0]} and {self._rest[1]} frames of the videos don't match"
            yield warning(CODE, f"{text}: they are not compared")
        elif max(self._rest) > 0:
            yield self._ended()
        for said in self._detours[:_SHOWN]:
            yield warning(CODE, f"{said}: the scores compare different frames")
        if self._perhaps is not None:
            text = f"the pictures of {self._plan.dis.name} may be {self._perhaps} instead of shifted in time"
            yield warning(CODE, f"{text}: compare their edges")
        blurred = self._solver.by_pictures and self._aligner.drift.sharpness < _BLURRED
        hides = self._solver.hides or self._either
        if (self._moves > _MOVES and blurred) or (self.decisions and hides):
            text = "a frame more or less is hard to see at this quality"
            yield warning(CODE, f"{text}: the mean score may be off by a point or two")
        elif said := self._doubts.warning(self.pairs):
            yield warning(CODE, said)

    def _ended(self) -> Note:
        """The note that one video goes on after the last pair: no wonder if the other was late by that."""
        ref_first = self._rest[0] == 0
        first, last = self._plan.sides if ref_first else self._plan.sides[::-1]
        began = next((done for done in self.decisions if done.pair == 0), Decision(0, ""))
        count, late = max(self._rest), began.leave_out_ref if ref_first else began.leave_out_dis
        frames = "frame of {} is" if count == 1 else f"{count} frames of {{}} are"
        text = f"the last {frames.format(last.name)} not compared: {first.name} ended before"
        return (info if late == count else warning)("frame-count", text)

    def run(self, ref: Take, dis: Take, most: int) -> None:
        """Decide on frames; PairingError where leaving some out doesn't help. `most` pairs are read, 0: all.

        Videos of one length, whose frames of the same number pass the test, are compared as they are unless
        few frames are left out of both: what the quality hides must not become a fault.
        """
        straight = Straight(self._solver) if self._plan.pair_by == "index" else None
        try:
            self._run(ref, dis, most, straight)
            left = sum(done.leave_out_ref + done.leave_out_dis for done in self.decisions)
            drifts = max(self._rest) > 0 or left > _FEW_LEFT * self.pairs
            also = straight is not None and (left > 0 or drifts) and straight.holds(most)
            also = also and self._solver.by_pictures
            as_is, self._either = also and drifts, also and not drifts
        except PairingError:
            shows = straight is not None and straight.pairs != 1 and all(self._seen)
            as_is = straight is not None and shows and straight.goes_on(ref, dis, most)
            if not as_is:
                raise
        if straight is not None and as_is:
            self.decisions, self.pairs = [], straight.pairs
            self._doubts = Doubts(self._plan.dis.name, self._plan.ref.name)
            self._rest, self._perhaps, self._detours = (0, 0), None, []
            self._others = other_pictures(straight.aligner, self._plan)
        elif not self.decisions and not self._began:
            self._others = other_pictures(self._aligner, self._plan)
        self._doubts.refuse_doubtful(self.pairs)

    def _run(self, ref: Take, dis: Take, most: int, straight: Straight | None) -> None:
        solver, over = self._solver, [False, False]
        sides, takes = (solver.ref, solver.dis), (ref, dis)
        last = _START
        while not (over[1] and not len(solver.dis)) and not (most and self.pairs >= most):
            for side, wanted in enumerate(solver.wants):
                while not over[side] and len(sides[side]) < wanted:
                    over[side] = not self._read(side, sides[side], takes[side])
            if straight is not None:
                straight.add()
            if last == _START:
                if None in self._lengths and all(over):  # a container that doesn't say it
                    self._lengths = len(solver.ref), len(solver.dis)
                self._starts = self._first_places()
                solver.begin(self._starts, *self._lengths)
            known = [dict(enumerate(side.signatures, side.first)) for side in sides]
            for frame, match, doubt in solver.solve(over=over[1], ends=all(over) and not most):
                if match < 0 or (most and self.pairs >= most):
                    continue
                now = _Match(frame, match)
                if last == _START:
                    self._look_at_geometry(known, now)
                decided = len(self.decisions)
                self._decide(last, now, known[0], known[1])
                self._doubts.add(frame, doubt)
                if solver.cannot_tell(frame):
                    self._doubts.add_untold(frame, fault=len(self.decisions) > decided)
                self._add(known[0][match], known[1][frame])
                last = now
            self._moves = max(self._moves, solver.motion)
        if all(over) and not most:
            self._rest = tuple(
                side.first + len(side) - used - 1 for side, used in zip(sides, last[::-1], strict=True)
            )
        self._check(solver.ref.signatures if all(over) and not most else [])

    def _read(self, side: int, frames: Frames, take: Take) -> bool:
        """Take the next picture of a video; whether there was one."""
        picture = take()
        if picture is None or picture.signature is None:
            return False
        self._seen[side] = self._seen[side] or float(picture.signature.std()) > FLAT
        frames.signatures.append(picture.signature)
        frames.times.append(picture.pts)
        return True

    def _first_places(self) -> tuple[int, ...]:
        """The first frame of the reference, and the one that start times say, if that is whole frames."""
        solver, rate = self._solver, self._plan.ref.info.rate
        if not len(solver.ref) or not len(solver.dis) or not rate:
            return (0,)
        ref, dis = solver.ref.times[0], solver.dis.times[0]
        if ref is None or dis is None or self._plan.ref.stride * self._plan.dis.stride != 1:
            return (0,)
        late = (dis - ref) * float(rate)
        whole = abs(late - round(late)) < _WHOLE and 0 < round(late) < len(solver.ref)
        return (0, round(late)) if whole else (0,)

    def _decide(self, last: _Match, now: _Match, ref: Known, dis: Known) -> None:
        """Record what is done about frames between two matches, of which the other video has none."""
        extra, lost, first = now.dis - last.dis - 1, now.ref - last.ref - 1, last.dis + 1
        repeats = self._repeats(last, now, dis, ref) if lost else 0
        if repeats:
            # Of frames that repeat another one, the last were matched with it: the video stood still.
            repeated = self.decisions.pop().leave_out_dis
            extra, first = extra + repeated, first - repeated - repeats
        instead = min(extra, lost)  # frames shown at the place of others, with which they are compared
        if instead:
            moves = _motion(ref, last.ref - max(repeats - 1, 0), now.ref)
            # A video that stands still shows the last frame that matched or, after a cut, the next one.
            held = [ref[frame] for frame in (last.ref, last.ref + 1) if frame in ref]
            still = _motion(dis, first, now.dis - 1) < _STANDS * moves and any(
                correlation(one, dis[first]) > _HOLDS for one in held
            )
            end = first + instead + repeats - 1
            shown = f"from frame {first} to {end}" if end > first else f"at frame {first}"
            ref_name, dis_name = self._plan.ref.name, self._plan.dis.name
            said = f"{dis_name} shows other pictures than {ref_name} {shown}"
            said = f"{dis_name} stands still {shown} while {ref_name} moves on" if still else said
            done = Decision(self.pairs - repeats, "frozen" if still else "other", statement=said)
            self.decisions.append(done)
            if not still and instead >= _SHOWN:
                self._long.append(done)
            self._passed.append((self.pairs, instead))
            self.pairs += instead
        if extra != lost:
            self._leave_out(last, now, lost=lost - instead, extra=extra - instead)

    def _repeats(self, last: _Match, now: _Match, dis: Known, ref: Known) -> int:
        """How many of the last pairs show a frame whose repeats were just left out; 0: none."""
        done = self.decisions[-1] if self.decisions else None
        if done is None or done.reason != "doubled" or self.pairs - done.pair > _HELD:
            return 0
        repeats = self.pairs - done.pair
        moves = _motion(ref, last.ref - repeats, now.ref)
        first = last.dis - repeats - done.leave_out_dis + 1
        return repeats if repeats == 1 or _motion(dis, first, last.dis) < _STANDS * moves else 0

    def _leave_out(self, last: _Match, now: _Match, *, lost: int, extra: int) -> None:
        ref, dis = self._plan.ref.name, self._plan.dis.name
        shows, count = f"its frame {now.dis} shows frame {now.ref} of {ref}", frames_in_words(lost or extra)
        if last == _START:
            reason = "start" if now.ref in self._starts[1:] else "shift"
            said = f"{dis} is {count} {'ahead of' if lost else 'behind'} {ref} from the start ({shows})"
        else:
            reason = "lost" if lost else "doubled"
            what = f"lost {count}" if lost else f"shows {count} too many"
            said = f"{dis} {what} at frame {now.dis - extra} ({shows}, its frame {last.dis} frame {last.ref})"
        self.decisions.append(Decision(self.pairs, reason, lost, extra, said))

    def _look_at_geometry(self, known: Sequence[Known], first: _Match) -> None:
        """Refuse pictures that were cropped, zoomed or moved, which explains a lag from the start better."""
        lag = first.ref - first.dis
        sides = [[signatures[n] for n in sorted(signatures)] for signatures in known]
        if lag and (found := moved(sides[0], sides[1], lag)) is not None:
            raise transformed(found, self._plan)
        self._perhaps = zoomed(sides[0], sides[1], lag) if lag else None

    def _add(self, ref: Signature, dis: Signature) -> None:
        """Take in a pair, and try it as those of other runs are."""
        if len(self._likeness) * _SHOWN <= self.pairs:
            self._likeness.append(correlation(ref, dis))
        self._brightness.add((ref, dis))
        self.pairs += 1
        if (finding := self._aligner.add(ref, dis)) is not None:
            self._tell(finding)
            self._aligner, self._began = Aligner(), self.pairs  # the frames after it are the right ones again

    def _tell(self, finding: Misalignment) -> None:
        """Refuse what is found in the pairs that were decided on, unless it ends; a freeze is a decision."""
        pair = self._began + finding.frame
        pair += sum(count for at, count in self._passed if self._began <= at <= pair)
        said = statement(finding, self._plan, pair)
        if finding.kind == "frozen":
            self.decisions.append(Decision(pair, "frozen", statement=said))
            self.decisions.sort(key=lambda decision: decision.pair)
            return
        if (found := moved(*self._aligner.drift.recent, finding.lag)) is not None:
            raise transformed(found, self._plan)
        if finding.kind == "detour" and 2 * finding.frames < self.pairs:
            self._detours.append(said)
            return
        left = sum(decision.leave_out_ref + decision.leave_out_dis for decision in self.decisions)
        told = left and finding.kind != "other"
        also = f"also after {frames_in_words(left)} were left out"
        why = also if told else "which cannot be put right by leaving out frames"
        raise PairingError(f"{said}, {why}: pass ", to_set("align", "off"), " to compare them all the same")

    def _check(self, rest: Sequence[Signature]) -> None:
        """Look at the whole once more; `rest` follows the last pair in the reference."""
        if not self.pairs:
            return  # the pairing says it
        ref, dis = self._plan.ref.name, self._plan.dis.name
        off = to_set("align", "off")
        if self.pairs == 1:
            only = f"only one frame of {dis} is compared with one of {ref}"
            raise PairingError(f"{only}, so there is nothing to align: pass ", off)
        for seen, name in zip(self._seen, (ref, dis), strict=True):
            if not seen:
                raise PairingError(
                    f"{name} shows next to nothing, so its frames cannot be aligned: pass ", off
                )
        if (finding := self._aligner.end(rest, ())) is not None:
            self._tell(finding)
        if self._likeness and float(np.mean(self._likeness)) < _ALIKE:
            self._tell(Misalignment("other", 0, 0, self.pairs))
        left = [sum(getattr(done, f"leave_out_{side}") for done in self.decisions) for side in ("ref", "dis")]
        with_tails = [count + rest for count, rest in zip(left, self._rest, strict=True)]
        if min(left) > _MOST_LEFT * self.pairs or min(with_tails) > _MOST_WITH_TAILS * self.pairs:
            raise PairingError(
                f"only {frames_in_words(self.pairs)} of {dis} match frames of {ref} in their order, so"
                " nothing is gained by leaving out others: pass ",
                off,
                " to compare them all the same",
            )
        # Times say nothing of frames that end after the reference does: some before them are too many.
        too_many = self._rest[1] > 0 and self._solver.hidden
        self._doubts.refuse_untold(self.pairs, ends_apart=max(self._rest) > 0, too_many=too_many)


def _motion(signatures: Known, first: int, last: int) -> float:
    """The mean squared change from frame to frame, of those that are known."""
    known = [signatures[frame] for frame in range(first, last + 1) if frame in signatures]
    changes = [float(np.square(after - before).mean()) for before, after in itertools.pairwise(known)]
    return sum(changes) / max(len(changes), 1)
