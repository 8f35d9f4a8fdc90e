"""Partial reports of interrupted runs, and going on from them with the digits of an uninterrupted run."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import acuity
from acuity.errors import InputError, PairingError, ResumeError
from acuity.report import SHOWN, WRITERS, render_report, write_report
from acuity.scoring.report import ScoreReport
from acuity.scoring.request import Request
from misaligned_clips import encode_luma, frames_of
from scoring_clips import run_until as run

FRAMES = 8


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder, frames = tmp_path_factory.mktemp("pair"), frames_of("cuts")[16 : 16 + FRAMES]
    ref = encode_luma(folder / "ref.mkv", frames, codec="ffv1")
    return str(ref), str(encode_luma(folder / "dis.mp4", frames, crf="30"))


def save(report: ScoreReport, path: Path, **changes: Any) -> str:
    """The report as `acuity score -o` writes it; `changes` are made in its own entry, None takes one out."""
    about = {**report.about(), **report.resumption(), **changes}
    about = {name: value for name, value in about.items() if value is not None}
    write_report(report.results, path, "json", extra={"acuity": about})
    return str(path)


def texts(report: ScoreReport) -> list[str]:
    """The report in all formats and precisions, and its document, without what depends on time."""
    extra = {"acuity": {**report.about(), **report.resumption()}}
    found = [
        "".join(render_report(report.results, format, precision, extra=extra))
        for format in WRITERS
        if format not in SHOWN  # pages say how long it took
        for precision in ("legacy", "max", 3)
    ]
    found.append(json.dumps(report.to_dict(pools=["p7"], per_frame=True)))
    return [re.sub(r'("(fps|seconds)": |fps=")[^,"]*', r"\1", text) for text in found]


REQUESTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "subsample": {"subsample": 3, "features": ["speed_temporal"]},
    "frames and skips": {"frames": 5, "skip_ref": 2, "skip_dis": 2},
    "several models": {"models": ["version=vmaf_v0.6.1:name=a", "version=vmaf_v1.0.16_3d0h:name=b"]},
    "metrics": {"metrics": ["vmaf", "psnr", "xpsnr", "ssim", "cambi"]},
    "clip figures": {"features": ["psnr=enable_apsnr=true", "xpsnr", "float_motion"], "models": []},
    "no alignment": {"align": "off", "crop": "32:32:8:8"},
}


@pytest.mark.parametrize("name", REQUESTS)
def test_going_on_after_any_frame(name: str, pair: tuple[str, str], tmp_path: Path) -> None:
    request = Request(*pair, **REQUESTS[name])
    whole = run(request)
    length = whole.input["pairs"]
    wanted = texts(whole)
    for stop in range(1, length) if name in ("plain", "subsample") else (2, length - 1):
        part = run(request, stop)
        assert part.partial is not None
        assert part.partial.to_document() == {"frames": stop, "of": length, "why": "interrupted"}
        saved = save(part, tmp_path / "part.json")
        assert texts(run(replace(request, resume=saved))) == wanted, stop


def test_aligned_videos(tmp_path: Path) -> None:
    """The frames that are left out are the same ones again, before and after the interruption."""
    frames = frames_of("grain")[:40]
    ref = encode_luma(tmp_path / "src.mkv", frames, codec="ffv1")
    dis = encode_luma(tmp_path / "x.mp4", [*frames[1:20], *frames[21:]], crf="28")
    request = Request(str(ref), str(dis), align="auto", models=[], features=["psnr", "motion"])
    whole = run(request)
    assert len(whole.input["alignment"]["decisions"]) == 2
    for stop in (5, 30):
        saved = save(run(request, stop), tmp_path / "part.json")
        assert texts(run(replace(request, resume=saved))) == texts(whole)


def test_frames_that_do_not_match_get_a_warning_in_a_partial_report(tmp_path: Path) -> None:
    """A refusal would throw away what was measured; the run that goes on looks again, and refuses."""
    frames = frames_of("grain")[:40]
    ref = encode_luma(tmp_path / "src.mkv", frames, codec="ffv1")
    dis = encode_luma(tmp_path / "x.mp4", frames[1:], crf="28")
    request = Request(str(ref), str(dis), models=[], features=["psnr"])
    part = run(request, 20)
    assert [note.code for note in part.warnings] == ["partial", "alignment"]
    assert "is 1 frame ahead of" in part.warnings[1].text
    saved = save(part, tmp_path / "part.json")
    with pytest.raises(PairingError, match="is 1 frame ahead of"):
        run(replace(request, resume=saved))


def test_a_partial_document_says_so(pair: tuple[str, str]) -> None:
    report = run(Request(*pair, subsample=2), 5)
    document = report.to_dict()
    assert document["partial"] == {"frames": 5, "of": FRAMES, "why": "interrupted"}
    assert document["frames"] == 3
    assert document["input"]["pairs"] == 5
    assert "steering" not in document
    first = report.notes[0]
    assert (first.level, first.code) == ("warning", "partial")
    assert first.text.startswith("partial: 5 of 8 frames")
    xml = "".join(render_report(report.results, "xml", extra={"acuity": report.about()}))
    assert '<partial frames="5" of="8" why="interrupted" />' in xml


def test_speed_is_of_the_frames_that_were_computed(pair: tuple[str, str], tmp_path: Path) -> None:
    saved = save(run(Request(*pair), 7), tmp_path / "part.json")
    report = run(Request(*pair, resume=saved))
    assert report.restored == 7
    assert report.speed == pytest.approx(1 / report.seconds)


@pytest.fixture(scope="module")
def part(pair: tuple[str, str]) -> ScoreReport:
    return run(Request(*pair, subsample=2), 4)


@pytest.fixture
def saved(part: ScoreReport, tmp_path: Path) -> str:
    return save(part, tmp_path / "part.json")


def refused(request: Request) -> str:
    with pytest.raises(ResumeError) as caught:
        run(request)
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"partial": None}, "is the report of a whole run, so there is nothing to go on with"),
        ({"version": "0.0.9"}, "is by Acuity 0.0.9, and this is"),
        ({"resume": None}, "has no figures to go on from (a video is no plain file, or `vmaf` wrote it)"),
        ({"resume": None, "steering": {}}, "has no figures to go on from (an agent steered it)"),
        ({"resume": {}}, "are damaged: measure anew"),
        ({"resume": 3}, "has no figures to go on from"),
    ],
)
def test_reports_without_a_checkpoint(
    pair: tuple[str, str], part: ScoreReport, tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    saved = save(part, tmp_path / "part.json", **changes)
    assert said in refused(Request(*pair, subsample=2, resume=saved))


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"3", b'{"frames": []}', b'{"acuity": 3}', b"\xff\xfe", b"<VMAF/>", b"[" * 99999],
)
def test_files_that_are_no_report(pair: tuple[str, str], tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    assert "is no JSON report of `acuity score`, or was cut off" in refused(Request(*pair, resume=str(path)))


def test_a_file_that_is_not_there(pair: tuple[str, str], tmp_path: Path) -> None:
    assert "cannot be read: No such file" in refused(Request(*pair, resume=str(tmp_path / "none.json")))
    assert "cannot be read: Is a directory" in refused(Request(*pair, resume=str(tmp_path)))


def test_figures_that_were_damaged(pair: tuple[str, str], saved: str) -> None:
    report = json.loads(Path(saved).read_text())
    report["acuity"]["resume"]["columns"]["integer_adm2"]["values"] += "AAAA"
    Path(saved).write_text(json.dumps(report))
    assert "are damaged" in refused(Request(*pair, subsample=2, resume=saved))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "was measured with subsample=2: pass that"),
        ({"subsample": 3}, "was measured with subsample=2: pass that"),
        ({"subsample": 2, "models": ["vmaf_v0.6.1neg"]}, "was measured without models=: leave it out"),
        ({"subsample": 2, "features": ["psnr"]}, "was measured without features=: leave it out"),
        ({"subsample": 2, "align": "off"}, "was measured without align=: leave it out"),
        ({"subsample": 2, "skip_ref": 1}, "was measured without skip_ref=: leave it out"),
    ],
)
def test_other_options(pair: tuple[str, str], saved: str, options: dict[str, Any], said: str) -> None:
    assert said in refused(Request(*pair, **options, resume=saved))


def test_options_that_change_no_figure(pair: tuple[str, str], saved: str) -> None:
    report = run(Request(*pair, subsample=2, threads=1, cpu="plain", resume=saved))
    assert report.partial is None


Change = Callable[[bytes], bytes]


@pytest.mark.parametrize(
    ("which", "change"),
    [
        ("reference", lambda content: content + b"\0"),
        ("distorted", lambda content: content[:-1] + bytes([content[-1] ^ 1])),
        ("reference", lambda content: content[: len(content) // 2] + b"?" + content[len(content) // 2 + 1 :]),
    ],
)
def test_other_files(pair: tuple[str, str], saved: str, tmp_path: Path, which: str, change: Change) -> None:
    copies = {}
    for name, path in zip(("reference", "distorted"), pair, strict=True):
        copies[name] = str(tmp_path / os.path.basename(path))
        content = Path(path).read_bytes()
        Path(copies[name]).write_bytes(change(content) if name == which else content)
    request = Request(**copies, subsample=2, resume=saved)  # type: ignore[arg-type]
    assert f"is of another {which} than" in refused(request)


def test_videos_that_are_no_plain_files(pair: tuple[str, str], saved: str, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.y4m"
    os.mkfifo(pipe)
    for video in ("-", str(pipe), str(tmp_path), "shot.%04d.png", "shots/*.png", "http://127.0.0.1/a.mkv"):
        said = "the reference is no plain file, and only those are read twice: measure anew"
        assert refused(Request(video, pair[1], subsample=2, resume=saved)) == said
    with pytest.raises(InputError, match="does not exist"):
        run(Request(str(tmp_path / "none.y4m"), pair[1], subsample=2, resume=saved))


def test_large_raw_files_of_one_size_are_told_apart(tmp_path: Path) -> None:
    """Between black frames at both ends, only the middle differs."""
    from acuity.video.local_file import fingerprint

    paths = [tmp_path / name for name in ("a.yuv", "b.yuv")]
    for path, middle in zip(paths, (b"\1", b"\2"), strict=True):
        with path.open("wb") as file:
            file.seek(40 << 20)
            file.write(middle * (8 << 20))
            file.truncate(88 << 20)
    assert fingerprint(paths[0]) != fingerprint(paths[1])
    assert fingerprint(tmp_path) is None


def test_readers_leave_nothing_to_go_on_from(pair: tuple[str, str]) -> None:
    with acuity.open_video(pair[0]) as ref, acuity.open_video(pair[1]) as dis:
        report = run(Request(ref, dis), 4)
    assert report.partial is not None
    assert report.resumption() == {}
