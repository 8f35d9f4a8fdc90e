"""Writes the tables of held-out figures into the model card, between two marks for each model."""

from __future__ import annotations

import re
from typing import Any, Final

from contents import ROOT

CARD: Final = ROOT / "docs" / "tiny-models.md"
_COLUMNS: Final = {"n": "d", "plcc": ".4f", "srocc": ".4f", "rmse": ".2f"}


def write_tables(name: str, judged: dict[str, Any]) -> None:
    """Replace the tables of a model."""
    begin, end = f"<!-- figures of {name} -->", "<!-- end -->"
    found = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    made = f"{begin}\n{table(judged)}\n{end}"
    CARD.write_text(found.sub(lambda _: made, CARD.read_text(), count=1))


def table(judged: dict[str, Any]) -> str:
    """The figures of all splits, in Markdown: overall, of the baselines, and of each content's clips."""
    lines = ["| split | of | n | PLCC | SROCC | RMSE |", "|---|---|---|---|---|---|"]
    for split, about in judged.items():
        baselines = {f"*{label}*": found["clips"] for label, found in about["baselines"].items()}
        contents = {label: found["clips"] for label, found in about["by_content"].items()}
        for label, figures in {
            "frames": about["frames"],
            "clips": about["clips"],
            **baselines,
            **contents,
        }.items():
            lines.append(
                f"| {split} | {label} | {' | '.join(_shown(key, figures[key]) for key in _COLUMNS)} |"
            )
    return "\n".join(lines)


def _shown(key: str, value: float | None) -> str:
    return "none" if value is None else format(value, _COLUMNS[key])
