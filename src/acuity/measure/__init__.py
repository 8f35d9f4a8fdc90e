"""Measurements: the frame loop, its threads, and the results."""

from acuity.devices import available_threads
from acuity.measure.boundary import BoundarySnapshot, FrameBoundary
from acuity.measure.measurement import Measurement
from acuity.measure.pooling import pool
from acuity.measure.results import Results
from acuity.measure.segments import Segment
from acuity.measure.steering import Swap

__all__ = [
    "BoundarySnapshot", "FrameBoundary", "Measurement", "Results", "Segment", "Swap", "available_threads",
    "pool",
]  # fmt: skip
