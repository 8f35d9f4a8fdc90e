"""`acuity report`, and pages of the other commands: opened in Chromium where it is installed."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import anyio
import pytest

from acuity.cli.main import main
from acuity.cli.vmaf import main as vmaf
from devtools import BROWSER, Chromium
from scoring_clips import y4m

HOSTILE = "</script><script>window.stopped = ['ran']</script>\"'\u202e"
Capture = pytest.CaptureFixture[str]


def _old(path: Path, name: str = "b.mp4") -> Path:
    about = {
        "version": "0.0.1",
        "input": {"distorted": {"path": name}},
        "command": name,
        "notes": [{"text": name}],
    }
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
        (
            [str(comparison), "-o", str(tmp_path / "x.html")],
            "is a comparison: 'acuity compare' writes its page",
        ),
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


@pytest.mark.skipif(BROWSER is None, reason="neither chromium nor google-chrome is installed here")
def test_pages_open_in_a_browser(clips: list[str], tmp_path: Path, chromium: Chromium) -> None:
    scored, hostile, empty = (tmp_path / f"{name}.html" for name in ("scored", "hostile", "empty"))
    assert main(["score", *clips, "-q", "-o", str(scored)]) == 0
    assert main(["report", str(_old(tmp_path / "old.json", HOSTILE)), "-o", str(hostile)]) == 0
    (tmp_path / "none.json").write_text('{"frames": []}')
    assert main(["report", str(tmp_path / "none.json"), "-o", str(empty)]) == 0

    async def look() -> None:
        with anyio.fail_after(240):
            async with chromium.page() as page:
                for file in (scored, hostile, empty):
                    await page.go(file.as_uri())
                    await page.until("document.body?.dataset.ready === 'true'")
                    assert await page.value("window.stopped ?? []") == []
                    if file is hostile:
                        shown = await page.value("document.querySelector('h1').textContent")
                        assert shown == "script>\"'\\u202e"  # the last part of the path
                assert page.problems == []

    anyio.run(look)
