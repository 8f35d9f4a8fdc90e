"""The tool list_extractors, and the same as list_features of a running measurement."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from acuity.agents.schemas import flag, named, outline, record
from acuity.agents.tools.services import Services
from acuity.features import EXTRACTORS, Extractor, get_extractor
from acuity.features.describe import describe_extractor
from longwire.product.catalog import Answer, Call, Tool
from longwire.product.results import ordered_answer

_LIST: Final = """\
The feature extractors and what each measures; with a `name` that one's options (types, ranges, defaults) \
and the figures that it adds to every frame (`provides`). An entry of `feature` in a scoring tool is NAME, \
or NAME=OPTION=VALUE:OPTION=VALUE, as in "vif=debug=true:vif_enhn_gain_limit=1.0". Models bring the \
features they need."""

_BRIEF: Final = ("name", "backend", "source", "summary")
_INPUT: Final = record(
    name=named("Only this one, with everything about it.", 128),
    detail=flag("Everything about all of them: 40,000 characters.", default=False),
)


def tools(_: Services) -> list[Tool]:
    return [listing("list_extractors", _LIST)]


def listing(tool: str, text: str, *, names: bool = False) -> Tool:
    """A tool that lists the extractors; `names`: with a list of their names, and how many there are."""
    known = {name: _describe(extractor) for name, extractor in EXTRACTORS.items()}
    counted = {"features": list(known), "count": len(known)} if names else {}

    @cache  # these answers never change, and the longest takes 10 ms to write
    def answered(name: str | None, detail: bool) -> Answer:
        shown = [known[name]] if name is not None else list(known.values())
        if name is None and not detail:
            shown = [{key: document[key] for key in _BRIEF} for document in shown]
        return ordered_answer({**counted, "extractors": shown})

    def run(call: Call) -> Answer:
        name = call.arguments.get("name")
        if name is not None:
            get_extractor(name)  # raises for an unknown name, with the known ones
        return answered(name, call.arguments["detail"])

    output = outline(f"{'features:array count:integer ' if names else ''}extractors:array")
    return Tool(tool, "List feature extractors", text, _INPUT, run, output)


def _describe(extractor: type[Extractor]) -> dict[str, Any]:
    described = describe_extractor(extractor)
    source = f"{extractor.__module__.replace('.', '/')}.py"
    return {"name": described.pop("name"), "backend": "cpu", "source": source, **described}
