"""`pip install acuity-vmaf` without extras: everything scores, and whatever serves says what to install."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest

import acuity
from scoring_clips import container, y4m

ROOT = Path(__file__).resolve().parents[1]
SENTENCE = "the MCP server is an extra that is not installed (longwire"
REMEDY = "pip install 'acuity-vmaf[mcp]'\n"


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package and what pyproject.toml says it needs, and nothing else."""
    folder = tmp_path_factory.mktemp("packages")
    (folder / "acuity").symlink_to(Path(acuity.__file__).parent)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for requirement in project["dependencies"]:
        found = distribution(re.split(r"[<>=!~ ]", requirement)[0])
        for top in {file.parts[0] for file in found.files or () if not file.parts[0].startswith("..")}:
            (folder / top).symlink_to(str(found.locate_file(top)))
    return folder


@pytest.fixture
def clips(tmp_path: Path) -> list[str]:
    return [str(y4m(tmp_path / "ref.y4m", 3)), str(y4m(tmp_path / "dis.y4m", 3, worse=True))]


def run(packages: Path, *code_and_arguments: str) -> subprocess.CompletedProcess[str]:
    """A program that finds these packages; -S leaves out those that are installed."""
    return subprocess.run(
        [sys.executable, "-S", "-c", *code_and_arguments],
        env={**os.environ, "PYTHONPATH": str(packages)},
        capture_output=True,
        text=True,
        timeout=60,
    )


def command(packages: Path, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run(packages, f"import sys; from acuity.cli.{module} import main; sys.exit(main())", *arguments)


def test_it_scores(packages: Path, clips: list[str]) -> None:
    vmaf = command(packages, "vmaf", "-r", clips[0], "-d", clips[1])
    people = command(packages, "main", "score", *clips, "--json")
    python = run(packages, "import sys, acuity; print(acuity.score(*sys.argv[1:]).score)", *clips)
    expected = acuity.score(*clips).score
    assert vmaf.stderr.splitlines()[-1] == f"vmaf_v0.6.1: {expected:.6f}"
    assert (people.returncode, people.stderr) == (0, "")
    assert python.stdout == f"{expected}\n"


def test_it_decodes(packages: Path, tmp_path: Path) -> None:
    clip = str(container(tmp_path / "clip.mkv", 3))
    ran = command(packages, "main", "score", clip, clip, "--quiet")
    assert ran.returncode == 0, ran.stderr


def test_every_public_name_is_there(packages: Path) -> None:
    code = """
import importlib, pkgutil, acuity
from acuity import *
for found in pkgutil.walk_packages(acuity.__path__, "acuity."):
    if not found.name.startswith(("acuity.agents", "acuity.jobs")):
        importlib.import_module(found.name)
"""
    assert run(packages, code).stderr == ""


def test_the_version_needs_no_server(packages: Path) -> None:
    assert command(packages, "serve", "--version").returncode == 0


def test_what_serves_says_what_to_install(packages: Path, clips: list[str]) -> None:
    videos = ("-r", clips[0], "-d", clips[1])
    asked = {
        "vmaf-mcp": command(packages, "serve"),
        "acuity": command(packages, "main", "serve", "--http", "0"),
        "acuity ": command(packages, "main", "score", *clips, "--enable-mcp-sse", "0"),
        "vmaf": command(packages, "vmaf", *videos, "--enable-mcp-http", "0"),
    }
    for program, ran in asked.items():
        assert (ran.returncode, ran.stdout) == (1, "")
        assert ran.stderr.startswith(f"{program.strip()}: {SENTENCE}")
        assert ran.stderr.endswith(REMEDY)
        assert len(ran.stderr.splitlines()) == 1


def test_python_says_so_too(packages: Path, clips: list[str]) -> None:
    code = """
import sys, acuity
for serve in ("sse:0", lambda server: None):
    try:
        acuity.score(*sys.argv[1:], serve=serve)
    except ImportError as error:
        assert isinstance(error, acuity.AcuityError)
        print(error)
"""
    ran = run(packages, code, *clips)
    assert [line.startswith(SENTENCE) for line in ran.stdout.splitlines()] == [True, True], ran.stderr
