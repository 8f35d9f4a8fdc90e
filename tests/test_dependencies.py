"""Every package that is imported is declared in a pyproject.toml; those that src imports, with bounds."""

from __future__ import annotations

import ast
import functools
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

import pytest

import acuity
from import_statements import import_statements
from scoring_clips import container, y4m

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "acuity"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ENGINE: list[str] = PROJECT["dependencies"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
# What single functions ask for, and say how to install where it lacks.
OPTIONAL: list[str] = [
    entry for extra in ("pandas", "yaml", "tiny", "verify", "eval", "vlm", "cuda") for entry in EXTRAS[extra]
]
_LONGWIRE = tomllib.loads((ROOT / "runtime" / "pyproject.toml").read_text())["project"]
RUNTIME = [
    *_LONGWIRE["dependencies"],
    *(entry for entries in _LONGWIRE["optional-dependencies"].values() for entry in entries),
]
SERVER = [*ENGINE, *OPTIONAL, *EXTRAS["mcp"], *RUNTIME]
FOLDERS = ("tests", "bench", "runtime/tests", "runtime/bench")
DATA = {"ffmpeg-quality-metrics", "nvidia-cuda-nvrtc"}  # whose files are read and whose code is not imported
# Packages that are not among those of dev, because few machines have a use for them.
ELSEWHERE = {"cupy_backends": ["cupy-cuda13x"]}
OWN = {"acuity-vmaf", "longwire"}
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _declared(requirements: Iterable[str]) -> dict[str, str]:
    """Versions by distribution."""
    found = {}
    for requirement in requirements:
        name = _NAME.match(requirement)
        assert name is not None
        found[_normal(name[0])] = requirement[name.end() :]
    return found


def _imported(paths: Iterable[Path]) -> Iterator[tuple[str, Path]]:
    """Packages of others that files import, lazily too."""
    own = {"acuity", "longwire", *_helpers()}
    for path in paths:
        for node, _ in import_statements(path):
            modules = [name.name for name in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules = [node.module]
            for module in modules:
                package = module.split(".")[0]
                if package not in sys.stdlib_module_names and package not in own:
                    yield package, path


@functools.cache
def _helpers() -> set[str]:
    return {path.stem for path in _files(*FOLDERS)}


@functools.cache
def _distributions() -> Mapping[str, list[str]]:
    """Those that are installed, by the packages that they bring."""
    return {**ELSEWHERE, **packages_distributions()}


def _undeclared(paths: Iterable[Path], requirements: Iterable[str]) -> set[tuple[str, str]]:
    declared, known = _declared(requirements), _distributions()
    return {
        (package, str(path.relative_to(ROOT)))
        for package, path in _imported(paths)
        if not {_normal(name) for name in known.get(package, [package])} & declared.keys()
    }


@functools.cache
def _files(*folders: str) -> list[Path]:
    return [path for folder in folders for path in (ROOT / folder).rglob("*.py")]


@pytest.mark.parametrize(
    ("folders", "left_out", "requirements"),
    [
        (["src/acuity"], ["agents", "jobs"], [*ENGINE, *OPTIONAL]),  # what a plain install brings
        (["src/acuity"], [], SERVER),
        (["runtime/src/longwire"], [], RUNTIME),
        (FOLDERS, [], [*SERVER, *EXTRAS["dev"]]),
    ],
)
def test_what_is_imported_is_declared(
    folders: Sequence[str], left_out: list[str], requirements: list[str]
) -> None:
    servers = {SOURCE / room for room in left_out}
    assert _undeclared([p for p in _files(*folders) if not servers & {*p.parents}], requirements) == set()


def test_what_is_imported_has_a_lower_and_an_upper_bound() -> None:
    for name, versions in _declared(SERVER).items():
        if name not in OWN:
            assert re.search(r">=\d", versions), name
            assert re.search(r"<\d", versions), name


def test_what_is_declared_is_imported() -> None:
    known = _distributions()
    paths = _files("src/acuity", "runtime/src/longwire")
    used = {_normal(name) for package, _ in _imported(paths) for name in known.get(package, [])}
    assert _declared(SERVER).keys() - used - DATA == OWN


def test_no_page_installs_another_company_s_package() -> None:
    """`acuity` is somebody else's name on the package index: ours is `acuity-vmaf`."""
    names = ["README.md", "CONTRIBUTING.md", "Dockerfile", "pyproject.toml", "Makefile"]
    files = [ROOT / name for name in names]
    for folder in ("src", "docs", "examples", "tools", "runtime/src", "runtime/docs", "runtime/examples"):
        files += [
            path for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".md", ".toml", ".yaml")
        ]
    other = re.compile(r"(?<![\w.-])acuity\[(?=[a-z]+[],])|\bpip install (?:-\S+ )*acuity\b(?!-vmaf)")
    assert [str(path.relative_to(ROOT)) for path in files if other.search(path.read_text())] == []


# ---- `pip install acuity-vmaf` without extras: everything scores, and whatever serves ----


SENTENCE = "the MCP server is an extra that is not installed (longwire"
REMEDY = "pip install 'acuity-vmaf[mcp]'\n"


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package and what pyproject.toml says it needs, and nothing else."""
    folder = tmp_path_factory.mktemp("packages")
    (folder / "acuity").symlink_to(Path(acuity.__file__).parent)
    for requirement in ENGINE:
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
