"""The material of trial encodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from acuity.tune.material import material
from acuity.tune.points.point import Scoring
from acuity.tune.points.workbench import Workbench
from acuity.tune.progress import Stopped
from acuity.tune.request import SearchRequest
from tune_clips import write_y4m


def test_looking_for_shots_is_stopped_with_the_workbench(tmp_path: Path) -> None:
    request = SearchRequest(src=str(write_y4m(tmp_path / "clip.y4m", frames=60)), sample=1.0)
    assert material(request, Workbench(Scoring())).sample is not None
    bench = Workbench(Scoring())
    bench.stop()
    with pytest.raises(Stopped):
        material(request, bench)
