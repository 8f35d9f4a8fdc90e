"""Notes about a run: what casts doubt on its scores, and how they were computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from acuity.errors import to_give
from acuity.measure.measurement import Measurement
from acuity.models.choose import display_note
from acuity.scoring.report import TINY_ESTIMATE
from acuity.video import notes
from acuity.video.pairs.lone_video import LoneVideo
from acuity.video.pairs.pairing import Pairing

if TYPE_CHECKING:
    from acuity.devices import Decoding, Opened
    from acuity.measure.results import Results
    from acuity.tiny.tiny_model import TinyModel
    from acuity.video.notes import Note

_STILL, _MOST = 97.0, 100.0  # v0.6.1 gives equal pictures from about 97, if nothing moves, to 100
_ADM_SIDE: Final = 32  # samples of a side up to which libvmaf's adm reads beyond the picture

Source: TypeAlias = Pairing | LoneVideo  # where the pictures come from


def explained(pairing: Source, results: Results, models: Sequence[str]) -> Iterator[Note]:
    """The notes of the pairing; one about equal files says why their score is less than 100."""
    lowest = {name: min(results.known(name)) for name in models if results.known(name)}
    short = next((name for name in models if _STILL <= lowest.get(name, 0.0) < _MOST), None)
    for note in pairing.notes:
        if note.code != "identical" or short is None or pairing.options.skip_ref != pairing.options.skip_dis:
            yield note
            continue
        yield notes.warning(
            note.code,
            f"{note.text}. {results.label(short)} gives equal frames less than 100 where little moves, "
            f"{lowest[short]:.2f} at least here, and nothing has moved before the first one",
        )


def remarks(pairing: Source, measurement: Measurement) -> Iterator[Note]:
    labels = [model.label for model in measurement.models]
    if (note := display_note(labels, pairing.width, pairing.height, pairing.aspect)) is not None:
        yield note
    if any(extractor.name == "cambi" for extractor in measurement.extractors):
        depth = pairing.format.depth
        advice = " (VMAF v1 is meant for 10 bit)" if depth < 10 else ""
        yield notes.info(
            "bit-depth-scored",
            f"scored at {depth} bit{advice}: cambi, and VMAF v1 with it, finds more banding in deeper "
            "samples, so compare figures of one depth only",
        )
    small = min(pairing.width, pairing.height) <= _ADM_SIDE
    if small and any(extractor.name == "adm" for extractor in measurement.extractors):
        yield notes.warning(
            "no-counterpart",
            f"the pictures are {pairing.width}x{pairing.height}: with {_ADM_SIDE} columns or rows and fewer, "
            "libvmaf's adm reads memory that isn't the picture's, so the figures of adm here, and of models "
            "that read it, are not libvmaf's",
        )
    for text in measurement.readings:
        yield notes.info("colour-scored", text)


def about_tiny(tiny: TinyModel | None) -> Iterator[Note]:
    """The note about how far a tiny model's score can be trusted, if its sidecar says so."""
    if tiny is not None and tiny.sidecar.limits is not None:
        # Without a reference the estimate looks like a VMAF and is none.
        level = notes.warning if tiny.sidecar.kind == "nr" else notes.info
        yield level(TINY_ESTIMATE, f"{tiny.name}: {tiny.sidecar.limits}")
    if tiny is not None and tiny.presumes_preset:
        yield notes.info(
            "tiny-preset",
            f"{tiny.name} reads the encoder's preset, and takes medium for it where none is given: ",
            to_give("tiny_preset"),
        )


def about_devices(
    opened: Opened, decoding: Decoding, measurement: Measurement, pairing: Source
) -> Iterator[Note]:
    """Notes about devices and decoders that can't be used, or work more slowly than they could."""
    if (declined := opened.declined or measurement.declined) is not None:
        yield notes.info("backend", "computed on the CPU: ", *declined.args)
    for text in opened.notes():
        yield notes.info("kernel-cache", text)
    sides = (pairing.description.get(side) for side in ("reference", "distorted"))
    if decoding.declined is not None and any(side and side.get("codec") for side in sides):
        yield notes.info("decoder", "decoded on the CPU: ", *decoding.declined.args)


def about_figures(results: Results, pairs: int) -> Iterator[Note]:
    yield from subsampling(results.subsample or 1, len(results.frames), pairs)
    if (text := results.steering()) is not None:
        yield notes.warning("steered", f"steered: {text}")
    for name in sorted(results.selective):
        missing = len(results.frames) - len(results.known(name))
        if missing:
            yield notes.warning(
                "not-judged",
                f"{name} has no score of {missing} of {len(results.frames)} frames, which are of one colour "
                "or noise: the score is that of the others",
            )
    for name, which in results.undefined.items():
        frame = results.frames[int(which.argmax())]
        count = int(which.sum())
        more = f" and {count - 1} more" if count > 1 else ""
        yield notes.warning(
            "not-a-number",
            f"{name} of frame {frame}{more} is not a number: it has no answer for these pictures",
        )


def subsampling(step: int, scored: int, pairs: int) -> Iterator[Note]:
    if step > 1:
        yield notes.info(
            "subsampled",
            f"one frame in {step} is scored ({scored} of {pairs}): the frames between, and flaws that are "
            "only there, don't count",
        )
