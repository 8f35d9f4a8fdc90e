"""Describes extractors for programs, as a document."""

from __future__ import annotations

import math

from acuity.features.extractor import Extractor
from acuity.features.options import Option


def describe_extractor(extractor: type[Extractor]) -> dict[str, object]:
    """An extractor's features, smallest size and options."""
    return {
        "name": extractor.name,
        "summary": extractor.summary,
        "min_size": extractor.min_size,
        "provides": [
            {
                "name": f.name,
                "key": f.alias,
                "debug": f.only_with == "debug",
                "only_with": f.only_with or None,
            }
            for f in extractor.features
            if not f.hidden
        ],
        "options": [_describe_option(option) for option in extractor.options],
    }


def _describe_option(option: Option) -> dict[str, object]:
    limited = option.kind in ("int", "float")
    return {
        "name": option.name,
        "alias": option.alias or None,
        "type": option.kind,
        "default": option.default,
        "min": option.minimum if limited else None,
        "max": option.maximum if limited and math.isfinite(option.maximum) else None,
        "choices": list(option.choices) or None,
        "in_name": option.named,
        "help": option.help,
    }
