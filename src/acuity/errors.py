"""The exceptions that Acuity raises on purpose.

A message is one sentence for people: it names the file, the value and the remedy. The remedy is a field of
its own (`Remedy`), so a command prints `--scale force` where Python prints `scale=force`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, Self

from acuity.records import NamedTuple

GEOMETRY: Final = ("width", "height", "pixel_format", "bitdepth")  # the settings that describe raw video


class Remedy(NamedTuple):
    """A change that would settle an error, by the names that acuity.scoring.request has for its settings.

    "set" gives one setting a value, "give" gives the named settings any values, "omit" leaves them out,
    "list" lists the choices for them. As text it is Python's spelling;
    scoring/fronts.py has the others.
    """

    action: Literal["set", "give", "omit", "list"]
    names: tuple[str, ...]
    value: str | bool | None = None  # of "set"
    verb: str = "pass"  # of "give"

    def __str__(self) -> str:
        match self.action:
            case "set":
                number = isinstance(self.value, str) and self.value.removeprefix("-").isdigit()
                return f"{self.names[0]}={self.value if number else repr(self.value)}"
            case "give":
                return f"{self.verb} {listed([f'{name}=' for name in self.names])}"
            case "omit":
                return f"leave out {'the geometry' if self.names == GEOMETRY else listed([*self.names])}"
            case "list":
                return f"run 'acuity {self.names[0]}'"

    def plain(self) -> str:
        """The remedy without Python's quotes, for documents that any program or person may read."""
        return f"{self.names[0]}={self.value}" if self.action == "set" else str(self)

    @classmethod
    def from_document(cls, document: Any) -> Self:
        """The remedy from its JSON list; raises TypeError or ValueError."""
        action, names, value, verb = document
        return cls(action, tuple(names), value, verb)


def to_set(name: str, value: str | bool) -> Remedy:
    return Remedy("set", (name,), value)


def to_give(*names: str, verb: str = "pass") -> Remedy:
    return Remedy("give", names, verb=verb)


def to_omit(*names: str) -> Remedy:
    return Remedy("omit", names)


TO_OMIT_GEOMETRY: Final = Remedy("omit", GEOMETRY)
TO_LIST_MODELS: Final = Remedy("list", ("models",))
TO_LIST_FEATURES: Final = Remedy("list", ("features",))


def listed(names: list[str]) -> str:
    """The names as a sentence lists them: `a, b and c`."""
    return " and ".join(", ".join(names).rsplit(", ", 1))


class AcuityError(Exception):
    """Base of every error Acuity raises on purpose; its arguments are the text and remedies of a sentence."""

    def __str__(self) -> str:
        return self.spelled(str)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def spelled(self, spell: Callable[[Remedy], str]) -> str:
        """The sentence with its remedies as `spell` writes them."""
        return "".join(spell(piece) if isinstance(piece, Remedy) else str(piece) for piece in self.args)


class InputError(AcuityError, ValueError):
    """The video can't be read."""


class FormatError(InputError):
    """Not a video, or not the format it claims to be."""


class TruncatedError(InputError):
    """The file ends in the middle of a frame."""


class NoFramesError(InputError):
    """There is no frame to score."""


class PairingError(AcuityError, ValueError):
    """Reference and distorted can't be compared."""


class ModelError(AcuityError, ValueError):
    """The model is unknown or malformed."""


class FeatureError(AcuityError, ValueError):
    """The extractor or option is unknown or out of range."""


class UnfitPictureError(FeatureError):
    """The pictures are too small, too deep or too grey for an extractor."""


class UnfitOptionError(FeatureError):
    """Each option of an extractor is in range, but its arithmetic can't combine them."""


class NoFilterError(FeatureError):
    """An extractor's option names a width of filters that there are no tables for."""


class NameClashError(FeatureError):
    """Two figures would have the same name in reports."""


class ScoreError(AcuityError, ArithmeticError):
    """A model gave a score that is not a finite number."""


class BackendError(AcuityError, RuntimeError):
    """The requested backend or instruction set is not on this machine."""


class CardMemoryError(BackendError):
    """The card has `free` bytes of memory left, and `wanted` more are needed."""

    def __init__(self, *pieces: Any, wanted: int = 0, free: int = 0) -> None:
        super().__init__(*pieces)
        self.wanted = wanted
        self.free = free


class CardLost(BackendError):
    """The card failed while it computed; this process can't use it any more."""


class PathError(AcuityError, ValueError):
    """The path is outside the folders that a server may read, or is no plain file."""


class SettingsError(AcuityError, ValueError):
    """A setting of a server is invalid; `problems` has a sentence for each, if there are several."""

    def __init__(self, sentence: str, *others: str) -> None:
        super().__init__(sentence)
        self.problems = (sentence, *others)


class MissingExtra(AcuityError, ImportError):
    """The extra that this part of Acuity needs is not installed."""


class JobError(AcuityError, RuntimeError):
    """A job in another process was not completed."""


class JobFailed(JobError):
    """The job failed; the message has the reason."""


class WorkerLost(JobError):
    """The process that did the work crashed, was killed or ran out of memory."""


class JobTimeout(JobError):
    """The job exceeded its time limit."""


class JobCancelled(JobError):
    """The job was cancelled."""


class QueueFull(JobError):
    """The queue of jobs is full."""


class StoreError(JobError):
    """The store of jobs can't be used."""


class NoReport(JobError):
    """The job has no report: it is unknown, unfinished, failed, no score, or its result wasn't kept."""


class EmbeddedError(AcuityError, RuntimeError):
    """An embedded server can't be started, or a steering command can't be carried out."""


class CommandQueueFull(EmbeddedError):
    """Too many commands wait for a frame boundary already; none was sent."""

    code: Final = "VMAF_ERR_MCP_QUEUE_FULL"  # `data.code` for clients


class OutputError(AcuityError, OSError):
    """The report could not be written."""


class TuneError(AcuityError, ValueError):
    """The encode, search or ladder asked for can't be made."""


class EncoderError(TuneError):
    """The encoder is unknown or not on this machine, or it refuses an option."""


class EncodeFailed(TuneError):
    """The encoder failed on the way."""


class UnreachableError(TuneError):
    """The target can't be reached; `best` is the nearest point, `points` are all that were measured."""

    def __init__(self, *pieces: Any, best: Any = None, points: Any = ()) -> None:
        super().__init__(*pieces)
        self.best = best
        self.points = list(points)


class EvaluationError(AcuityError, ValueError):
    """The ratings or the split can't be used to evaluate a model."""


class NarratorError(AcuityError, RuntimeError):
    """The model that describes pictures can't be used, or failed on this one."""


class StrictError(AcuityError):
    """The videos were scored, but with warnings; `report` is the ScoreReport."""

    def __init__(self, report: Any) -> None:
        first, *others = report.warnings
        more = f" (and {len(others)} more)" if others else ""
        super().__init__("scored with a warning: ", *(first.pieces or (first.text,)), more)
        self.report = report

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.report,)


class ResumeError(AcuityError, ValueError):
    """The partial report can't be continued: it is another measurement's, or none."""


class FeedingError(AcuityError, RuntimeError):
    """Frames are fed in a way that would lose some of them."""


class NotReady(AcuityError, LookupError):
    """The answer needs frames that were not fed yet, which is not a failure."""


class ClosedError(AcuityError, RuntimeError):
    """The measurement was flushed or closed, so it takes no more frames."""
