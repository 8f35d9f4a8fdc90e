"""Partial reports: an interrupted run leaves one, and another run can go on from it.

Besides rounded figures, its JSON form has a checkpoint with the exact ones, what was asked for, and
fingerprints of the two files. A run that goes on reads and checks all frames again, but computes only the
missing ones.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from acuity import __version__
from acuity.errors import ResumeError, to_give, to_set
from acuity.foreign_json import parse_json
from acuity.measure.checkpoint import Checkpoint
from acuity.measure.measurement import Measurement
from acuity.models.choose import AUTO
from acuity.scoring.request import SETTINGS, WORK, Request
from acuity.video.local_file import fingerprint, local_opener
from acuity.video.readers.image_names import is_pattern
from acuity.video.source import STDIN, is_web_address

if TYPE_CHECKING:
    from acuity.tiny.tiny_model import TinyModel

WHY: Final = "interrupted"
_VIDEOS: Final = ("reference", "distorted")
# The settings on which figures depend.
_COMPARED: Final = [name for name, about in SETTINGS.items() if about.group != WORK and name != "resume"]
# Lists that may be written as tuples or lists, at their default.
_LISTS: Final = {"models": [AUTO], "metrics": [], "features": []}


class Partial(NamedTuple):
    """The part of a clip that was measured before an interruption."""

    frames: int  # pairs of pictures
    of: int | None  # pairs in all, if known
    resume: dict[str, Any] | None  # what another run needs to go on; None if none can

    def __str__(self) -> str:
        whole = "" if self.of is None else f" of {self.of:,}"
        return (
            f"partial: {self.frames:,}{whole} frames; the run was {WHY}, and all figures are of these frames"
        )

    def to_document(self) -> dict[str, Any]:
        return {"frames": self.frames, "of": self.of, "why": WHY}


def partial_of(
    request: Request, measurement: Measurement, of: int | None, tiny: TinyModel | None = None
) -> Partial:
    files, checkpoint = {**_fingerprints(request), **_tiny_files(tiny)}, measurement.checkpoint()
    resume = None
    if checkpoint is not None and all(files.values()):
        with suppress(TypeError):  # loaded models, which no other process has
            resume = {"request": asked(request), "files": files, **checkpoint.to_document()}
    return Partial(measurement.frames, of, resume)


def read_checkpoint(request: Request, tiny: TinyModel | None = None) -> Checkpoint:
    """The checkpoint in the partial report that a request names; raises ResumeError."""
    path = str(request.resume)
    about = _about(path)
    if about["version"] != __version__:
        raise ResumeError(
            f"'{path}' is by Acuity {about['version']}, and this is {__version__}: go on with that one"
        )
    if not isinstance(about.get("partial"), Mapping):
        raise ResumeError(f"'{path}' is the report of a whole run, so there is nothing to go on with")
    found = about.get("resume")
    if not isinstance(found, Mapping):
        why = "an agent steered it" if "steering" in about else "a video is no plain file, or `vmaf` wrote it"
        raise ResumeError(f"'{path}' has no figures to go on from ({why}): measure anew")
    try:
        _check_files(path, request, found["files"])
        _check_request(path, request, found["request"])
        _check_tiny(path, tiny, found["files"])
        return Checkpoint.from_document(found)
    except ResumeError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError):
        raise ResumeError(f"the figures in '{path}' are damaged: measure anew") from None


def _about(path: str) -> Mapping[str, Any]:
    try:
        with open(path, encoding="utf-8", opener=local_opener) as file:
            about = parse_json(file.read())["acuity"]
    except OSError as error:
        raise ResumeError(f"the report '{path}' cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        about = None
    if not isinstance(about, Mapping) or "version" not in about:
        raise ResumeError(f"'{path}' is no JSON report of `acuity score`, or was cut off: pass one that is")
    return about


def _tiny_files(tiny: TinyModel | None) -> dict[str, Any]:
    if tiny is None:
        return {}
    about = tiny.describe()
    return {"tiny_model": {name: about[name] for name in ("sha256", "external_data") if name in about}}


def _check_tiny(path: str, tiny: TinyModel | None, files: Mapping[str, Any]) -> None:
    if tiny is not None and _tiny_files(tiny)["tiny_model"] != files["tiny_model"]:
        raise ResumeError(f"'{path}' is of another tiny model than '{tiny.path}', or the file has changed")


def _fingerprints(request: Request) -> dict[str, dict[str, Any] | None]:
    names = _VIDEOS[1:] if request.no_reference else _VIDEOS
    videos = {name: getattr(request, name) for name in names}
    return {
        name: fingerprint(video) if isinstance(video, str | os.PathLike) and video != STDIN else None
        for name, video in videos.items()
    }


def asked(request: Request) -> dict[str, Any]:
    """The settings that figures depend on and that aren't at their default; TypeError for loaded models."""
    document = request.to_document()
    found = {name: document[name] for name in _COMPARED if name in document}
    return {name: value for name, value in found.items() if value != _LISTS.get(name)}


def _check_files(path: str, request: Request, files: Mapping[str, Any]) -> None:
    for name, found in _fingerprints(request).items():
        video = getattr(request, name)
        if isinstance(video, str | os.PathLike) and video != STDIN and _is_missing(os.fspath(video)):
            continue  # opening it says that
        if found is None:
            raise ResumeError(f"the {name} is no plain file, and only those are read twice: measure anew")
        if found != files[name]:
            raise ResumeError(f"'{path}' is of another {name} than '{video}', or the file has changed")


def _is_missing(path: str) -> bool:
    """Whether a path leads nowhere; a pattern of images or an address may lead to a video."""
    return not (os.path.exists(path) or is_pattern(path) or is_web_address(path))


def _check_request(path: str, request: Request, before: Mapping[str, Any]) -> None:
    now = asked(request)
    for name in _COMPARED:
        if now.get(name) == before.get(name):
            continue
        if name not in before:
            without = to_give(name, verb="without")
            raise ResumeError(f"'{path}' was measured ", without, ": leave it out, or measure anew")
        value = before[name]
        shown = ",".join(value) if isinstance(value, list) else value if value is True else str(value)
        raise ResumeError(f"'{path}' was measured with ", to_set(name, shown), ": pass that, or measure anew")
