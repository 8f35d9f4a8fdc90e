"""Parses libvmaf's colon-separated notation for models into a ModelSpec.

    version=vmaf_v0.6.1:vif.vif_enhn_gain_limit=1.0:name=neg:disable_clip
    path=folder/model.json:enable_transform
    vmaf_v0.6.1                      a bare name stands for version=
    folder/model.json                a bare path stands for path=

If a key is given twice, the last one counts, as in libvmaf.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from acuity.errors import ModelError
from acuity.records import Record, field
from acuity.text import quoted, shortened
from acuity.video.local_file import local_size

DEFAULT_NAME = "vmaf"

# The name becomes a CSV column and an XML attribute, so it must need no quoting in either.
_NAME = r"\w[\w.+-]*"
_FLAGS = ("disable_clip", "enable_transform")
_SWITCH = {"true": True, "false": False}
_EXAMPLE = "for example version=vmaf_v0.6.1:name=vmaf:vif.vif_enhn_gain_limit=1.0"


class ModelSpec(Record):
    """The model to load, its name in reports, and changes of its options."""

    version: str | None = None
    path: str | None = None
    name: str = DEFAULT_NAME
    disable_clip: bool = False
    enable_transform: bool = False
    overrides: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # extractor -> option -> value

    def __post_init__(self) -> None:
        if (self.version is None) == (self.path is None):
            raise ModelError("a model needs either version= or path=, and not both")
        if not re.fullmatch(_NAME, self.name):
            raise ModelError(
                f"the model name {quoted(self.name)} cannot be used in reports; "
                "use letters, digits, '_', '.', '+' and '-' only"
            )

    @property
    def label(self) -> str:
        """The version or path, for people."""
        return self.version if self.version is not None else str(self.path)

    @property
    def changes(self) -> list[str]:
        """The changes of the model's options, each in the notation."""
        flags = [flag for flag in _FLAGS if getattr(self, flag)]
        return flags + [f"{e}.{o}={v}" for e, values in self.overrides.items() for o, v in values.items()]

    def to_text(self) -> str:
        """The notation that parse_spec reads; raises ModelError if a path or value contains ':'."""
        options = [] if self.name == DEFAULT_NAME else [f"name={self.name}"]
        options += self.changes
        source = f"version={self.version}" if self.path is None else f"path={self.path}"
        if not any(":" in part for part in (source, *options)):
            return ":".join((source, *options))
        if self.path is not None and not options and self.path.endswith(".json") and "=" not in self.path:
            return self.path
        raise ModelError(
            f"the model {self.label!r} cannot be written with its options, because ':' separates them; "
            "copy the file to a path without ':' and give that"
        )


def parse_spec(text: str) -> ModelSpec:
    """Parse libvmaf's notation; raises ModelError."""
    if "=" not in text and text.endswith(".json") and local_size(text) is not None:
        return ModelSpec(path=text)  # before splitting, because the path may contain colons
    first, *rest = text.split(":")
    values: dict[str, str] = {}
    overrides: dict[str, dict[str, str]] = {}
    if "=" not in first and first not in _FLAGS:
        is_path = first.endswith(".json") or "/" in first or "\\" in first
        values["path" if is_path else "version"] = first
    else:
        rest.insert(0, first)
    for item in rest:
        key, equals, value = item.partition("=")
        if not equals and key in _FLAGS:
            value = "true"
        elif not equals:
            raise ModelError(
                f"the model option {quoted(item)} in {quoted(text)} has no value; write key=value"
            )
        if key in ("path", "version", "name", *_FLAGS):
            values[key] = value
        else:
            extractor, option = _override_target(key, text)
            overrides.setdefault(extractor, {})[option] = value
    return _build(text, values, overrides)


def _override_target(key: str, text: str) -> tuple[str, str]:
    extractor, dot, option = key.partition(".")
    if not (dot and extractor and option):
        raise ModelError(
            f"the model option {quoted(key)} in {quoted(text)} is unknown; use path, version, name, "
            f"disable_clip, enable_transform or extractor.option, {_EXAMPLE}"
        )
    return extractor, option


def _build(text: str, values: Mapping[str, str], overrides: Mapping[str, Mapping[str, str]]) -> ModelSpec:
    if "version" not in values and "path" not in values:
        raise ModelError(f"the model {quoted(text)} names neither version= nor path=; write one, {_EXAMPLE}")
    for key, value in values.items():
        if not value:
            raise ModelError(
                f"the model option {quoted(key)} in {quoted(text)} is empty; write one, {_EXAMPLE}"
            )
    return ModelSpec(
        version=values.get("version"),
        path=values.get("path"),
        name=values.get("name", DEFAULT_NAME),
        disable_clip=_switch("disable_clip", values, text),
        enable_transform=_switch("enable_transform", values, text),
        overrides=overrides,
    )


def _switch(key: str, values: Mapping[str, str], text: str) -> bool:
    value = values.get(key, "false")
    if value not in _SWITCH:
        raise ModelError(f"the model option {key}={shortened(value)} in {quoted(text)} must be true or false")
    return _SWITCH[value]
