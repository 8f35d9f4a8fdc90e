"""`acuity report`, and pages of the other commands: opened in Chromium where it is installed."""

from __future__ import annotations

import json
import shlex
import signal
from pathlib import Path
from typing import Any

import pytest

from acuity.cli.main import main
from acuity.cli.vmaf import main as vmaf
from acuity.frames.request import WorstProgress
from devtools import DevTools
from scoring_clips import y4m

HOSTILE = "</script><script>window.stopped = ['ran']</script>\"'\u202e"
Capture = pytest.CaptureFixture[str]


def _old(path: Path, name: str = "b.mp4") -> Path:
    named = {"input": {"distorted": {"path": name}}, "command": name, "notes": [{"text": name}]}
    about = {"version": "0.0.1", **named}
    rows = [{"frameNum": n, "metrics": {"vmaf": 90.5 - n, name: 0.25}} for n in range(20)]
    path.write_text(json.dumps({"version": "3.2.0", "frames": rows, "acuity": about}))
    return path


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("clips")
    return [str(y4m(folder / "ref.y4m")), str(y4m(folder / "dis.y4m", worse=True))]


def test_a_page_beside_the_report(tmp_path: Path, capsys: Capture) -> None:
    old = _old(tmp_path / "old.json")
    assert main(["report", str(old)]) == 0
    page = tmp_path / "old.html"
    assert capsys.readouterr().out == f"{page}\n"
    assert '<h1 dir="auto">b.mp4</h1>' in page.read_text()
    assert "measured by acuity 0.0.1" in page.read_text()
    assert main(["report", str(old)]) == 1
    assert "old.html' exists already: name the file with -o" in capsys.readouterr().err
    assert main(["report", str(old), "-o", str(page)]) == 0


def test_pictures_of_other_videos_are_compared_with_the_score(tmp_path: Path, capsys: Capture) -> None:
    old = tmp_path / "old.json"
    rows = [{"frameNum": n, "metrics": {"integer_adm2": 0.69, "vmaf": 34.64}} for n in range(20)]
    old.write_text(json.dumps({"version": "3.2.0", "frames": rows}))
    box = {"x": 0, "y": 0, "width": 8, "height": 8}
    files = {name: f"{name}.png" for name in ("png", "reference_png", "heat_png")}
    frame = {"frame_index": 9, "time": None, "vmaf": 17.3, "region": box, "description": "", **files}
    document = {"schema": "acuity.worst/1", "frames": [frame], "width": 8, "height": 8}
    (tmp_path / "worst.json").write_text(json.dumps(document))
    assert main(["report", str(old), "--pictures", str(tmp_path)]) == 1
    assert "frame 9 scores 17.30 there and scores 34.64 in the report" in capsys.readouterr().err


def test_what_cannot_be_done_is_said(tmp_path: Path, capsys: Capture) -> None:
    old = _old(tmp_path / "old.json")
    comparison = tmp_path / "compared.json"
    comparison.write_text('{"schema": "acuity.compare/1", "pairs": []}')
    for words, said in (
        ([str(old), "-o", "page.txt"], "'page.txt' doesn't say what to write: end it with .html"),
        ([str(old), "-o", str(tmp_path / "gone" / "page.html")], "does not exist, so create it first"),
        ([str(tmp_path / "no.json")], "cannot be read: No such file or directory"),
        ([str(comparison), "-o", str(tmp_path / "x.html")], "is a comparison: 'acuity compare' writes its"),
    ):
        assert main(["report", *words]) == 1
        printed = capsys.readouterr()
        assert printed.out == ""
        assert said in printed.err
        assert "Traceback" not in printed.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["compared.json", "old.json"]


def test_the_report_itself_is_kept(tmp_path: Path, capsys: Capture) -> None:
    old = _old(tmp_path / "old.html")
    assert main(["report", str(old), "-o", str(old)]) == 1
    assert "would overwrite the report" in capsys.readouterr().err


def test_reports_say_their_command(clips: list[str], tmp_path: Path) -> None:
    path = str(tmp_path / "a report.json")
    words = ["score", *clips, "-q", "-o", path]
    assert main(words) == 0
    assert shlex.split(json.loads(Path(path).read_text())["acuity"]["command"]) == ["acuity", *words]
    words = ["-r", clips[0], "-d", clips[1], "-q", "-o", path, "--json"]
    assert vmaf(words) == 0
    assert shlex.split(json.loads(Path(path).read_text())["acuity"]["command"]) == ["vmaf", *words]


async def test_pages_open_in_a_browser(clips: list[str], tmp_path: Path, page: DevTools) -> None:
    scored, hostile, empty = (tmp_path / f"{name}.html" for name in ("scored", "hostile", "empty"))
    assert main(["score", *clips, "-q", "-o", str(scored)]) == 0
    assert main(["report", str(_old(tmp_path / "old.json", HOSTILE)), "-o", str(hostile)]) == 0
    (tmp_path / "none.json").write_text('{"frames": []}')
    assert main(["report", str(tmp_path / "none.json"), "-o", str(empty)]) == 0

    for file in (scored, hostile, empty):
        await page.go(file.as_uri())
        await page.until("document.body?.dataset.ready === 'true'")
        assert await page.value("window.stopped ?? []") == []
        if file is hostile:
            shown = await page.value("document.querySelector('h1').textContent")
            assert shown == "script>\"'\\u202e"  # the last part of the path


# ---- --pictures: the worst frames in the pages of `acuity score` and `acuity report` ----


def test_pages_show_the_worst_frames(clips: list[str], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert main(["score", *clips, "-q", "-o", str(page)]) == 0
    assert page.read_text().count("data:image/webp;base64,") >= 4
    asked = ["-r", clips[0], "-d", clips[1], "-q"]
    assert vmaf([*asked, "-o", str(page), "--pictures", "1"]) == 0
    assert page.read_text().count("data:image/webp;base64,") == 4
    assert vmaf([*asked, "--html", "-o", str(tmp_path / "named"), "--pictures=0"]) == 0
    assert "No pictures were asked for" in (tmp_path / "named").read_text()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", ["acuity", "vmaf"])
def test_a_signal_while_they_are_drawn_leaves_a_page_without_them(
    clips: list[str], tmp_path: Path, command: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(request: Any, report: Any, count: int, *, progress: Any) -> Any:
        signal.raise_signal(number)
        progress(WorstProgress("drawing", 0, 4))

    monkeypatch.setattr("acuity.frames.page_pictures.page_pictures", interrupted)
    page = tmp_path / "page.html"
    output = ["-q", "-o", str(page)]
    if command == "vmaf":
        code = vmaf(["-r", clips[0], "-d", clips[1], *output])
    else:
        code = main(["score", *clips, *output])
    assert code == 128 + number
    assert "there are no pictures: drawing them was interrupted" in page.read_text()


def test_an_old_report_gets_those_of_a_folder(clips: list[str], tmp_path: Path, capsys: Capture) -> None:
    report, folder = str(tmp_path / "report.json"), str(tmp_path / "worst")
    assert main(["score", *clips, "-q", "-o", report]) == 0
    assert main(["worst", *clips, "-q", "-o", folder]) == 0
    assert main(["report", report, "--pictures", folder]) == 0
    assert (tmp_path / "report.html").read_text().count("data:image/webp") >= 4
    page = str(tmp_path / "none.html")
    assert main(["report", report, "-o", page, "--pictures", str(tmp_path / "gone")]) != 0
    assert "acuity worst" in capsys.readouterr().err
    assert not Path(page).exists()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--pictures", "33", "-o", "x.html"], "'33' should be a whole number from 0 to 32"),
        (["--pictures", "many", "-o", "x.html"], "'many' should be a whole number"),
        (["--pictures", "3"], "pass -o FILE.html too"),
        (["--pictures", "3", "-o", "x.json"], "pass -o FILE.html too"),
        (["--plot=braille"], "is no way to plot: use auto, text, sixel, kitty"),
        (["--plot", "-q"], "--quiet prints no plot"),
        (["--plot", "--json"], "--json prints no plot"),
    ],
)
def test_what_is_refused(options: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "a.mp4", "b.mp4", *options]) != 0
    assert reason in capsys.readouterr().err
