"""The features a model reads: their options, overrides of them, and the extractors that provide them.

The registry of extractors is used only when needed, so that a model with unknown features still loads and can
be described.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from acuity.errors import TO_LIST_FEATURES, TO_LIST_MODELS, FeatureError, ModelError
from acuity.records import NamedTuple
from acuity.text import quoted, shortened

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from acuity.features.extractor import Extractor

OptionValue = str | float | bool | int


class ModelFeature(NamedTuple):
    """A feature by its long name, with the unparsed options of its extractor."""

    name: str
    options: Mapping[str, OptionValue]

    @property
    def key(self) -> str:
        """The feature's key in collectors and reports; raises FeatureError if no extractor provides it."""
        from acuity.features import feature_key

        return feature_key(self.name, self.options)


class AnyModel(Protocol):
    """The interface of models for a measurement; Model, ModelCollection and tiny models have it."""

    lenient: ClassVar[bool]

    @property
    def selective(self) -> bool: ...
    def __hash__(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def path(self) -> Path: ...
    @property
    def kind(self) -> str: ...
    @property
    def options(self) -> str: ...
    @property
    def features(self) -> tuple[ModelFeature, ...]: ...
    def feature_keys(self) -> list[str]: ...
    def extractors(self) -> list[tuple[str, dict[str, OptionValue]]]: ...
    def make_extractors(self) -> list[Extractor]: ...
    def outputs(self, columns: Any) -> Mapping[str, Sequence[float] | NDArray[np.float64]]: ...
    def output_names(self) -> list[str]: ...
    def renamed(self, name: str) -> Self: ...


class ReadsFeatures:
    """Methods about features that models and collections share."""

    # Whether a score that isn't a number is left out of the results, if another model scores beside it;
    # otherwise it is an error.
    lenient: ClassVar[bool] = False

    @property
    def selective(self) -> bool:
        """Whether it has no score of some pictures, which are then left out of the results."""
        return False

    def feature_keys(self: AnyModel) -> list[str]:
        """The keys of the columns that predict() takes, in order; raises FeatureError if one is unknown."""
        _check_known(self.features, self.label)
        return [feature.key for feature in self.features]

    def extractors(self: AnyModel) -> list[tuple[str, dict[str, OptionValue]]]:
        """Extractor names and options in the file's order, each once; FeatureError if one is unknown here."""
        _check_known(self.features, self.label)
        found: list[tuple[str, dict[str, OptionValue]]] = []
        for feature in self.features:
            entry = (str(extractor_name(feature.name)), dict(feature.options))
            if entry not in found:
                found.append(entry)
        return found

    def make_extractors(self: AnyModel) -> list[Extractor]:
        """The extractors that a measurement computes for this model; FeatureError if one is unknown here."""
        from acuity.features import get_extractor

        try:
            return [get_extractor(name)(options) for name, options in self.extractors()]
        except FeatureError as error:
            raise FeatureError(f"the model '{self.label}' cannot be measured: {error}") from None

    def unknown_features(self: AnyModel) -> list[str]:
        """Long names of the features that this version can't measure; empty for a usable model."""
        return _unknown(self.features)


def apply_overrides(
    features: tuple[ModelFeature, ...],
    overrides: Mapping[str, Mapping[str, str]],
    label: str,
    ignored: list[str] | None = None,
) -> tuple[ModelFeature, ...]:
    """Merge extractor.option=value into every feature of that extractor.

    An extractor that the model doesn't use is refused, and so is an unknown option. With a list `ignored`
    they are left out instead, and added to the list.
    """
    if not overrides:
        return features
    providers = [extractor_name(feature.name) for feature in features]
    used = list(dict.fromkeys(name for name in providers if name is not None))
    if ignored is not None:
        overrides = _usable(overrides, used, ignored)
    for extractor, options in overrides.items():
        if extractor not in used:
            raise ModelError(
                f"the option {shortened(f'{extractor}.{next(iter(options))}')} cannot be set, because the "
                f"model {label!r} does not use the extractor {quoted(extractor)}; "
                f"it uses {', '.join(used) or 'none known here'}"
            )
    merged = []
    for feature, provider in zip(features, providers, strict=True):
        extra = overrides.get(provider, {}) if provider is not None else {}
        merged.append(feature._replace(options={**feature.options, **extra}))
    return tuple(merged)


def _usable(
    overrides: Mapping[str, Mapping[str, str]], used: list[str], ignored: list[str]
) -> dict[str, dict[str, str]]:
    from acuity.features import get_extractor

    usable: dict[str, dict[str, str]] = {}
    for extractor, options in overrides.items():
        known = {option.name for option in get_extractor(extractor).options} if extractor in used else set()
        usable[extractor] = {name: value for name, value in options.items() if name in known}
        ignored += [f"{extractor}.{name}" for name in options if name not in known]
    return {extractor: options for extractor, options in usable.items() if options}


def _check_known(features: Iterable[ModelFeature], label: str) -> None:
    unknown = _unknown(features)
    if unknown:
        raise FeatureError(
            f"the model {label!r} needs {', '.join(map(shortened, unknown[:8]))}{', …' * (len(unknown) > 8)}"
            ", which this version cannot measure; ",
            TO_LIST_FEATURES,
            " to see what it can, and ",
            TO_LIST_MODELS,
            " to choose another model",
        )


def _unknown(features: Iterable[ModelFeature]) -> list[str]:
    return [feature.name for feature in features if extractor_name(feature.name) is None]


def extractor_name(feature: str) -> str | None:
    """The extractor that provides a feature; None if none does here."""
    from acuity.features import extractor_for_feature

    try:
        return extractor_for_feature(feature).name
    except FeatureError:
        return None
