"""A command that is steered while it scores, and the report of which says what unsteered runs say."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from acuity.cli.vmaf import main as vmaf
from embedded_client import PATIENCE, LineClient
from prepared_programs import Program
from smoke_film import Film

MODEL, NEG = "vmaf_v0.6.1", "vmaf_v0.6.1neg"


@contextmanager
def command(film: Film, *options: str) -> Iterator[tuple[Program, LineClient, int]]:
    """`vmaf` with a client at descriptors 3 and 4."""
    theirs_in, write = os.pipe()
    read, theirs_out = os.pipe()
    run = [sys.executable, "-m", "acuity.cli.vmaf", "-r", str(film.paths[0]), "-d", str(film.paths[1])]
    process = Program(
        [*run, "--enable-mcp-stdio", "-q", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        descriptors=(theirs_in, theirs_out),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        yield process, LineClient(read, write), read
    finally:
        film.close()
        process.kill()
        process.communicate()
        os.close(read)
        os.close(write)


def steered(film: Film, client: LineClient, answers: int, tool: str, **arguments: Any) -> dict[str, Any]:
    """Ask for something that happens between two frames, and make frames until it has."""
    number = client.send("tools/call", name=tool, arguments=arguments)
    while not select.select([answers], [], [], 0.02)[0]:
        assert film.written < 5000, "no answer"
        film.more()
    message = client.receive()
    assert message is not None
    assert message["id"] == number
    assert not message["result"].get("isError"), message
    document: dict[str, Any] = message["result"]["structuredContent"]
    return document


def frames_of(report: Path) -> dict[int, dict[str, str]]:
    """The figures as they are written, by frame."""
    document = json.loads(report.read_text(), parse_float=str, parse_int=str)
    return {int(frame["frameNum"]): frame["metrics"] for frame in document["frames"]}


@pytest.mark.parametrize("threads", [1, 3])
def test_each_segment_equals_an_unsteered_run(threads: int, tmp_path: Path) -> None:
    film = Film(tmp_path, 48)
    report = tmp_path / "steered.json"
    options = ["--threads", str(threads), "--json", "-o", str(report), "--precision", "max"]
    with command(film, *options) as (process, client, answers):
        first = steered(film, client, answers, "vmaf.request_model_swap", name=NEG)["first"]
        film.more(7)
        second = steered(film, client, answers, "vmaf.request_model_swap", name=MODEL)["first"]
        film.more(7)
        third = steered(film, client, answers, "vmaf.request_model_swap", name=NEG)["first"]
        film.more(7)
        sparse = steered(film, client, answers, "vmaf.set_subsample", n=3)["next_frame"]
        film.more(10)
        film.close()
        output, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, output
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
