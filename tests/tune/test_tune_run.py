"""Requests carried out: what a run leaves behind."""

from __future__ import annotations

from pathlib import Path

from acuity.tune.request import SearchRequest
from acuity.tune.run import run_search
from tune_clips import write_y4m


def children() -> set[str]:
    """The processes started here, with those that ended and were not reaped."""
    return {pid for file in Path("/proc/self/task").glob("*/children") for pid in file.read_text().split()}


def test_no_encoder_process_is_left_when_a_run_ends(tmp_path: Path) -> None:
    source = write_y4m(tmp_path / "source.y4m", 12)
    before = children()
    found = run_search(SearchRequest(src=str(source), preset="ultrafast", target_vmaf=70, no_cache=True))
    assert found["encodes"] > 0
    assert children() <= before
