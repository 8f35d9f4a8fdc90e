"""A process that describes video files for a server, because a file may crash or hang a decoder.

The first line of its input is a JSON list of the folders it may read, every further line the path of a file
as a JSON string. It prints that it is ready, and then answers each path with one line: a JSON object that
describes the file or has the `problem`.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from acuity.access.paths import AllowedPaths, guard_for
from acuity.errors import AcuityError
from acuity.jobs.worker.main import lower_priority
from acuity.scoring.fronts import sentence
from acuity.video.local_file import restrict
from acuity.video.readers.open import open_video

_NICE: Final = 10
_MEMORY: Final = 4 << 30  # bytes
_CPU_SECONDS: Final = 60  # also ends the process if its server has ended
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


def answer_all(lines: Iterable[str]) -> None:
    """Answer every line."""
    for line in lines:
        print(json.dumps(describe_video(json.loads(line))), flush=True)


def main() -> None:
    lower_priority(_NICE, _MEMORY)
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, most))
    roots, private = ([*map(Path, folders)] for folders in json.loads(sys.stdin.readline()))
    restrict(guard_for(AllowedPaths(roots, private=private, resolved=True)))
    print("ready", flush=True)
    answer_all(sys.stdin)


if __name__ == "__main__":
    main()
