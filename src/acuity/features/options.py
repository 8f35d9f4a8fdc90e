"""Options of extractors: their tables, parsing and checking, and their part in feature names."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal

from acuity.errors import FeatureError
from acuity.records import NamedTuple
from acuity.text import quoted, shortened

OptionValue = str | float | bool | int

# Options that write files: only a local user may set them, no client and no model file.
WRITING: Final = frozenset(("heatmaps_path",))

# How pictures may be made larger or smaller.
RESAMPLING: Final = ("nearest", "bilinear", "bicubic", "lanczos4")

_SWITCHES: Final = {"true": True, "false": False}


class Option(NamedTuple):
    """One option. A `named` one adds `_alias_value` to feature names if it differs from the default."""

    name: str
    alias: str
    kind: Literal["bool", "int", "float", "text"]
    default: OptionValue
    minimum: float = 0.0
    maximum: float = 0.0
    named: bool = True
    help: str = ""
    widens: bool = False  # a switch that only adds figures: on if any user of the extractor needs it
    choices: tuple[str, ...] = ()  # of a text; empty: any

    def parse(self, value: OptionValue) -> OptionValue:
        """The value in the option's own type; raises ValueError."""
        if self.kind == "bool":
            return _parse_switch(value)
        if self.kind == "text":
            if self.choices and value not in self.choices:
                raise ValueError(f"one of {', '.join(self.choices)}")
            return str(value)
        number = _parse_number(value)
        if self.kind == "int" and number != int(number):
            raise ValueError("a whole number")
        if number != self.default and not self.minimum <= number <= self.maximum:
            limits = f"between {self.minimum:g} and {self.maximum:g}"
            raise ValueError(limits if math.isfinite(self.maximum) else f"{self.minimum:g} or more")
        return int(number) if self.kind == "int" else number

    def words(self) -> tuple[str, ...]:
        """All possible values, if they are words."""
        return tuple(_SWITCHES) if self.kind == "bool" else self.choices

    def values(self) -> str:
        """The possible values, for people."""
        if self.kind in ("text", "bool"):
            return ", ".join(self.words()) or "text"
        least = f"{self.minimum:g} " + (f"to {self.maximum:g}" if math.isfinite(self.maximum) else "or more")
        usual = isinstance(self.default, str) or self.minimum <= self.default <= self.maximum
        return least if usual else f"{self.default:g}, {least}"

    def suffix(self, setting: OptionValue) -> str:
        """The setting's part of feature names."""
        if not self.named or setting == self.default:
            return ""
        key = self.alias or self.name
        return f"_{key}" if self.kind == "bool" else f"_{key}_{show(setting)}"


def switch(name: str, alias: str, help: str, *, default: bool = False, widens: bool = False) -> Option:
    """An option that is on or off. Without an alias it has no part in feature names."""
    return Option(name, alias, "bool", default, named=bool(alias), help=help, widens=widens)


def number(
    name: str, alias: str, default: float, minimum: float, maximum: float, help: str, *, named: bool = True
) -> Option:
    """A number with its limits; a whole one if the default is."""
    kind: Literal["int", "float"] = "int" if isinstance(default, int) else "float"
    return Option(name, alias, kind, default, minimum, maximum, named, help)


def word(
    name: str, alias: str, default: str, help: str, choices: tuple[str, ...] = (), *, named: bool = True
) -> Option:
    """A text; one of the choices, if there are any."""
    return Option(name, alias, "text", default, named=named, help=help, choices=choices)


def show(setting: OptionValue) -> str:
    """A setting in the notation of options."""
    if isinstance(setting, bool):
        return str(setting).lower()
    return setting if isinstance(setting, str) else f"{setting:g}"


def _parse_switch(value: OptionValue) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value in _SWITCHES:
        return _SWITCHES[value]
    raise ValueError("true or false")


def _parse_number(value: OptionValue) -> float:
    """The number as libvmaf uses it: through single precision, to six significant digits."""
    if isinstance(value, bool):
        raise ValueError("a number")
    try:
        single: float = struct.unpack("f", struct.pack("f", float(value)))[0]
    except (ValueError, OverflowError):
        raise ValueError("a number") from None
    if not math.isfinite(single):
        raise ValueError("a finite number")
    return float(f"{single:g}")


def parse_options(
    extractor: str,
    options: Iterable[Option],
    given: Mapping[str, OptionValue],
    owners: Callable[[str], list[str]] = lambda _: [],
) -> dict[str, OptionValue]:
    """The settings of all options, with the given ones checked; raises FeatureError.

    `owners` returns the extractors that have an option, for the error about one that doesn't.
    """
    table = {option.name: option for option in options}
    settings = {option.name: option.default for option in table.values()}
    for name, value in given.items():
        if name not in table:
            raise FeatureError(_unknown_option(extractor, name, list(table), owners(name)))
        try:
            settings[name] = table[name].parse(value)
        except ValueError as error:
            raise FeatureError(f"{extractor}: {name} cannot be {quoted(value)}: it must be {error}") from None
    return settings


def _unknown_option(extractor: str, name: str, known: list[str], owners: list[str]) -> str:
    """The sentence about an unknown option: the known ones, and the extractors that have it."""
    import difflib  # only for this message

    has = f"it has {', '.join(known)}" if known else "it takes none"
    if owners:
        verb = "has" if len(owners) == 1 else "have"
        return f"{extractor} has no option '{shortened(name)}', which {' and '.join(owners)} {verb}: {has}"
    close = difflib.get_close_matches(name, known, n=1)
    return (
        f"{extractor} has no option '{shortened(name)}': {f'did you mean {close[0]}? ' if close else ''}{has}"
    )


def name_suffix(options: Iterable[Option], settings: Mapping[str, OptionValue]) -> str:
    """The settings' part of feature names, in the order of the options' names."""
    ordered = sorted(options, key=lambda option: option.name)
    return "".join(option.suffix(settings[option.name]) for option in ordered)


def parse_feature(text: str) -> tuple[str, dict[str, str]]:
    """Split 'vif=debug=true:vif_enhn_gain_limit=1.0' into the extractor's name and its options as text."""
    name, separator, rest = text.partition("=")
    options: dict[str, str] = {}
    if separator and not rest:
        raise FeatureError(
            f"feature '{shortened(text)}' ends after '=': write it as extractor=option=value:option=value"
        )
    for part in rest.split(":") if rest else ():
        key, equals, value = part.partition("=")
        if not key or not equals or not value:
            raise FeatureError(f"feature '{shortened(text)}': '{shortened(part)}' is no option=value")
        options[key] = value
    return name, options
