"""The task that lets another `vmaf` binary score a pair of videos, and reads the report it writes.

Raw files are opened here and handed over as descriptors, so the binary reads what was checked, whatever
happens to the paths meanwhile. Videos that say their own geometry are decoded and paired here, as for
Acuity's own engine, and reach the binary as raw samples through pipes. The report comes back through a pipe
too: there is no file to leave behind. The binary stays in the worker's process group, which is ended as a
whole on cancellation and at the time limit.

Acuity's own engine makes its summary from exact figures; that of another binary's report is made here from
the figures in the report.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, fields, replace
from operator import itemgetter
from typing import IO, Any, Final, Self

import numpy as np

from acuity.devices import BACKENDS
from acuity.errors import AcuityError, BackendError, InputError, JobFailed
from acuity.foreign_json import parse_json
from acuity.jobs.progress import Pace
from acuity.measure.pooling import POOLS, pool
from acuity.models.choose import AUTO, choose, display_note, first_mismatch
from acuity.models.spec import parse_spec
from acuity.scoring.presets import PRESETS
from acuity.scoring.report import PERCENTILES
from acuity.scoring.request import Request
from acuity.video.local_file import open_local
from longwire.work import Progress

UNKNOWN: Final = "unknown"
_ON_A_GPU: Final = tuple(f"_{name}" for name in BACKENDS[1:])
Report = Callable[[Progress], None]

_MOST_REPORT: Final = 512 << 20  # bytes
_MOST_STDERR: Final = 2000  # the last characters, which an error repeats
_CHUNK: Final = 1 << 16
# What C prints for numbers that JSON doesn't have; strings are matched too, to be left alone.
_NO_NUMBER: Final = re.compile(r'("(?:[^"\\]|\\.)*")|-?\b(?:nan|inf(?:inity)?)\b', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ExternalPayload:
    """The binary's work as plain values; `options` are those without a field of their own."""

    binary: str
    request: Request  # without the presets' models and features, and one model at most; raw if it has a width
    options: list[str]
    presets: dict[str, str] = field(default_factory=dict)  # family and version of test conditions
    backend_used: str | None = None  # if it is known in advance
    echo: dict[str, Any] = field(default_factory=dict)  # entries of the document known in advance

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        return cls(**{**document, "request": Request.from_document(document["request"])})

    def to_document(self) -> dict[str, Any]:
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {**values, "request": self.request.to_document()}

    @property
    def models(self) -> list[str]:
        """The models asked for besides those of presets, as `vmaf --model` takes them, or 'auto'."""
        return [str(model) for model in self.request.models]


def run(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Score, and return the binary's JSON report with the summary and notes."""
    wanted = ExternalPayload.from_document(payload)
    if (width := wanted.request.width) is not None and (height := wanted.request.height) is not None:
        wanted = _with_model(wanted, width, height)
        return _document(wanted, width, height, _score_files(wanted, report))
    return _score_decoded(wanted, report)


def _with_model(wanted: ExternalPayload, width: int, height: int) -> ExternalPayload:
    """The payload with 'auto' replaced by its model."""
    chosen = f"version={choose(width, height, None).model}"
    models = [chosen if model == AUTO else model for model in wanted.models]
    return replace(wanted, request=replace(wanted.request, models=models))


def _document(
    wanted: ExternalPayload, width: int, height: int, scored: dict[str, Any], **more: Any
) -> dict[str, Any]:
    """The binary's report with the summary and notes."""
    presets = [PRESETS[family][version] for family, version in wanted.presets.items()]
    models = [*wanted.models, *(model for preset in presets for model in preset.models)]
    features = [*wanted.request.features, *(feature for preset in presets for feature in preset.features)]
    predict = wanted.request.predict
    used = wanted.backend_used or label_backend(scored, models, features, predict=predict)
    specs = [parse_spec(model) for model in models] if predict else []
    document = {
        **summarize(scored, {spec.name: spec.label for spec in specs}),
        **scored,
        **more,
        "backend_requested": wanted.request.backend,
        "backend_used": used,
        **wanted.echo,
    }
    warning = first_mismatch(models, width, height) if predict else None
    return document if warning is None else {**document, "mismatched_model_warning": warning}


def score_opened(
    binary: str,
    inputs: tuple[int, int],
    arguments: Sequence[str],
    others: Sequence[int] = (),
    feed: Callable[[], None] | None = None,
) -> dict[str, Any]:
    """The JSON report that a binary makes of two open files, the reference first; raises AcuityError.

    `arguments` are all but input and output; `others` are further open files that they name. Where the inputs
    are pipes, `feed` writes to them once the binary runs.
    """
    ours, theirs = os.pipe()
    with os.fdopen(ours, "rb", buffering=0) as output:
        command = [
            *(binary, "-r", _shared(inputs[0]), "-d", _shared(inputs[1])),
            *arguments,
            *("-q", "--json", "-o", _shared(theirs)),
        ]
        try:
            child = _start(command, [*inputs, *others, theirs])
        finally:
            os.close(theirs)  # otherwise the pipe would never end
        return _parsed(_finish(child, output, feed))


def _score_files(wanted: ExternalPayload, report: Report) -> dict[str, Any]:
    """Open both raw files and run the binary on them."""
    report(Progress(0.0, 1.0, f"{wanted.binary} is scoring; it does not say how far it is"))
    request = wanted.request
    geometry = [
        *("--width", str(request.width), "--height", str(request.height)),
        *("-p", str(request.pixel_format), "-b", str(request.bitdepth)),
    ]
    with contextlib.ExitStack() as stack:
        reference, distorted = (
            stack.enter_context(_opened(str(path))) for path in (request.reference, request.distorted)
        )
        options, others = _arguments(wanted, stack)
        found = score_opened(wanted.binary, (reference, distorted), [*geometry, *options], others)
    report(Progress(1.0, 1.0, f"{wanted.binary} has finished"))
    return found


def _score_decoded(wanted: ExternalPayload, report: Report) -> dict[str, Any]:
    """Decode both videos, pair them by the usual rules, and let the binary score the pairs."""
    from acuity.jobs.tasks.picture_pipes import PicturePipes, raw_options
    from acuity.scoring.run_notes import subsampling
    from acuity.video.pairs.open_pair import open_pair
    from acuity.video.pairs.pairing import pair_videos

    request = wanted.request
    readers = open_pair(*request.pair, request.geometry, request.opening)
    with contextlib.ExitStack() as stack:
        pairing = stack.enter_context(pair_videos(*readers, options=request.pairing))
        geometry = raw_options(pairing)
        wanted = _with_model(wanted, pairing.width, pairing.height)
        options, others = _arguments(wanted, stack)
        pipes = stack.enter_context(contextlib.closing(PicturePipes()))
        pace = Pace()

        def tell(done: int) -> None:
            report(pace.progress(done, pairing.length, None))

        tell(0)
        scored = score_opened(
            wanted.binary, pipes.inputs, [*geometry, *options], others, feed=lambda: pipes.feed(pairing, tell)
        )
        tell(pairing.description["pairs"])
        labels = [parse_spec(model).label for model in wanted.models] if wanted.request.predict else []
        shown = display_note(labels, pairing.width, pairing.height, pairing.aspect)
        skipping = subsampling(request.subsample, len(scored["frames"]), pairing.pairs)
        notes = [*pairing.notes, *([] if shown is None else [shown]), *skipping]
        about = {
            "width": pairing.width,
            "height": pairing.height,
            "bitdepth": pairing.format.depth,
            "frames": len(scored["frames"]),
            "input": pairing.description,
            "subsample": request.subsample,
            "notes": [note.to_dict() for note in notes],
        }
    return _document(wanted, pairing.width, pairing.height, scored, acuity=about)


def _arguments(wanted: ExternalPayload, stack: contextlib.ExitStack) -> tuple[list[str], list[int]]:
    """Options for all but the geometry, and the open files that they name; the stack closes those."""
    options, others = list(wanted.options), []
    for feature in wanted.request.features:
        options += ["--feature", feature]
    for family, version in wanted.presets.items():
        options += [f"--{family}", version]
    for model in wanted.models:
        spec = parse_spec(model)
        if spec.path is not None:
            others.append(stack.enter_context(_opened(spec.path)))
            spec = replace(spec, path=_shared(others[-1]))
        options += ["-m", spec.to_text()]
    return options, others


@contextlib.contextmanager
def _opened(path: str) -> Iterator[int]:
    try:
        descriptor = open_local(path)
    except AcuityError:
        raise  # PathError is a ValueError too
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"cannot open '{path}': {reason}") from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _shared(descriptor: int) -> str:
    return f"/dev/fd/{descriptor}"


def _start(command: list[str], descriptors: list[int]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=descriptors,
        )
    except OSError as error:
        raise BackendError(
            f"the vmaf binary {command[0]} can't be run: {error.strerror}; set VMAF_BIN"
        ) from error


def _finish(child: subprocess.Popen[bytes], output: IO[bytes], feed: Callable[[], None] | None) -> bytes:
    """Feed the binary, and read its output until it ends, so that it never blocks on a full pipe."""
    assert child.stderr is not None
    complaints, report = bytearray(), bytearray()

    def listen(stream: IO[bytes]) -> None:
        """Keep the end of what it says."""
        while chunk := stream.read(_CHUNK):
            complaints.extend(chunk)
            del complaints[: -4 * _MOST_STDERR]

    def take(stream: IO[bytes]) -> None:
        """Keep all of its report; end it if it writes too much."""
        while (chunk := stream.read(_CHUNK)) and len(report) <= _MOST_REPORT:
            report.extend(chunk)
            if len(report) > _MOST_REPORT:
                child.kill()

    with child, ThreadPoolExecutor(2) as threads:
        reading = [threads.submit(listen, child.stderr), threads.submit(take, output)]
        try:
            if feed is not None:
                feed()
        except BaseException:
            child.kill()
            raise
        wait(reading)
        code = child.wait()
    if len(report) > _MOST_REPORT:
        raise JobFailed(f"the report is longer than {_MOST_REPORT >> 20} MB: score fewer frames at once")
    if code != 0:
        said = " ".join(complaints.decode("utf-8", "replace").split())[-_MOST_STDERR:]
        raise JobFailed(f"vmaf exited {code}: {said or 'it said nothing'}")
    return bytes(report)


def _parsed(written: bytes) -> dict[str, Any]:
    text = written.decode("utf-8", "replace")
    try:
        try:
            document = parse_json(text, parse_constant=lambda _: None)
        except ValueError:
            document = parse_json(_NO_NUMBER.sub(lambda found: found[1] or "null", text))
    except ValueError as error:
        raise JobFailed(f"vmaf ended well but wrote no JSON report: {error}") from error
    if not isinstance(document, dict) or not all(
        isinstance(document.get(key), kind) for key, kind in (("frames", list), ("pooled_metrics", dict))
    ):
        raise JobFailed("vmaf ended well but its JSON is no report: set VMAF_BIN to a vmaf binary")
    return {"version": "unknown", **document}


# ---- which backend computed a report -------------------------------------------------------------
# A binary may name it in the report. Otherwise its features may show it: their names end in a backend's name,
# or there are fewer of them than libvmaf's CPU path prints for the same models, as with its GPU extractors.
# That is no proof, so the label is then 'cpu' or 'gpu' and never the name of one GPU backend.


def label_backend(
    document: Mapping[str, Any], models: Sequence[str], features: Sequence[str], *, predict: bool = True
) -> str:
    """The backend that the report names, else 'cpu' or 'gpu', else 'unknown'."""
    if isinstance(said := document.get("backend_used"), str):
        return said
    table = document.get("feature_backends")
    named = [one for one in table.values() if isinstance(one, str)] if isinstance(table, dict) else []
    if named:
        others = {*named} - {"cpu"}
        return "cpu" if not others else others.pop() if len(others) == 1 else "gpu"
    frames = document.get("frames")
    metrics = frames[0].get("metrics") if frames and isinstance(frames[0], dict) else None
    if not isinstance(metrics, dict) or not metrics:
        return UNKNOWN
    if any(name.endswith(_ON_A_GPU) for name in metrics):
        return "gpu"
    try:
        expected = _figures_of_the_cpu(models, features, predict=predict)
    except AcuityError:
        return UNKNOWN
    return "cpu" if len(metrics) >= len(expected) else "gpu"


def _figures_of_the_cpu(models: Sequence[str], features: Sequence[str], *, predict: bool) -> list[str]:
    """The names of the features and scores in a report of the CPU path."""
    from acuity.measure import Measurement
    from acuity.models import load_model

    with Measurement(1) as measurement:
        for model in map(load_model, models):
            if predict:
                measurement.add_model(model)
            for name, options in () if predict else model.extractors():
                measurement.add_feature(name, options)
        for feature in features:
            measurement.add_feature(feature)
        scores = [name for model in measurement.models for name in model.output_names()]
        return [*measurement.features, *scores]


_WORST: Final = 5  # frames
_DECIMALS: Final = 10  # digits beyond these are noise from interpolating between printed figures


def summarize(report: Mapping[str, Any], models: Mapping[str, str | None]) -> dict[str, Any]:
    """`score`, `model`, `models` and `worst`, as `acuity score --json` has them.

    `models` names the columns that are scores, each with the version or path of its model.
    """
    columns = {name: scores for name in models if (scores := _scores(report, name))}
    first = next(iter(columns), None)
    figures = [
        {"name": name, "label": models[name], **_figures(scores, report["pooled_metrics"].get(name) or {})}
        for name, scores in columns.items()
    ]
    return {
        "score": figures[0]["mean"] if figures else None,
        "model": models[first] if first is not None else None,
        "models": figures,
        "worst": [
            {"frame": frame, "time": None, "score": score}
            for frame, score in sorted(columns.get(first or "", {}).items(), key=itemgetter(1))[:_WORST]
        ],
    }


def _scores(report: Mapping[str, Any], name: str) -> dict[int, float]:
    """The score of each frame that has one."""
    rows = ((row["frameNum"], row["metrics"].get(name)) for row in report["frames"])
    return {frame: float(score) for frame, score in rows if score is not None}


def _figures(scores: Mapping[int, float], pooled: Mapping[str, float | None]) -> dict[str, Any]:
    """The pooled figures of the report, and percentiles."""
    values = np.array([*scores.values()], np.float64)
    return {
        **{method: pooled.get(method, round(pool(values, method), _DECIMALS)) for method in POOLS},
        "percentiles": {f"p{p}": round(pool(values, ("percentile", p)), _DECIMALS) for p in PERCENTILES},
    }
