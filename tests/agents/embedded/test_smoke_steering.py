"""A command that is steered while it scores, and the report of which says what unsteered runs say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from acuity.cli.vmaf import main as vmaf
from embedded_client import PATIENCE, Command, commanded
from smoke_film import Film

MODEL, NEG = "vmaf_v0.6.1", "vmaf_v0.6.1neg"


def steered(film: Film, command: Command, tool: str, **arguments: Any) -> dict[str, Any]:
    """Ask for something that happens between two frames, and make frames until it has."""
    number = command.client.send("tools/call", name=tool, arguments=arguments)
    while not command.answered(0.02):
        assert film.written < 5000, "no answer"
        film.more()
    message = command.client.receive()
    assert message["id"] == number
    assert not message["result"].get("isError"), message
    return message["result"]["structuredContent"]


@contextmanager
def scoring(film: Film, report: Path) -> Iterator[Command]:
    """`acuity score` with a client, which can leave."""
    options = ["--enable-mcp-stdio", "-o", str(report), "--threads", "1"]
    with commanded("acuity.cli.main", "score", *map(str, film.paths), *options) as command:
        try:
            yield command
        finally:
            film.close()


def frames_of(report: Path) -> dict[int, dict[str, str]]:
    """The figures as they are written, by frame."""
    document = json.loads(report.read_text(), parse_float=str, parse_int=str)
    return {int(frame["frameNum"]): frame["metrics"] for frame in document["frames"]}


@pytest.mark.parametrize("threads", [1, 3])
def test_each_segment_equals_an_unsteered_run(threads: int, tmp_path: Path) -> None:
    film = Film(tmp_path, 48)
    report = tmp_path / "steered.json"
    options = ["--threads", str(threads), "--json", "-o", str(report), "--precision", "max"]
    videos = ["-r", str(film.paths[0]), "-d", str(film.paths[1]), "--enable-mcp-stdio", "-q"]
    with commanded("acuity.cli.vmaf", *videos, *options) as command:
        try:
            first = steered(film, command, "vmaf.request_model_swap", name=NEG)["first"]
            film.more(7)
            second = steered(film, command, "vmaf.request_model_swap", name=MODEL)["first"]
            film.more(7)
            third = steered(film, command, "vmaf.request_model_swap", name=NEG)["first"]
            film.more(7)
            sparse = steered(film, command, "vmaf.set_subsample", n=3)["next_frame"]
            film.more(10)
        finally:
            film.close()
        _, err = command.process.communicate(timeout=PATIENCE)
        assert command.process.returncode == 0, err
    assert 0 <= first < second < third < sparse <= film.written

    kept = film.keep(tmp_path)
    alone = {}
    for model in (MODEL, NEG):
        target = tmp_path / f"{model}.json"
        line = ["-r", str(kept[0]), "-d", str(kept[1]), "-m", f"version={model}", "-q"]
        assert vmaf([*line, "--json", "-o", str(target), "--precision", "max"]) == 0
        alone[model] = frames_of(target)

    said = json.loads(report.read_text())["acuity"]["steering"]["segments"]
    labels = [(part["label"], part["first"], part["last"]) for part in said]
    expected = [(MODEL, 0, first - 1), (NEG, first, second - 1), (MODEL, second, third - 1)]
    assert labels == [part for part in [*expected, (NEG, third, film.written - 1)] if part[2] >= part[1]]
    got = frames_of(report)
    assert list(got) == [index for index in range(film.written) if index < sparse or index % 3 == 0]
    compared = 0
    for label, begin, end in labels:
        for index in range(begin, end + 1):
            if index not in got:
                continue
            # A feature of the other model may run on for a while; it has that model's figure.
            for name, text in got[index].items():
                owner = alone[label] if name in alone[label][index] else alone[MODEL if label == NEG else NEG]
                assert owner[index][name] == text, (index, name)
                compared += 1
            assert got[index].keys() >= alone[label][index].keys()
    assert compared > 10 * len(got)


def test_a_command_whose_input_stalls_is_stopped_and_writes_its_report(tmp_path: Path) -> None:
    film = Film(tmp_path, 8)
    report = tmp_path / "report.json"
    with scoring(film, report) as command:
        film.more(3)
        while (status := command.client.call("vmaf.status"))["state"] != "waiting_for_input":
            assert status["state"] in ("waiting", "measuring")
        assert status["frames_read"] == status["frames_scored"] == 3
        assert status["waiting_seconds"] >= 1.0
        # All commands are carried out meanwhile: it is between two frames.
        swapped = command.client.call("vmaf.request_model_swap", name="vmaf_v0.6.1neg")
        assert swapped["next_frame"] == 3
        assert command.client.call("vmaf.pause")["paused"]
        assert command.client.call("vmaf.resume")["lifted"]
        assert command.client.call("vmaf.stop") == {"stopped": True, "frames_read": 3}
        _, err = command.process.communicate(timeout=PATIENCE)
        assert command.process.returncode == 0, err
    written = json.loads(report.read_text())
    assert len(written["frames"]) == 3
    assert written["acuity"]["steering"]["stopped_after"] == 2


def test_a_command_that_was_stopped_before_its_first_frame_says_so(tmp_path: Path) -> None:
    film = Film(tmp_path, 8)
    report = tmp_path / "report.json"
    with scoring(film, report) as command:
        film.begin()
        assert command.client.call("vmaf.status")["state"] == "waiting"
        assert command.client.call("vmaf.stop") == {"stopped": True, "frames_read": 0}
        _, err = command.process.communicate(timeout=PATIENCE)
    assert command.process.returncode == 101  # no frames, as the table of exit codes has it
    assert err.splitlines()[-1].endswith("was stopped before its first frame: it has no results")
    assert not report.exists()
