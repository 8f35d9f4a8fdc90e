"""The fronts of Acuity: how each spells the settings of a request, as options or arguments and in errors.

Python spells settings as a request (and `Remedy` as text) does, so it has no entry here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from acuity.errors import GEOMETRY, AcuityError, Remedy, listed
from acuity.records import NamedTuple
from acuity.scoring.request import MAX_ENTRIES, SETTINGS
from acuity.scoring.setting import MAX_TEXT, Way
from acuity.video.pairs.pair_options import WORDS

_PLAIN: Final = r"[\w:.,/+%=-]+"  # values that need no quotes
_OPTIONS: Final = ("option", "getopt", "tune")
_HYPHENS: Final = ("option", "tune")  # libvmaf writes underscores
_COMMANDS: Final = {name: f"'acuity {name}'" for name in ("models", "features", "backends")}
# What to do instead where a front lacks the setting that a remedy names.
_INSTEAD: Final = dict.fromkeys(
    ("stream", "stream_ref", "stream_dis"), "copy the one that is meant to a file of its own"
)
_TOOLS: Final = {"models": "list_models", "features": "list_extractors", "backends": "list_backends"}


class Front(NamedTuple):
    """One front: a command, a tool or the Python API."""

    way: Way  # whose names of a setting count
    lists: Mapping[str, str]  # what lists the models, features and backends
    look: str  # the verb for those: "run" or "call"
    give: str | None = None  # said where raw video should be described and can't be
    omit: str = "leave out the geometry"
    arguments_only: bool = False  # whether it is a tool, though its way in is a command's

    @property
    def command(self) -> bool:
        """Whether settings are options, with dashes."""
        return self.way in _OPTIONS and not self.arguments_only

    @property
    def settings(self) -> list[str]:
        """The settings that this front offers."""
        return [name for name, about in SETTINGS.items() if self.way in about.offered.split()]

    def name(self, setting: str) -> str:
        """The setting's name in this front, without leading dashes."""
        names = SETTINGS[setting].names if setting in SETTINGS else {}
        name = names.get(self.way, setting)
        return name.replace("_", "-") if self.way in _HYPHENS and self.command else name

    def help(self, setting: str) -> str:
        """What the setting means; schemas name the choices by themselves."""
        about = SETTINGS[setting]
        words = f" ({', '.join(WORDS[setting])})" if setting in WORDS and self.command else ""
        return about.help.format_map(self.lists) + words

    def spell(self, remedy: Remedy) -> str:
        """A remedy in this front's spelling."""
        instead = _INSTEAD.get(remedy.names[0])
        if instead is not None and remedy.names[0] not in self.settings:
            return instead
        match remedy.action:
            case "set":
                return self._spelled(remedy.names[0], remedy.value)
            case "give":
                if self.give is not None and set(remedy.names) & {*GEOMETRY}:
                    return self.give
                return f"{remedy.verb} {listed([self._spelled(name) for name in remedy.names])}"
            case "omit":
                if remedy.names == GEOMETRY:
                    return self.omit
                dashes = "--" if self.command else ""
                return f"leave out {listed([f'{dashes}{self.name(name)}' for name in remedy.names])}"
            case "list":
                return f"{self.look} {self.lists[remedy.names[0]]}"

    def _spelled(self, setting: str, value: str | bool | None = None) -> str:
        name = self.name(setting)
        if isinstance(value, str) and not re.fullmatch(_PLAIN, value):
            value = repr(value)
        if self.command:
            return f"--{name}" if value is None or value is True else f"--{name} {value}"
        return f"{name}={'true' if value is True else '' if value is None else value}"

    def argument(self, setting: str, **changes: Any) -> dict[str, Any]:
        """The JSON Schema of the setting as an argument; of `changes`, None takes a keyword out."""
        about = SETTINGS[setting]
        entry: dict[str, Any] = {"type": about.kind, "minimum": about.minimum, "maximum": about.most}
        choices = {"enum": about.choices} if about.choices else {}
        if about.kind != "array":
            entry |= {**choices, "default": False if about.asks_for_less else about.default}
        elif choices:
            entry |= {"items": choices, "maxItems": MAX_ENTRIES}
        else:
            texts = {"type": "string", "minLength": 1, "maxLength": MAX_TEXT}
            entry |= {"items": texts, "maxItems": MAX_ENTRIES, "default": []}
        text = self.help(setting)
        entry |= {"description": f"{text[0].upper()}{text[1:]}.", **changes}
        return {keyword: value for keyword, value in entry.items() if value is not None}

    def arguments(self, *settings: str, **changes: Mapping[str, Any]) -> dict[str, Any]:
        """The properties of an input schema: each setting by its name here, with its own changes."""
        return {self.name(name): self.argument(name, **changes.get(name, {})) for name in settings}

    def fields(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for setting in self.settings:
            if (value := as_whole(arguments.get(self.name(setting)))) is None:
                continue
            if SETTINGS[setting].kind == "array" and isinstance(value, str):
                value = [value]
            found[setting] = not value if SETTINGS[setting].asks_for_less else value
        return found


def as_whole(value: Any) -> Any:
    """The value, with a float as int: where a JSON Schema wants an integer, clients may write 576.0."""
    return int(value) if isinstance(value, float) else value


ACUITY: Final = Front("option", _COMMANDS, "run")
VMAF: Final = Front("getopt", _COMMANDS, "run")
RAW: Final = Front("tool", _TOOLS, "call", omit="score the pair with vmaf_score_encoded")
ENCODED: Final = Front(
    "tool",
    _TOOLS,
    "call",
    give=f"score the pair with vmaf_score, which takes {listed([RAW.name(part) for part in GEOMETRY])}",
)
WORST: Final = Front(
    "tool", _TOOLS, "call", omit=f"leave out {listed([f'{RAW.name(part)}=' for part in GEOMETRY])}"
)
EMBEDDED: Final = Front(
    "embedded",
    {**_TOOLS, "features": "list_features"},
    "call",
    give=f"give {listed([*GEOMETRY])}",
    omit=f"leave out {listed([*GEOMETRY])}",
)
TUNE: Final = Front(
    "tune",
    _COMMANDS,
    "run",
    give="pass --width, --height and --pix-fmt, as yuv420p10le, and --framerate",
    omit="leave out --width, --height and --pix-fmt",
)
TUNE_TOOL: Final = Front(
    "tune",
    _TOOLS,
    "call",
    give="pass width=, height= and pix_fmt=, as yuv420p10le, and framerate=",
    omit="leave out width=, height= and pix_fmt=",
    arguments_only=True,
)

# By the names of commands and tools. Tools that are not listed describe no raw video either.
FRONTS: Final[Mapping[str, Front]] = {
    "acuity": ACUITY, "vmaf": VMAF, "vmaf-mcp": ACUITY, "vmaf-tune": TUNE, "acuity tune": TUNE,
    "vmaf_score": RAW, "vmaf_score_encoded": ENCODED, "describe_worst_frames": WORST,
    "compare_encodes": WORST, "compute_vmaf": EMBEDDED, "vmaf.request_model_swap": EMBEDDED,
    "run_search": TUNE_TOOL, "run_compare": TUNE_TOOL, "run_ladder": TUNE_TOOL,
    "run_tune_per_shot": TUNE_TOOL,
}  # fmt: skip


def sentence(error: AcuityError, name: str) -> str:
    """The sentence of an error for the caller of this command or tool."""
    return error.spelled(FRONTS.get(name, ENCODED).spell)
