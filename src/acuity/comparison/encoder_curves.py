"""BD-rates among the encoders of a comparison: the bits that each needs for the score of another."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from acuity.scoring.bd_rate import compare_curves, compare_scores


class CurvePoint(NamedTuple):
    reference: str
    encoder: str
    name: str
    kbps: float
    score: float


class EncoderRate(NamedTuple):
    """The BD-rate of an encoder against another, or why there is none; `reference` is None for a mean."""

    encoder: str
    against: str
    reference: str | None
    percent: float | None  # below 0: it needs fewer bits
    score: float | None  # how much better it scores at equal rates
    note: str | None

    def to_document(self) -> dict[str, object]:
        keys = ("encoder", "against", "reference", "bd_rate_percent", "bd_score", "note")
        return dict(zip(keys, self, strict=True))


def encoder_rates(
    points: Iterable[CurvePoint], against: str | None = None, *, lower_is_better: bool = False
) -> list[EncoderRate]:
    """The BD-rates of each encoder against `against`, or the first; for each reference, then their means.

    Empty unless two encoders have several encodes of one reference.
    """
    usable = [point for point in points if point.kbps > 0 and math.isfinite(point.score)]
    found: list[EncoderRate] = []
    references = list(dict.fromkeys(point.reference for point in usable))
    for reference in references:
        curves: dict[str, list[tuple[float, float]]] = {}
        for point in usable:
            if point.reference == reference:
                curves.setdefault(point.encoder, []).append((point.kbps, point.score))
        several = [encoder for encoder, curve in curves.items() if len(curve) > 1]
        if len(several) < 2:
            continue
        anchor = against if against in several else several[0]
        for encoder in several:
            if encoder != anchor:
                both = curves[anchor], curves[encoder]
                found.append(_rate(reference, encoder, anchor, *both, -1 if lower_is_better else 1))
    return [*found, *_means(found)] if len(references) > 1 else found


def _rate(
    reference: str,
    encoder: str,
    anchor: str,
    base: Sequence[tuple[float, float]],
    test: Sequence[tuple[float, float]],
    sign: int,
) -> EncoderRate:
    """The rate of two curves; `sign` is -1 where low scores are good, because curves have to rise."""
    base, test = ([(kbps, sign * score) for kbps, score in curve] for curve in (base, test))
    rate, score = compare_curves(base, test), compare_scores(base, test)
    reason = rate.reason if sign > 0 or rate.reason is None else rate.reason.partition(":")[0]
    for words, name in (("the first curve", anchor), ("the other curve", encoder)):
        reason = reason and reason.replace(words, name, 1)
    if reason is None and rate.scores is not None:
        reason = "scores {:.2f} to {:.2f}".format(*sorted(sign * score for score in rate.scores))
        reason += _crossing(rate.percent, score)
    return EncoderRate(encoder, anchor, reference, rate.percent, score, reason)


def _crossing(percent: float | None, score: float | None) -> str:
    """A remark if one is better by its bits and the other by its scores."""
    if not percent or not score or (percent > 0) != (score > 0):
        return ""
    return "; the curves cross, so neither is better throughout"


def _means(found: Sequence[EncoderRate]) -> list[EncoderRate]:
    means = []
    of_two: dict[tuple[str, str], list[tuple[float, float | None]]] = {}
    for entry in found:
        rates = of_two.setdefault((entry.encoder, entry.against), [])
        rates += [] if entry.percent is None else [(entry.percent, entry.score)]
    for (encoder, anchor), rates in of_two.items():
        if len(rates) < 2:
            continue
        percents, scores = zip(*rates, strict=True)
        known = [score for score in scores if score is not None]
        mean = sum(known) / len(known) if len(known) == len(scores) else None
        note = f"mean of {len(rates)} references{_crossing(sum(percents), mean)}"
        means.append(EncoderRate(encoder, anchor, None, sum(percents) / len(percents), mean, note))
    return means
