"""Ctrl-C in the middle of `acuity compare`: what is finished is printed, and remembered."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import BinaryIO

import pytest

from acuity.cli.exits import INTERRUPTED
from scoring_clips import container, y4m

SECONDS = 60  # after which a process counts as stuck


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_ctrl_c_keeps_what_is_finished(tmp_path: Path) -> None:
    first = container(tmp_path / "first.mkv", 6)
    container(tmp_path / "second.mkv", 6)
    done = container(tmp_path / "done.mkv", 6, worse=True)
    stalled = tmp_path / "stalled.y4m"
    os.mkfifo(stalled)
    (tmp_path / "list.csv").write_text("reference,distorted\nfirst.mkv,done.mkv\nsecond.mkv,stalled.y4m\n")
    acuity = [sys.executable, "-c", "from acuity.cli.main import main; import sys; sys.exit(main())"]
    process = subprocess.Popen(
        [*acuity, "compare", str(tmp_path / "list.csv"), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    opened: list[BinaryIO] = []
    # Opening a pipe waits for its reader: the second pair, which begins when the first has ended.
    opening = threading.Thread(target=lambda: opened.append(stalled.open("wb", 0)), daemon=True)
    try:
        opening.start()
        opening.join(SECONDS)
        assert opened, "the second pair was never begun"
        whole = y4m(tmp_path / "whole.y4m", 6, worse=True).read_bytes()
        opened[0].write(whole[: len(whole) // 2])
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
        process.wait()
        for pipe in opened:
            pipe.close()
    assert process.returncode == INTERRUPTED, errors
    document = json.loads(out)
    assert document["interrupted"]
    kept, lost = document["pairs"]
    assert kept["error"] is None
    assert kept["status"] == "finished"
    assert lost["status"] == ("not finished" if lost["score"] is None else "partial")  # it had some frames
    assert lost["error"] is None
    assert any("1 of 2 encodes are not finished" in note for note in document["notes"])
    assert b"interrupted: waiting for the frames under way" in errors
    assert b"Traceback" not in errors
    again = subprocess.run(
        [*acuity, "compare", str(first), str(done), "--json"],
        capture_output=True,
        timeout=SECONDS,
        check=True,
    )
    (pair,) = json.loads(again.stdout)["pairs"]
    assert pair["remembered"]
    assert pair["score"] == kept["score"]
