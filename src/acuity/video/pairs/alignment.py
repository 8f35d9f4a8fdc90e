"""What a pairing does about frames that aren't the same in both videos: refuse, warn, or follow them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

from acuity.errors import PairingError, Remedy, to_set
from acuity.video.alignment.aligner import Aligner
from acuity.video.alignment.faults import Finding
from acuity.video.notes import Note, warning
from acuity.video.pairs.pair_plan import PairPlan
from acuity.video.picture import Picture, Signature

CODE: Final = "alignment"  # of notes
_SHOWN: Final = 8  # frames that a sentence lists as evidence
_REMEMBERED: Final = 800  # signatures of each video: a finding is about the last few hundred
_AT_ONE_PLACE: Final = 3  # decisions; more of them mean that none helps
_FLAT: Final = 1.0  # standard deviation of a signature, in 8-bit steps, that shows anything

Take = Callable[[], Picture | None]
Sentence = tuple[str | Remedy, ...]


def statement(finding: Finding, plan: PairPlan, pair: int) -> str:
    """What was found, and the evidence; `pair` is where the finding's first frame is."""
    ref, dis, lag = plan.ref.name, plan.dis.name, finding.lag
    first = max(pair, -lag)
    last = first + min(finding.frames, _SHOWN) - 1
    matches = f"(frames {first} to {last} match frames {first + lag} to {last + lag} far better)"
    apart = f"{_frames(abs(lag))} {'ahead of' if lag > 0 else 'behind'}"
    match finding.kind:
        case "shift":
            return f"{dis} is {apart} {ref} from frame {pair} on {matches}"
        case "lost":
            return f"{dis} lost {_frames(lag)} at frame {pair} and is {apart} {ref} from there on {matches}"
        case "doubled":
            doubled = f"shows {_frames(-lag)} too many" if lag < -1 else "shows a frame twice"
            return f"{dis} {doubled} at frame {pair} and is {apart} {ref} from there on {matches}"
        case "swapped":
            return f"{dis} shows frames {pair} and {pair + 1} of {ref} in the other order"
        case "frozen":
            end = pair + finding.frames - 1
            return f"{dis} stands still from frame {pair} to {end} while {ref} moves on"
        case "twice":
            return f"{dis} shows every frame of {ref} twice (frames 2n and 2n+1 both match frame n)"
        case "half":
            return f"{dis} has only every second frame of {ref} (frame n matches frame 2n)"
        case "reversed":
            return f"{dis} shows the frames of {ref} backwards (frame n matches frame {finding.frames} - n)"
        case "other":
            return f"{dis} shows other content than {ref} from frame {pair} on (they have nothing in common)"


def _frames(count: int) -> str:
    return "1 frame" if count == 1 else f"{count} frames"


def _refusal(finding: Finding, plan: PairPlan, skips: tuple[int, int], *, bars: bool) -> Sentence:
    said = statement(finding, plan, finding.frame)
    if bars and finding.kind == "other":
        said += ", and one of them has black bars"
        return (
            f"{said}: pass ",
            to_set("crop", "auto"),
            " to compare them without, or ",
            to_set("align", "off"),
        )
    auto, off = to_set("align", "auto"), to_set("align", "off")
    if finding.kind == "shift":
        return f"{said}: pass ", _other_skip(finding.lag, plan, skips), ", or ", auto
    if finding.kind in ("lost", "doubled"):
        return f"{said}: pass ", auto, " to follow it, or ", off, " to compare frame n with frame n"
    return f"{said}: pass ", off, " to compare them all the same"


def _other_skip(lag: int, plan: PairPlan, skips: tuple[int, int]) -> Remedy:
    """The number of frames to skip at the start so that the lag is gone; fewer, if too many are skipped."""
    less = skips[0] + lag * plan.ref.stride
    if lag > 0 or less >= 0:
        return to_set("skip_ref", str(less))
    return to_set("skip_dis", str(skips[1] - lag * plan.dis.stride))


def _signatures(pictures: Iterable[Picture]) -> Iterator[Signature]:
    return (picture.signature for picture in pictures if picture.signature is not None)


class Watch:
    """Looks at the pairs as they are scored; refuses, or adds one warning."""

    def __init__(
        self,
        plan: PairPlan,
        skips: tuple[int, int],
        notes: list[Note],
        *,
        refuse: bool,
        bars: Callable[[], bool] = lambda: False,  # whether one of the videos has black bars
    ) -> None:
        self._bars = bars
        self._plan = plan
        self._skips = skips
        self._notes = notes
        self._refuse = refuse
        self._aligner: Aligner | None = Aligner()

    @property
    def certain(self) -> bool:
        """Whether it will refuse, and only has to see more frames to say why."""
        return self._refuse and self._aligner is not None and self._aligner.certain

    def add(self, ref: Picture, dis: Picture) -> None:
        if self._aligner is not None and ref.signature is not None and dis.signature is not None:
            self._tell(self._aligner.add(ref.signature, dis.signature))

    def end(self, ref: Iterable[Picture] = (), dis: Iterable[Picture] = ()) -> None:
        """Look at the last pairs; `ref` and `dis` are the frames after them, of which one has none."""
        if self._aligner is not None:
            self._tell(self._aligner.end(_signatures(ref), _signatures(dis)))

    def leave(self) -> None:
        """No more pairs are wanted, but the videos go on: what the pairs so far show is a warning."""
        self._refuse = False
        self.end()

    def _tell(self, finding: Finding | None) -> None:
        if finding is None:
            return
        self._aligner = None
        if self._refuse:
            raise PairingError(*_refusal(finding, self._plan, self._skips, bars=self._bars()))
        text = f"{statement(finding, self._plan, finding.frame)}: the scores compare different frames"
        self._notes.append(warning(CODE, text))


@dataclass(frozen=True, slots=True)
class Decision:
    """What was done where the videos were not aligned: frames of one of them are left out before a pair."""

    pair: int
    reason: str
    leave_out_ref: int = 0
    leave_out_dis: int = 0
    statement: str = ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def text(self) -> str:
        for count, which in ((self.leave_out_ref, "reference"), (self.leave_out_dis, "distorted video")):
            if count:
                return f"{self.statement}: {_frames(count)} of the {which} left out before pair {self.pair}"
        return f"{self.statement}: these frames are compared all the same"


class Survey:
    """Reads both videos once, signatures only, and decides which frames are left out so that the rest match.

    The signatures kept are bounded: a finding is followed by going back to its frame, with the rest of the
    videos shifted, and looking on from there.
    """

    def __init__(self, plan: PairPlan) -> None:
        self._plan = plan
        self._ref: _Tape | None = None
        self._dis: _Tape | None = None
        self.decisions: list[Decision] = []
        self.pairs = 0

    def run(self, ref: Take, dis: Take, most: int) -> None:
        """Decide; PairingError where leaving out frames doesn't help. `most` pairs are looked at, 0: all."""
        tapes = self._ref, self._dis = _Tape(ref), _Tape(dis)
        start, skipped = 0, [0, 0]
        self._start_times(tapes, skipped)
        while True:
            finding, pair = self._compare(start, skipped, most)
            if finding is None:
                break
            start = self._decide(finding, pair, skipped)
        self.pairs = pair
        if not pair:
            return  # the pairing says it
        if pair == 1:
            raise PairingError(
                f"only one frame of {self._plan.dis.name} is compared with one of {self._plan.ref.name},"
                " so there is nothing to align: pass ",
                to_set("align", "off"),
            )
        if flat := next((tape for tape in tapes if not tape.seen), None):
            side = self._plan.ref if flat is self._ref else self._plan.dis
            raise PairingError(
                f"{side.name} is all one colour, so its frames cannot be aligned: pass ",
                to_set("align", "off"),
            )

    def _start_times(self, tapes: tuple[_Tape, _Tape], skipped: list[int]) -> None:
        """Begin where the start times say, if that is whole frames and the number of frames fits."""
        ref, dis = self._plan.ref.info, self._plan.dis.info
        if (
            None in (ref.frames, dis.frames)
            or not ref.rate
            or self._plan.ref.stride * self._plan.dis.stride != 1
        ):
            return
        times = [tape.first_time() for tape in tapes]
        if times[0] is None or times[1] is None:
            return
        late = (times[1] - times[0]) * float(ref.rate)
        count = round(late)
        if count and abs(late - count) < 0.05 and (ref.frames or 0) - (dis.frames or 0) == count:
            side = 0 if count > 0 else 1
            skipped[side] = abs(count)
            said = f"{self._plan.dis.name} starts {times[1] - times[0]:.3f} s after {self._plan.ref.name}"
            left = {"leave_out_ref" if count > 0 else "leave_out_dis": abs(count)}
            self.decisions.append(Decision(0, "start", statement=said, **left))

    def _compare(self, start: int, skipped: list[int], most: int) -> tuple[Finding | None, int]:
        """Look on from pair `start`; the finding and its pair, or None and how many pairs there are."""
        assert self._ref is not None
        assert self._dis is not None
        aligner, pair = Aligner(), start
        while not most or pair < most:
            ref, dis = self._ref.at(pair + skipped[0]), self._dis.at(pair + skipped[1])
            if ref is None or dis is None:
                break
            pair += 1
            if (finding := aligner.add(ref, dis)) is not None:
                return finding, start + finding.frame
        rest = (tape.after(pair + left) for tape, left in zip((self._ref, self._dis), skipped, strict=True))
        finding = aligner.end(*([] if most and pair >= most else rest))
        return finding, pair if finding is None else start + finding.frame

    def _decide(self, finding: Finding, pair: int, skipped: list[int]) -> int:
        """Record what is done about a finding; the pair to look on from."""
        said = statement(finding, self._plan, pair)
        if finding.kind == "frozen":  # the frames after it are the right ones again
            self.decisions.append(Decision(pair, finding.kind, statement=said))
            return pair + finding.frames
        at_this = sum(decision.pair == pair for decision in self.decisions)
        if finding.kind not in ("shift", "lost", "doubled") or at_this >= _AT_ONE_PLACE:
            raise PairingError(
                f"{said}, which cannot be put right by leaving out frames: pass ",
                to_set("align", "off"),
                " to compare them all the same",
            )
        ahead = finding.lag > 0
        skipped[0 if ahead else 1] += abs(finding.lag)
        left = {"leave_out_ref" if ahead else "leave_out_dis": abs(finding.lag)}
        self.decisions.append(Decision(pair, finding.kind, statement=said, **left))
        return pair


class _Tape:
    """The last signatures of one video, by frame."""

    def __init__(self, take: Take) -> None:
        self._take = take
        self._first = 0
        self._signatures: list[Signature] = []
        self._time: float | None = None
        self.seen = False  # whether any picture shows something

    def first_time(self) -> float | None:
        """When the first picture is shown."""
        self.at(0)
        return self._time

    def after(self, frame: int) -> Iterator[Signature]:
        """The signatures from a frame on."""
        while (signature := self.at(frame)) is not None:
            yield signature
            frame += 1

    def at(self, frame: int) -> Signature | None:
        """The signature of a frame; None after the last one."""
        while frame >= self._first + len(self._signatures):
            picture = self._take()
            if picture is None or picture.signature is None:
                return None
            if not self._signatures:
                self._time = picture.pts
            self.seen = self.seen or float(picture.signature.std()) > _FLAT
            self._signatures.append(picture.signature)
            if len(self._signatures) > 2 * _REMEMBERED:
                del self._signatures[:_REMEMBERED]
                self._first += _REMEMBERED
        return self._signatures[frame - self._first]
