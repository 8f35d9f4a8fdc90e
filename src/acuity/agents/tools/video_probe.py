"""A process that describes video files for a server, because a file may crash or hang a decoder.

Its first document names the folders it may read, every further one is the path of a file. It says that it is
ready, and answers each path with a JSON object that describes the file or has the `problem`.
"""

from __future__ import annotations

import json
import os
import resource
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from acuity.access.paths import AllowedPaths, guard_for
from acuity.child_process import Ended, begin, read_document
from acuity.errors import AcuityError
from acuity.jobs.worker.main import lower_priority
from acuity.scoring.fronts import sentence
from acuity.video.local_file import restrict
from acuity.video.readers.open import open_video

_NICE: Final = 10
_MEMORY: Final = 4 << 30  # bytes
_CPU_SECONDS: Final = 60
_LONGEST: Final = 300  # characters of a problem


def describe_video(path: str) -> dict[str, Any]:
    """Describe a file with the names of the scoring tools' arguments; raw video by its file name."""
    try:
        with open_video(path, guess=True, threads=1, luma_only=True) as reader:
            info = reader.info
    except AcuityError as error:
        return {"problem": sentence(error, "list_videos")[:_LONGEST]}
    except Exception as error:  # a broken file must not end the process
        return {"problem": f"it can't be read: {type(error).__name__}"}
    rate = float(info.rate) if info.rate else None
    # A file's length times its usual rate counts frames only where the rate doesn't vary.
    frames = info.frames if info.frames_exact or not info.variable_rate else None
    found = {
        "kind": info.kind,
        "codec": info.codec,
        "width": info.width,
        "height": info.height,
        "pixfmt": info.format.layout,
        "bitdepth": info.format.depth,
        "fps": None if rate is None else round(rate, 3),
        "variable_rate": info.variable_rate or None,
        "frames": frames,
        "duration": round(info.frames / rate, 3) if rate and info.frames is not None else None,
    }
    return {name: value for name, value in found.items() if value is not None}


def main() -> None:
    file, tell = begin()
    os.setsid()  # the priority of a whole session is lowered: not that of the server's
    lower_priority(_NICE, _MEMORY)
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, most))
    roots, private = ([*map(Path, folders)] for folders in read_document(file))
    restrict(guard_for(AllowedPaths(roots, private=private, resolved=True)))
    tell(b"r")
    with suppress(Ended):
        while True:
            tell(b"v", json.dumps(describe_video(read_document(file))).encode())


if __name__ == "__main__":
    main()
