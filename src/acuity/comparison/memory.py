"""Memory: the figures of pairs that were scored before, found by the content of both files and the request.

A changed file never gets an old figure: the key has the digests of all bytes, and what is kept was measured
on files that were the same before and after.
"""

from __future__ import annotations

import hashlib
import json
import os
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from acuity.cache_file import CacheFile, cache_path, engine_build
from acuity.errors import AcuityError
from acuity.models.choose import model_digests
from acuity.scoring.kept_report import can_be_kept, packed, unpacked
from acuity.scoring.resume import asked
from acuity.scoring.run import Wanted
from acuity.video.file_digest import Identity, file_digest, identity
from acuity.video.local_file import local_size

if TYPE_CHECKING:
    from acuity.scoring.report import ScoreReport
    from acuity.scoring.request import Request


_DEFAULT: Final = "vmaf"  # the metric that is scored if none is named


class PairKey(NamedTuple):
    """The key of a pair, and the files as they were when it was made."""

    key: str
    files: tuple[Identity, Identity]
    same: bool = False  # whether both have the same content, and the same stream is read


class Memory:
    """The cache file of comparisons; trouble with it is noted and costs nothing but time."""

    def __init__(self, path: str | None) -> None:
        self._cache = CacheFile(path or cache_path("compare"))

    @property
    def notes(self) -> list[str]:
        return self._cache.notes

    def key(self, request: Request) -> PairKey | None:
        """The key of a pair; None for what isn't remembered, or can't be read."""
        if request.tiny_model is not None or request.allow_damaged:  # decoders may differ about damage
            return None
        try:
            names = [os.fspath(video) for video in request.pair if isinstance(video, str | os.PathLike)]
            if len(names) < 2 or None in map(local_size, names):
                return None
            files = identity(names[0]), identity(names[1])
            digests = [file_digest(name, self._cache) for name in names]
            about: dict[str, Any] = {
                "engine": engine_build(),
                "libraries": _libraries(),
                "files": digests,
                "names": names,  # they are in the report, and tell the geometry of raw video
                "guess": request.guess,
                "order": request.sequential_first,
                "request": _asked(request),
                "models": model_digests(map(str, Wanted.of(request).models), request.viewing),
            }
        except (AcuityError, OSError, TypeError, ValueError):  # scoring has the sentence for it
            return None
        text = json.dumps(about, sort_keys=True)
        same = digests[0] == digests[1] and request.streams[0] == request.streams[1]
        return PairKey(hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest(), files, same)

    def find(self, key: PairKey | None, request: Request) -> ScoreReport | None:
        """The report of an earlier run."""
        return None if key is None else self._cache.entry(key.key, partial(unpacked, request))

    def keep(self, key: PairKey | None, report: ScoreReport) -> None:
        """Remember a report, if its files are still what they were."""
        if key is None or not can_be_kept(report):
            return
        try:
            unchanged = all(identity(about[0]) == about for about in key.files)
        except OSError:
            return
        if unchanged:
            self._cache.keep(key.key, *packed(report))

    def close(self) -> None:
        self._cache.close()


def _asked(request: Request) -> dict[str, Any]:
    """What figures depend on, with one spelling of the default."""
    found = asked(request)
    if found.get("metrics") == [_DEFAULT]:
        del found["metrics"]
    return found


def _libraries() -> dict[str, str]:
    """The versions of what decodes and converts."""
    found = {}
    for name in ("av", "numpy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = ""
    return found
