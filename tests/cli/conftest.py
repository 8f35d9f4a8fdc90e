"""Clips for the command-line tests, and the two commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_helpers import GEOMETRY, HEIGHT, WIDTH, Ran, Runner, moving, run_acuity, run_vmaf, y4m

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


@pytest.fixture(params=["vmaf", "acuity"])
def command(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def score(command: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Runner:
    """Scores two files with the command under test, and checks what every refusal has in common."""

    def run(ref: object, dis: object, *options: str, raw: bool = False) -> Ran:
        before = sorted(tmp_path.rglob("*"))
        geometry = SIZE[command] if raw else []
        if command == "vmaf":
            ran = run_vmaf(capsys, "-r", str(ref), "-d", str(dis), *geometry, *options)
        else:
            ran = run_acuity(capsys, "score", str(ref), str(dis), *geometry, *options)
        assert ran.out == ""
        assert "Traceback" not in ran.err
        # What is going to be compared may have been said before; a hint may follow.
        sentences = [s for s in ran.err.splitlines() if not s.startswith(("  ", "Try '"))]
        assert len(sentences) == 1, ran.err
        assert sentences[0].startswith(f"{command}: ")
        assert sorted(tmp_path.rglob("*")) == before
        return ran

    return run
