"""Acuity: VMAF you can pip install, with libvmaf's own digits.

    import acuity
    report = acuity.score("reference.mp4", "distorted.mp4")
    print(report.score, report.worst(3))

Names below are imported when first used, so that importing the package costs nothing.
"""

TYPE_CHECKING = False  # typing's own would load typing
if TYPE_CHECKING:
    import typing as _typing

    from acuity.agents.embedded import EmbeddedConfig as EmbeddedConfig
    from acuity.agents.embedded import EmbeddedServer as EmbeddedServer
    from acuity.api import score, score_async
    from acuity.comparison.call import compare
    from acuity.comparison.report import CompareReport
    from acuity.comparison.row import CompareRow
    from acuity.errors import (
        AcuityError,
        BackendError,
        ClosedError,
        EmbeddedError,
        FeatureError,
        FeedingError,
        FormatError,
        InputError,
        ModelError,
        NoFramesError,
        NotReady,
        OutputError,
        PairingError,
        ResumeError,
        ScoreError,
        StrictError,
        TruncatedError,
    )
    from acuity.frames.page_pictures import write_page
    from acuity.measure import BoundarySnapshot, FrameBoundary, Measurement, Results
    from acuity.measure.feed import feed
    from acuity.models import Model, ModelCollection, load_model
    from acuity.models.choose import model_for_size
    from acuity.models.describe import ModelInfo, list_models
    from acuity.report import write_report
    from acuity.scoring.report import ScoreReport
    from acuity.video.notes import Note
    from acuity.video.pairs.pair_options import PairOptions
    from acuity.video.pairs.pairing import Pairing, pair_videos
    from acuity.video.picture import ColourTags, Picture, PixelFormat
    from acuity.video.readers.open import open_video
    from acuity.video.readers.reader import VideoInfo, VideoReader

del TYPE_CHECKING

__version__ = "0.1.0"

# Where each public name lives.
_HOMES = {
    "acuity.api": "score score_async",
    "acuity.comparison.call": "compare",
    "acuity.comparison.report": "CompareReport",
    "acuity.comparison.row": "CompareRow",
    "acuity.errors": (
        "AcuityError BackendError ClosedError EmbeddedError FeatureError FeedingError FormatError "
        "InputError ModelError NoFramesError NotReady OutputError PairingError ResumeError ScoreError "
        "StrictError TruncatedError"
    ),
    "acuity.frames.page_pictures": "write_page",
    "acuity.agents.embedded": "EmbeddedConfig EmbeddedServer",
    "acuity.measure": "BoundarySnapshot FrameBoundary Measurement Results",
    "acuity.measure.feed": "feed",
    "acuity.models": "Model ModelCollection load_model",
    "acuity.models.choose": "model_for_size",
    "acuity.models.describe": "ModelInfo list_models",
    "acuity.report": "write_report",
    "acuity.scoring.report": "ScoreReport",
    "acuity.video.notes": "Note",
    "acuity.video.readers.open": "open_video",
    "acuity.video.pairs.pair_options": "PairOptions",
    "acuity.video.pairs.pairing": "Pairing pair_videos",
    "acuity.video.picture": "ColourTags Picture PixelFormat",
    "acuity.video.readers.reader": "VideoInfo VideoReader",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}

# EmbeddedConfig and EmbeddedServer need an extra, and `from acuity import *` does not.
__all__ = [
    "AcuityError", "BackendError", "BoundarySnapshot", "ClosedError", "ColourTags", "CompareReport",
    "CompareRow", "EmbeddedError", "FeatureError", "FeedingError", "FormatError", "FrameBoundary",
    "InputError", "Measurement", "Model", "ModelCollection", "ModelError", "ModelInfo", "NoFramesError",
    "NotReady", "Note", "OutputError", "PairOptions", "Pairing", "PairingError", "Picture", "PixelFormat",
    "Results", "ResumeError", "ScoreError", "ScoreReport", "StrictError", "TruncatedError", "VideoInfo",
    "VideoReader", "__version__", "compare", "feed", "list_models", "load_model", "model_for_size",
    "open_video", "pair_videos", "score", "score_async", "write_page", "write_report",
]  # fmt: skip


def __getattr__(name: str) -> "_typing.Any":
    if name not in _HOME_OF:
        raise AttributeError(f"module 'acuity' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
