"""Feature extractors: what each measures, and the options it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import mcp_types as types

from acuity.features import EXTRACTORS, Extractor
from acuity.features.describe import describe_extractor
from acuity.mcp.catalog import Call, Tool
from acuity.mcp.results import answer
from acuity.mcp.schemas import array, flag, number, or_null, record, text, whole

if TYPE_CHECKING:
    from acuity.mcp.services import Services

_LIST: Final = """\
The feature extractors: what each measures, the figures it adds to every frame of a report (`provides`), \
and the options it takes with their types, ranges and defaults. Call it before you pass `feature` to \
vmaf_score or vmaf_score_encoded: an entry there is NAME, or NAME=OPTION=VALUE:OPTION=VALUE, as in \
"vif=debug=true:vif_enhn_gain_limit=1.0". Models bring the features they need by themselves."""


def tools(_: Services) -> list[Tool]:
    """list_extractors: what it lists was decided at build time."""
    listed = answer({"extractors": [_describe(extractor) for extractor in EXTRACTORS.values()]})

    async def run(_: Call) -> types.CallToolResult:
        return listed

    return [
        Tool(
            name="list_extractors",
            title="List feature extractors",
            description=_LIST,
            input_schema=record({}),
            output_schema=_OUTPUT,
            run=run,
        )
    ]


def _describe(extractor: type[Extractor]) -> dict[str, Any]:
    source = f"{extractor.__module__.replace('.', '/')}.py"
    return {"backend": "cpu", "source": source, **describe_extractor(extractor)}


_PROVIDED: Final = record(
    {
        "name": text("As model files have it."),
        "key": text("As reports have it; options with in_name add to it."),
        "debug": flag("Whether it comes only with debug=true."),
        "only_with": or_null(text("The option that has to be true for it; null: it always comes.")),
    }
)

_OPTION: Final = record(
    {
        "name": text(),
        "alias": or_null(text("How it appears in the names of features.")),
        "type": {**text(), "enum": ["bool", "int", "float", "text"]},
        "default": {"type": ["number", "boolean", "string"]},
        "min": or_null(number("Null also where there is no limit.")),
        "max": or_null(number("Null also where there is no limit.")),
        "choices": or_null(array(text(), "What a text can be; null: anything.")),
        "in_name": flag("Whether a value other than the default adds to the names of features."),
        "help": text(),
    }
)

_EXTRACTOR: Final = record(
    {
        "name": text("For `feature`."),
        "backend": text(),
        "source": text("Where it is in Acuity's source."),
        "summary": text(),
        "min_size": whole("Smallest width and height of pictures."),
        "provides": array(_PROVIDED),
        "options": array(_OPTION),
    }
)

_OUTPUT: Final = record({"extractors": array(_EXTRACTOR)})
