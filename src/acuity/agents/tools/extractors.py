"""The tool list_extractors."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from acuity.agents.schemas import flag, named, outline, record
from acuity.features import EXTRACTORS, Extractor, get_extractor
from acuity.features.describe import describe_extractor
from longwire.product.catalog import Answer, Call, Tool
from longwire.product.results import ordered_answer

if TYPE_CHECKING:
    from acuity.agents.services import Services

_LIST: Final = """\
The feature extractors and what each measures; with a `name` that one's options (types, ranges, defaults) \
and the figures that it adds to every frame (`provides`). An entry of `feature` in a scoring tool is NAME, \
or NAME=OPTION=VALUE:OPTION=VALUE, as in "vif=debug=true:vif_enhn_gain_limit=1.0". Models bring the \
features they need."""

_BRIEF: Final = ("name", "backend", "source", "summary")


def tools(_: Services) -> list[Tool]:
    """list_extractors."""
    known = {name: _describe(extractor) for name, extractor in EXTRACTORS.items()}

    @cache  # these answers never change, and the longest takes 10 ms to write
    def answered(name: str | None, detail: bool) -> Answer:
        if name is not None:
            return ordered_answer({"extractors": [known[name]]})
        shown = list(known.values()) if detail else [_brief(document) for document in known.values()]
        return ordered_answer({"extractors": shown})

    def run(call: Call) -> Answer:
        name = call.arguments.get("name")
        if name is not None:
            get_extractor(name)  # raises for an unknown name, with the known ones
        return answered(name, call.arguments["detail"])

    properties = {
        "name": named("Only this one, with everything about it.", 128),
        "detail": flag("Everything about all of them: 40,000 characters.", default=False),
    }
    output = outline({"extractors": "array"})
    return [Tool("list_extractors", "List feature extractors", _LIST, record(properties), run, output)]


def _describe(extractor: type[Extractor]) -> dict[str, Any]:
    described = describe_extractor(extractor)
    source = f"{extractor.__module__.replace('.', '/')}.py"
    return {"name": described.pop("name"), "backend": "cpu", "source": source, **described}


def _brief(document: dict[str, Any]) -> dict[str, Any]:
    return {name: document[name] for name in _BRIEF}
