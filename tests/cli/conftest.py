"""Clips for the command-line tests, and the two commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from acuity.measure import BoundarySnapshot, Measurement
from acuity.scoring.run import AttachCallback
from cli_helpers import GEOMETRY, HEIGHT, WIDTH, Cli, Ran, Runner, moving, y4m

SIZE = {
    "vmaf": list(GEOMETRY),
    "acuity": ["--size", f"{WIDTH}x{HEIGHT}", "--pixel-format", "420", "--bitdepth", "8"],
}


@pytest.fixture(scope="session")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ref and dis, raw and as Y4M. Tests don't write here."""
    folder = tmp_path_factory.mktemp("clips")
    (folder / "ref.yuv").write_bytes(moving())
    (folder / "dis.yuv").write_bytes(moving(noise=25))
    (folder / "ref.y4m").write_bytes(y4m(moving()))
    (folder / "dis.y4m").write_bytes(y4m(moving(noise=25)))
    return folder


@pytest.fixture
def pair(clips: Path) -> list[str]:
    """Options of `vmaf`."""
    return ["-r", str(clips / "ref.y4m"), "-d", str(clips / "dis.y4m")]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(capsys)


@pytest.fixture
def listened(monkeypatch: pytest.MonkeyPatch, cli: Cli, clips: Path) -> Runner:
    """Runs a command on the clips; `listen` is told of each frame with the measurement, as by an agent."""

    def run(program: str, *options: str, listen: Callable[[Measurement, BoundarySnapshot], object]) -> Ran:
        def attach(measurement: Measurement, _: int | None) -> None:
            measurement.boundary.on_frame(lambda at: listen(measurement, at))

        @contextmanager
        def embedded(*_: object) -> Iterator[AttachCallback]:
            yield attach

        home = {"vmaf": "acuity.cli.vmaf", "acuity": "acuity.cli.score"}[program]
        monkeypatch.setattr(f"{home}.embedded", embedded)
        return cli.score(program, clips / "ref.y4m", clips / "dis.y4m", *options)

    return run


@pytest.fixture(params=["vmaf", "acuity"])
def command(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def score(command: str, cli: Cli, tmp_path: Path) -> Runner:
    """Scores two files with the command under test, and checks what every refusal has in common."""

    def run(ref: object, dis: object, *options: str, raw: bool = False) -> Ran:
        before = sorted(tmp_path.rglob("*"))
        geometry = SIZE[command] if raw else []
        ran = cli.score(command, ref, dis, *geometry, *options)
        assert ran.out == ""
        assert "Traceback" not in ran.err
        # What is going to be compared may have been said before; a hint may follow.
        sentences = [s for s in ran.err.splitlines() if not s.startswith(("  ", "Try '"))]
        assert len(sentences) == 1, ran.err
        assert sentences[0].startswith(f"{command}: ")
        assert sorted(tmp_path.rglob("*")) == before
        return ran

    return run
