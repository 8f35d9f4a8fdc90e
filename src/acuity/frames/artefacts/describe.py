"""A frame's artefacts in words and as a list, the worst first."""

from __future__ import annotations

from typing import Any, Final

from acuity.frames.artefacts.box import WHOLE
from acuity.frames.artefacts.examination import Examination, Finding, Typical
from acuity.frames.artefacts.severity import JUST_VISIBLE, word

NOTHING: Final = "No visible artefact measured."
_MOST: Final = 3
_CLOSE: Final = 0.05  # severities of one word that differ by less are ordered by what is unusual for the clip
_LEAST_TYPICAL: Final = 0.02  # a median below it is none, and nothing is a multiple of it
_USUAL: Final = 1.25  # ratios up to it, and its inverse, are as in the rest of the clip
_SOMETIMES: Final = 0.35  # share of the frames from which it isn't rare, though the median frame has none
_AS_USUAL: Final = " (as in most of the clip)"
_ALL_AS_USUAL: Final = " (all as in most of the clip)"


def ranked(found: Examination, typical: Typical) -> list[Finding]:
    """Visible artefacts, at most three, the most severe first."""
    left = [finding for finding in found.findings.values() if finding.severity >= JUST_VISIBLE]
    left.sort(key=lambda finding: -finding.severity)
    order: list[Finding] = []
    while left and len(order) < _MOST:
        least, says = left[0].severity - _CLOSE, word(left[0].severity)
        close = [finding for finding in left if finding.severity > least and word(finding.severity) == says]
        chosen = max(close, key=lambda finding: _unusual(finding, typical))
        order.append(chosen)
        left.remove(chosen)
    return order


def describe(found: Examination, typical: Typical) -> str:
    """A sentence: each artefact, how bad, where, and how it compares with the clip."""
    order = ranked(found, typical)
    if not order:
        return NOTHING
    against = [_against(finding, typical) for finding in order]
    end = ""
    if len(order) > 1 and set(against) == {_AS_USUAL}:  # said once for all of them
        against, end = [""] * len(order), _ALL_AS_USUAL
    parts = [f"{_phrase(finding)}{compared}" for finding, compared in zip(order, against, strict=True)]
    text = "; ".join(parts) + end
    return f"{text[0].upper()}{text[1:]}."


def artefacts(found: Examination, typical: Typical) -> list[dict[str, Any]]:
    """The same as `describe` in figures, for documents."""
    return [
        {
            "name": finding.name,
            "severity": round(finding.severity, 3),
            "typical": None if (usual := typical.medians.get(finding.name)) is None else round(usual, 3),
            "ratio": None if (ratio := _ratio(finding, typical)) is None else round(ratio, 2),
            "where": finding.where,
            "region": finding.region.to_document(),
        }
        for finding in ranked(found, typical)
    ]


def _ratio(finding: Finding, typical: Typical) -> float | None:
    usual = typical.medians.get(finding.name)
    return None if usual is None or usual < _LEAST_TYPICAL else finding.severity / usual


def _unusual(finding: Finding, typical: Typical) -> float:
    return finding.severity / max(typical.medians.get(finding.name, 0.0), _LEAST_TYPICAL)


def _phrase(finding: Finding) -> str:
    if finding.note:
        return f"{finding.name}: {finding.note}"
    where = finding.where if finding.where == WHOLE else f"mostly {finding.where}"
    return f"{finding.name}, {word(finding.severity)}, {where}"


def _against(finding: Finding, typical: Typical) -> str:
    """How it compares with the clip; empty where nothing is known of the clip."""
    if finding.name not in typical.medians:
        return ""
    ratio = _ratio(finding, typical)
    if ratio is None:
        often = typical.shares.get(finding.name, 0.0) >= _SOMETIMES
        return " (in less than half of the clip)" if often else " (none in most of the clip)"
    if 1 / _USUAL <= ratio <= _USUAL:
        return _AS_USUAL
    return f" ({ratio:.1f} times the clip's median)"
