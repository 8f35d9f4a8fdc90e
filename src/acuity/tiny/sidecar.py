"""The sidecar of a tiny model: MODEL.json beside MODEL.onnx, which says what the graph can't.

Two spellings of several keys are in use, and both are accepted:

    id | name                                   the column of its scores in reports
    kind                                        fr (reads both videos) or nr (reads the distorted one alone)
    features | feature_order                    the features of a rank-2 input, in order
    feature_mean, feature_std | input_mean, input_std   their normalisation, a number for each
    norm_mean, norm_std                         the normalisation of pictures: a number, or one a channel
    input_name | input_names, output_name | output_names   which of the graph's, in order
    codec_aware, encoder_vocab                  the second input of codec-aware models
    sha256, opset | onnx_opset                  of the .onnx file
    limits                                      how far its scores can be trusted: a sentence for reports
    min_width, min_height                       the smallest pictures that it takes
    min_deviation, max_roughness                what a picture must show to be judged: see PictureInput.judges
    license, license_url, notes, quant_mode, …  repeated in reports

Other keys are ignored, unless they are nearly one of these that changes scores: that is a mistyped key.
"""

from __future__ import annotations

import difflib
import math
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from acuity.errors import ModelError
from acuity.models.document import Section, read_document
from acuity.text import note, one_line, quoted, shortened
from acuity.tiny.files import MAX_ABOUT, said_digest

KINDS: Final = ("fr", "nr")
# Kinds of ONNX files that give no score, and what they are.
_OTHER_KINDS: Final = {
    "filter": "a filter, which makes pictures",
    "shot_detector": "a shot detector, which finds cuts",
    "saliency": "a saliency model, which makes maps of where people look",
}
_FACTS: Final = ("license", "license_url", "notes", "quant_mode", "encoder_vocab_version", "version")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}")
# Names that tools give to a model that they convert, with the original's name in them.
_IN_OTHER_NUMBERS: Final = re.compile(
    r"(.+)[._-](?:u?int(?:4|8|16)|q[48]|qdq|quant|quanti[sz]ed|fp16|float16|bf16)", re.IGNORECASE
)
# Keys that change scores, in their spellings, and what they hold.
_NUMBER: Final = (int, float)
_WEIGHTY: Final[tuple[tuple[tuple[str, ...], tuple[type, ...]], ...]] = (
    (("features", "feature_order"), (str,)),
    (("feature_mean", "input_mean"), _NUMBER),
    (("feature_std", "input_std"), _NUMBER),
    (("norm_mean",), _NUMBER),
    (("norm_std",), _NUMBER),
)
_KNOWN: Final = frozenset(key for spellings, _ in _WEIGHTY for key in spellings)
_MOST_NAMES: Final = 4096
_LONGEST_LIMITS: Final = 300  # characters


@dataclass(frozen=True, slots=True)
class Sidecar:
    """The contents of a sidecar; all of them are optional."""

    file: str = ""  # empty: there is none
    digest: str = ""  # the SHA-256 of the sidecar itself
    name: str | None = None
    kind: str | None = None
    sha256: str | None = None
    opset: int | None = None
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    feature_mean: tuple[float, ...] = ()
    feature_std: tuple[float, ...] = ()
    norm_mean: tuple[float, ...] = ()
    norm_std: tuple[float, ...] = ()
    codec_aware: bool | None = None
    vocabulary: tuple[str, ...] | None = None
    min_width: int = 1
    min_height: int = 1
    min_deviation: float = 0.0
    max_roughness: float = math.inf
    limits: str | None = None  # on one line
    facts: dict[str, str] = field(default_factory=dict)  # for reports

    def check_use(self, *, pictures: bool) -> None:
        """Refuse keys that the model would not look at: a picture's for features, and reversed."""
        reads, right = "features", "feature_mean and feature_std"
        if pictures:
            reads, right = "pictures", "norm_mean and norm_std"
        for key in ("features", "feature_mean") if pictures else ("norm_mean",):
            if getattr(self, key):
                raise self.fail(
                    f"it has {key!r}, and the model reads {reads}: leave it out, or normalise by {right}"
                )

    def fail(self, problem: str) -> ModelError:
        return ModelError(f"the sidecar {self.file!r} does not fit its model: {problem}")


def sidecar_path(model: Path) -> Path:
    """The sidecar's path: that of the model, ending in .json."""
    return model.with_suffix(".json")


def read_sidecar(model: Path) -> Sidecar:
    """The sidecar beside a model; an empty one if there is none. Raises ModelError, PathError."""
    path = sidecar_path(model)
    if path.exists():
        return parse_sidecar(read_document(path, MAX_ABOUT, regular=True))
    check_without_sidecar(model)
    return Sidecar()


def check_without_sidecar(model: Path) -> None:
    """Refuse a copy of a model in another precision, or a link to one, that lacks the model's sidecar.

    Without the sidecar's normalisation its scores may be wrong, and with another model's sidecar too.
    """
    whole = _IN_OTHER_NUMBERS.fullmatch(model.stem)
    copied = [model.with_name(f"{whole[1]}.onnx")] if whole else []
    for other in (*copied, Path(os.path.realpath(model))):
        if os.path.exists(theirs := sidecar_path(other)):
            raise ModelError(
                f"'{model}' has no sidecar of its own, and '{theirs}' is that of '{other.name}': copy it to "
                f"'{sidecar_path(model)}', without its sha256, if both read the same; if not, write its own"
            )


def parse_sidecar(document: Section) -> Sidecar:
    """Check the types, lengths and values of a sidecar; raises ModelError with file and key."""
    _check_spelling(document)
    features = _texts(document, "features", "feature_order")
    mean, std = _normalisation(document, ("feature_mean", "input_mean"), ("feature_std", "input_std"))
    for key, numbers in (("feature_mean", mean), ("feature_std", std)):
        if numbers and features and len(numbers) != len(features):
            key = key if document.has(key) else key.replace("feature", "input")
            raise document.fail(
                key, f"it must hold {len(features)} numbers, one a feature, not {len(numbers)}"
            )
    norm_mean, norm_std = _normalisation(document, ("norm_mean",), ("norm_std",))
    limits = document.values.get("limits")
    limits = limits if isinstance(limits, str) else ""
    return Sidecar(
        file=document.file,
        digest=document.sha256,
        name=_name(document),
        kind=document.text("kind") if document.has("kind") else None,
        sha256=said_digest(document) if document.has("sha256") else None,
        opset=_whole(document, "opset", "onnx_opset"),
        inputs=_texts(document, "input_names", "input_name"),
        outputs=_texts(document, "output_names", "output_name"),
        features=features,
        feature_mean=mean,
        feature_std=std,
        norm_mean=norm_mean,
        norm_std=norm_std,
        codec_aware=document.switch("codec_aware") if document.has("codec_aware") else None,
        vocabulary=_texts(document, "encoder_vocab") or None,
        min_width=_whole(document, "min_width") or 1,
        min_height=_whole(document, "min_height") or 1,
        min_deviation=document.number("min_deviation") if document.has("min_deviation") else 0.0,
        max_roughness=document.number("max_roughness") if document.has("max_roughness") else math.inf,
        limits=one_line(shortened(limits.strip(), _LONGEST_LIMITS)) if limits.strip() else None,
        facts={key: note(document.text(key)) for key in _FACTS if isinstance(document.values.get(key), str)},
    )


def _check_spelling(document: Section) -> None:
    """Refuse misspelled keys: those like a key that changes scores, where that key is absent."""
    for spellings, of in _WEIGHTY:
        if any(document.has(key) for key in spellings):
            continue
        for key, value in document.values.items():
            entries = value if isinstance(value, list) and value else [value]
            other = any(isinstance(entry, bool) or not isinstance(entry, of) for entry in entries)
            if key in _KNOWN or isinstance(value, str) or other:
                continue
            plain = re.sub(r"(?<=[a-z])(?=[A-Z])|[ -]", "_", key[:64]).lower()
            if close := difflib.get_close_matches(plain, spellings, n=1, cutoff=0.84):
                raise document.fail(key, f"it is not known, and {close[0]!r} is: correct its spelling")


def check_kind(label: str, kind: str) -> str:
    """The kind, if models of that kind give scores; raises ModelError otherwise."""
    if kind in KINDS:
        return kind
    what = _OTHER_KINDS.get(kind)
    problem = f"is {what}, no model that scores" if what else f"has the unknown kind {quoted(kind)}"
    raise ModelError(f"the model {label!r} {problem}: give one of kind {' or '.join(KINDS)}")


def _present(document: Section, *keys: str) -> str | None:
    """The spelling that is used; refuses two of them that say different things."""
    found = [key for key in keys if document.has(key)]
    if len({repr(document.values[key]) for key in found}) > 1:
        raise document.fail(found[1], f"it says something else than {found[0]!r}: keep one of them")
    return found[0] if found else None


def _texts(document: Section, *keys: str) -> tuple[str, ...]:
    """A list of names; a single string is a list of one."""
    key = _present(document, *keys)
    if key is None:
        return ()
    value = document.values[key]
    names = [value] if isinstance(value, str) else document.texts(key)
    if not 1 <= len(names) <= _MOST_NAMES:
        raise document.fail(key, f"it must hold 1 to {_MOST_NAMES} names, not {len(names)}")
    twice = next((name for name in names if names.count(name) > 1), None) if len(names) < 200 else None
    if twice is not None:
        raise document.fail(key, f"it holds {quoted(twice)} twice")
    return tuple(names)


def _numbers(document: Section, *keys: str) -> tuple[float, ...]:
    """A list of finite numbers; a single number is a list of one."""
    key = _present(document, *keys)
    if key is None:
        return ()
    single = not isinstance(document.values[key], list)
    numbers = [document.number(key)] if single else document.numbers(key)
    if not numbers or not all(map(math.isfinite, numbers)):
        raise document.fail(key, "it must hold finite numbers, at least one")
    return tuple(numbers)


def _normalisation(
    document: Section, means: tuple[str, ...], deviations: tuple[str, ...]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and deviation, which come together or not at all."""
    mean, std = _numbers(document, *means), _numbers(document, *deviations)
    if bool(mean) != bool(std):
        there, lacks = (means, deviations) if mean else (deviations, means)
        key = str(_present(document, *there))
        raise document.fail(key, f"it comes without {lacks[there.index(key)]!r}: give both or none")
    if any(number <= 0 for number in std):
        key = str(_present(document, *deviations))
        raise document.fail(key, "a standard deviation must be greater than 0, because it is divided by")
    return mean, std


def _name(document: Section) -> str | None:
    key = next((key for key in ("id", "name") if document.has(key)), None)
    if key is None or _NAME.fullmatch(name := document.text(key)):
        return None if key is None else name
    raise document.fail(
        key, f"{quoted(name)} cannot name a column: use up to 64 letters, digits, '_', '.', '+' and '-'"
    )


def _whole(document: Section, *keys: str) -> int | None:
    key = _present(document, *keys)
    if key is None:
        return None
    number = document.number(key)
    if not math.isfinite(number) or number != int(number) or number < 1:
        raise document.fail(key, f"{number:g} should be a whole number from 1 on")
    return int(number)
