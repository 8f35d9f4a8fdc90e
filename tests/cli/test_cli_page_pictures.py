"""--pictures: the worst frames in the pages of `acuity score` and `acuity report`."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from acuity.cli import vmaf
from acuity.cli.main import main
from acuity.frames.request import WorstProgress


def clips(folder: Path) -> list[str]:
    """Two Y4M files, of which the second has noise in one frame."""
    import numpy as np

    random = np.random.default_rng(2)
    scene = random.integers(40, 200, (12, 16)).repeat(8, 0).repeat(8, 1).astype(np.uint8)
    names = []
    for name in ("reference", "distorted"):
        body = b""
        for number in range(4):
            luma = np.roll(scene, number, 1)
            if name == "distorted" and number == 2:
                luma = luma ^ random.integers(0, 32, luma.shape, np.uint8)
            body += b"FRAME\n" + luma.tobytes() + bytes([128]) * (luma.size // 2)
        path = folder / f"{name}.y4m"
        path.write_bytes(b"YUV4MPEG2 W128 H96 F25:1 Ip C420jpeg\n" + body)
        names.append(str(path))
    return names


def test_a_page_shows_the_worst_frames(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert main(["score", *clips(tmp_path), "-q", "-o", str(page)]) == 0
    assert page.read_text().count("data:image/webp;base64,") >= 4


def test_a_page_of_vmaf_shows_them_too(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    reference, distorted = clips(tmp_path)
    asked = ["-r", reference, "-d", distorted, "-q"]
    assert vmaf.main([*asked, "-o", str(page), "--pictures", "1"]) == 0
    assert page.read_text().count("data:image/webp;base64,") == 4
    assert vmaf.main([*asked, "--html", "-o", str(tmp_path / "named"), "--pictures=0"]) == 0
    assert "No pictures were asked for" in (tmp_path / "named").read_text()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", ["acuity", "vmaf"])
def test_a_signal_while_they_are_drawn_leaves_a_page_without_them(
    tmp_path: Path, command: str, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(request: Any, report: Any, count: int, *, progress: Any) -> Any:
        signal.raise_signal(number)
        progress(WorstProgress("drawing", 0, 4))

    monkeypatch.setattr("acuity.frames.page_pictures.page_pictures", interrupted)
    page = tmp_path / "page.html"
    reference, distorted = clips(tmp_path)
    output = ["-q", "-o", str(page)]
    if command == "vmaf":
        code = vmaf.main(["-r", reference, "-d", distorted, *output])
    else:
        code = main(["score", reference, distorted, *output])
    assert code == 128 + number
    assert "there are no pictures: drawing them was interrupted" in page.read_text()


def test_an_old_report_gets_those_of_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    videos, report, folder = clips(tmp_path), str(tmp_path / "report.json"), str(tmp_path / "worst")
    assert main(["score", *videos, "-q", "-o", report]) == 0
    assert main(["worst", *videos, "-q", "-o", folder]) == 0
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
