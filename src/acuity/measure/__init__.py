"""Measurements: the frame loop, its threads, and what comes out."""

from acuity.measure.boundary import BoundarySnapshot, FrameBoundary
from acuity.measure.measurement import Measurement, available_threads
from acuity.measure.pooling import pool
from acuity.measure.results import Results

__all__ = ["BoundarySnapshot", "FrameBoundary", "Measurement", "Results", "available_threads", "pool"]
