"""Null: reads the video and gives no figure, to time reading alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from acuity.features.extractor import CpuContext, Extractor, Frame, Geometry


class Null(Extractor):
    name = "null"
    summary = "no figure at all, to time what else a run does"
    options = ()
    features = ()
    min_size = 1
    min_size_reason = "there are no smaller pictures"

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> NullRunner:
        return NullRunner()


class NullRunner:
    def run(self, frame: Frame) -> dict[str, float]:
        return {}
