"""The features a model reads: their options, overrides of them, and the extractors that provide them.

The registry of extractors is asked only when a question needs it, so that a model whose features this version
cannot measure still loads and can be described.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from acuity.errors import FeatureError, ModelError

OptionValue = str | float | bool | int


@dataclass(frozen=True)
class ModelFeature:
    """A feature by its long name, with the options of its extractor as written; the extractor parses them."""

    name: str
    options: Mapping[str, OptionValue]

    @property
    def key(self) -> str:
        """The name under which collectors and reports know it; FeatureError if no extractor provides it."""
        from acuity.features import feature_key

        return feature_key(self.name, self.options)


def apply_overrides(
    features: tuple[ModelFeature, ...], overrides: Mapping[str, Mapping[str, str]], label: str
) -> tuple[ModelFeature, ...]:
    """Merge extractor.option=value into every feature that this extractor provides."""
    if not overrides:
        return features
    providers = [_extractor_name(feature.name) for feature in features]
    used = list(dict.fromkeys(name for name in providers if name is not None))
    for extractor, options in overrides.items():
        if extractor not in used:
            raise ModelError(
                f"The option {extractor}.{next(iter(options))} cannot be set, because the model {label!r} "
                f"does not use the extractor {extractor!r}; it uses {', '.join(used) or 'none known here'}."
            )
    merged = []
    for feature, provider in zip(features, providers, strict=True):
        extra = overrides.get(provider, {}) if provider is not None else {}
        merged.append(replace(feature, options={**feature.options, **extra}))
    return tuple(merged)


def extractors_of(features: Iterable[ModelFeature], label: str) -> list[tuple[str, dict[str, OptionValue]]]:
    """Extractor names and options in the features' order, each once; FeatureError for unknown ones."""
    known = list(features)
    unknown = unknown_features(known)
    if unknown:
        raise FeatureError(
            f"The model {label!r} needs {', '.join(unknown)}, which this version cannot measure; "
            "run 'acuity features' to see what it can, and 'acuity models' to choose another model."
        )
    found: list[tuple[str, dict[str, OptionValue]]] = []
    for feature in known:
        entry = (str(_extractor_name(feature.name)), dict(feature.options))
        if entry not in found:
            found.append(entry)
    return found


def unknown_features(features: Iterable[ModelFeature]) -> list[str]:
    """The long names that no extractor of this version provides."""
    return [feature.name for feature in features if _extractor_name(feature.name) is None]


def _extractor_name(feature: str) -> str | None:
    from acuity.features import extractor_for_feature

    try:
        return extractor_for_feature(feature).name
    except FeatureError:
        return None
