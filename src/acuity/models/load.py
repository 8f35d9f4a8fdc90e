"""Loads a model file as a Model or a ModelCollection, and checks everything that prediction relies on."""

from __future__ import annotations

import itertools

from acuity.errors import ModelError, to_give
from acuity.features.options import WRITING
from acuity.models.document import Section, read_document
from acuity.models.inputs import ModelFeature, OptionValue, apply_overrides
from acuity.models.model import (
    ChromaCorrection,
    LinearRescale,
    Model,
    ModelCollection,
    ScoreClip,
    ScoreTransform,
    member_name,
)
from acuity.models.sources import model_path, variant_options
from acuity.models.spec import ModelSpec, parse_spec
from acuity.models.svm import parse_libsvm
from acuity.records import NamedTuple
from acuity.text import quoted, shortened

MAX_FEATURES = 64  # as in libvmaf
MAX_KNOTS = 1000  # libvmaf allows 10; each one costs time at every score
MAX_MEMBERS = 1000  # of a collection; libvmaf's have 20
_BOOTSTRAP_KINDS = ("BOOTSTRAP_LIBSVMNUSVR", "RESIDUEBOOTSTRAP_LIBSVMNUSVR")
_KINDS = ("LIBSVMNUSVR", *_BOOTSTRAP_KINDS)
_CHROMA_FEATURE, _LUMA_FEATURE = "speed_chroma", "adm3"


class _Request(NamedTuple):
    """The settings that all models of a file share."""

    spec: ModelSpec
    path: str
    ignored: list[str] | None


def load_model(spec: ModelSpec | str, ignored: list[str] | None = None) -> Model | ModelCollection:
    """Load the model of a spec, a name or a path; raises ModelError.

    Options that the model can't use are refused, or added to `ignored` if that is a list.
    """
    if isinstance(spec, str):
        spec = parse_spec(spec)
    if spec.label.endswith(".onnx"):
        raise ModelError(
            f"{quoted(spec.label)} is a tiny model (ONNX), not a VMAF model: ",
            to_give("tiny_model", verb="name it with"),
        )
    changes = spec.changes
    path = str(spec.path) if spec.path is not None else model_path(str(spec.version))
    if spec.version is not None and (own := variant_options(spec.version, path)):
        given = spec.overrides
        merged = {e: {**own.get(e, {}), **given.get(e, {})} for e in dict.fromkeys((*own, *given))}
        spec = spec.changed(overrides=merged)
    document = read_document(path)
    unused: list[str] | None = None if ignored is None else []
    request = _Request(spec, path, unused)
    alone = "model_dict" in document.values
    model: Model | ModelCollection = (
        _build_model(document, request, spec.name) if alone else _build_collection(document, request)
    )
    if ignored is not None and unused:
        ignored += dict.fromkeys(unused)
        changes = [change for change in changes if change.partition("=")[0] not in unused]
    return model.changed(options=":".join(changes)) if changes else model


def _build_collection(document: Section, request: _Request) -> ModelCollection:
    numbered = [key for key in document.values if key.isascii() and key.isdigit()]
    if not numbered:
        raise ModelError(
            f"the model file {document.file!r} lacks the key 'model_dict', so it is no VMAF model"
        )
    if numbered != [str(index) for index in range(len(numbered))] or len(numbered) < 2:
        raise ModelError(
            f"the model file {document.file!r} must number its models 0, 1 and so on, the base model first "
            f"and at least one more, but its keys are {', '.join(map(shortened, numbered[:8]))}"
            f"{'…' * (len(numbered) > 8)}"
        )
    if len(numbered) > MAX_MEMBERS:
        raise ModelError(
            f"the model file {document.file!r} holds {len(numbered)} models, and {MAX_MEMBERS} are the most "
            "that a collection can have"
        )
    name = request.spec.name
    base, *members = (
        _build_model(document.section(key), request, member_name(name, int(key))) for key in numbered
    )
    for key, member in zip(numbered[1:], members, strict=True):
        if member.kind != members[0].kind or member.kind not in _BOOTSTRAP_KINDS:
            section, kinds = (
                document.section(key).section("model_dict"),
                " or every one ".join(_BOOTSTRAP_KINDS),
            )
            raise section.fail("model_type", f"in a collection every one must be {kinds}")
    return ModelCollection(name, request.spec.label, request.path, base, tuple(members))


def _build_model(document: Section, request: _Request, name: str) -> Model:
    spec = request.spec
    section = document.section("model_dict")
    kind = section.text("model_type")
    if kind not in _KINDS:
        raise section.fail("model_type", f"{quoted(kind)} is not supported, only {', '.join(_KINDS)}")
    features = _features(section)
    scaling = _scaling(section, len(features))
    svm_text = section.text("model")
    svm = parse_libsvm(svm_text, len(features), lambda problem: section.fail("model", problem))
    clip = _clip(section)
    return Model(
        name=name,
        label=spec.label,
        file=request.path,
        kind=kind,
        features=apply_overrides(features, spec.overrides, spec.label, request.ignored),
        svm=svm,
        scaling=scaling,
        transform=_transform(section, force=spec.enable_transform),
        clip=None if spec.disable_clip else clip,
        chroma=_chroma(section, features, scaling),
    )


def _features(section: Section) -> tuple[ModelFeature, ...]:
    names = section.texts("feature_names")
    if not 1 <= len(names) <= MAX_FEATURES:
        raise section.fail("feature_names", f"it must hold 1 to {MAX_FEATURES} names, not {len(names)}")
    options: list[dict[str, OptionValue]] = [{} for _ in names]
    if section.has("feature_opts_dicts"):
        given = section.sections("feature_opts_dicts")
        if len(given) != len(names):
            wanted = f"one object for each of {len(names)} features"
            raise section.fail("feature_opts_dicts", f"it must hold {wanted}, not {len(given)}")
        options = [_options(entry) for entry in given]
    return tuple(ModelFeature(name, entry) for name, entry in zip(names, options, strict=True))


def _options(section: Section) -> dict[str, OptionValue]:
    options: dict[str, OptionValue] = {}
    for key, value in section.values.items():
        if not isinstance(value, bool | str | int | float):
            raise section.fail(key, "an option must be a number, a string, true or false")
        if key in WRITING:
            raise section.fail(key, "it writes files, which a model must not: set it on the command line")
        options[key] = value
    return options


def _scaling(section: Section, features: int) -> LinearRescale:
    norm_type = section.text("norm_type")
    if norm_type == "none":
        return LinearRescale(1.0, 0.0, (1.0,) * features, (0.0,) * features, norm_type)
    if norm_type != "linear_rescale":
        raise section.fail("norm_type", f"{quoted(norm_type)} is not supported, only linear_rescale and none")
    tables = {}
    for key in ("slopes", "intercepts"):
        numbers = section.numbers(key)
        if len(numbers) != features + 1:
            wanted = f"{features + 1} numbers, for score and features"
            raise section.fail(key, f"it must hold {wanted}, not {len(numbers)}")
        tables[key] = tuple(numbers)
    slopes, intercepts = tables["slopes"], tables["intercepts"]
    if slopes[0] == 0.0:
        raise section.fail("slopes", "the first number scales the score and cannot be 0")
    return LinearRescale(slopes[0], intercepts[0], slopes[1:], intercepts[1:])


def _transform(section: Section, *, force: bool) -> ScoreTransform | None:
    if not section.has("score_transform"):
        return None
    table = section.section("score_transform")
    p0, p1, p2 = (table.number(key) if table.has(key) else None for key in ("p0", "p1", "p2"))
    knots = table.pairs("knots", MAX_KNOTS) if table.has("knots") else []
    if knots and not _rising(knots):
        raise table.fail("knots", "it must hold at least two points whose x rises and whose y does not fall")
    transform = ScoreTransform(
        p0, p1, p2, tuple(knots), out_lte_in=table.switch("out_lte_in"), out_gte_in=table.switch("out_gte_in")
    )
    return transform if table.switch("enabled") or force else None


def _rising(knots: list[tuple[float, float]]) -> bool:
    steps = itertools.pairwise(knots)
    return len(knots) >= 2 and all(left[0] < right[0] and left[1] <= right[1] for left, right in steps)


def _clip(section: Section) -> ScoreClip | None:
    if not section.has("score_clip"):
        return None
    limits = section.numbers("score_clip")
    if len(limits) != 2 or limits[0] > limits[1]:
        raise section.fail("score_clip", "it must hold the lowest and the highest score")
    return ScoreClip(*limits)


def _chroma(
    section: Section, features: tuple[ModelFeature, ...], scaling: LinearRescale
) -> ChromaCorrection | None:
    key = "chroma_correction_parameter"
    if not section.has(key):
        return None
    parameter = section.number(key)
    indices = []
    for part in (_LUMA_FEATURE, _CHROMA_FEATURE):
        found = [index for index, feature in enumerate(features) if part in feature.name]
        if len(found) != 1:
            raise section.fail(key, f"it needs exactly one {part} feature, but the model has {len(found)}")
        indices.append(found[0])
    luma, chroma = indices
    if not (scaling.slopes[luma] and scaling.slopes[chroma]):
        raise section.fail("slopes", f"the features of {key} cannot have slope 0")
    return ChromaCorrection(parameter, luma, chroma) if parameter else None
