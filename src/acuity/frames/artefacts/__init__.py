"""What is wrong with a frame: artefacts measured against the reference, with where and how bad, in words."""

from acuity.features.extractor import Pair
from acuity.frames.artefacts.box import Box
from acuity.frames.artefacts.describe import artefacts, describe
from acuity.frames.artefacts.examination import Examination, Finding, Typical
from acuity.frames.artefacts.examine import MEASURES, NAMES, examine
from acuity.frames.artefacts.frame import ExaminedFrame

__all__ = [
    "MEASURES",
    "NAMES",
    "Box",
    "Examination",
    "ExaminedFrame",
    "Finding",
    "Pair",
    "Typical",
    "artefacts",
    "describe",
    "examine",
]
