"""The Dockerfile, as far as it can be judged without building it: what it copies, runs and promises."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LINES = re.sub(r"\\\n\s*|^#.*\n", " ", (ROOT / "Dockerfile").read_text(), flags=re.M).split("\n")
INSTRUCTIONS = [(word, rest.strip()) for word, _, rest in (line.strip().partition(" ") for line in LINES)]
COPIED = {source for word, rest in INSTRUCTIONS if word == "COPY" for source in shlex.split(rest)[:-1]}


def last(word: str) -> str:
    """What counts in the image that is kept."""
    return [rest for name, rest in INSTRUCTIONS if name == word][-1]


def ignored(path: str) -> bool:
    """As docker reads .dockerignore: the last line that fits decides."""
    verdict = False
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        pattern = line.strip().removeprefix("!")
        parts = [path, *map(str, Path(path).parents)][:-1]
        if any(fnmatch(part, pattern.removeprefix("**/")) or fnmatch(part, pattern) for part in parts):
            verdict = not line.startswith("!")
    return verdict


def test_what_the_build_needs_is_copied_and_there() -> None:
    project = PROJECT["project"]
    runtime = {f"runtime/{name}" for name in ("pyproject.toml", "README.md", "LICENSE", "src")}
    own = {"pyproject.toml", "CMakeLists.txt", "native", "src", project["readme"], *project["license-files"]}
    assert own | runtime == COPIED
    for source in COPIED:
        assert (ROOT / source).exists(), source
        assert not ignored(source), source


@pytest.mark.parametrize(
    "path", [".git/config", "tests/conftest.py", "build/x", "src/acuity/_native.so", "src/__pycache__/a.pyc"]
)
def test_nothing_else_slips_in(path: str) -> None:
    assert ignored(path)


def test_the_kept_image_is_not_roots_and_starts_the_server() -> None:
    versions = {rest.split("-")[0] for word, rest in INSTRUCTIONS if word == "FROM"}
    assert versions == {f"python:{PROJECT['project']['requires-python'].removeprefix('>=')}"}
    user = last("USER")
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)
    made = " ".join(rest for word, rest in INSTRUCTIONS if word == "RUN")
    assert f"--uid {user.split(':')[0]}" in made
    (command,) = json.loads(last("ENTRYPOINT"))
    assert command in PROJECT["project"]["scripts"]
    assert json.loads(last("CMD")) == ["--stdio"]
    settings = dict(pair.split("=") for pair in shlex.split(last("ENV")))
    assert settings == {"VMAF_MCP_ALLOW": "/data", "ACUITY_DATA": "/var/lib/acuity"}
    assert all(folder in made for folder in settings.values())
    assert json.loads(last("VOLUME")) == [settings["ACUITY_DATA"]]
    assert re.findall(r"\[([\w,]+)\]", made) == ["otel,cluster"] * 2  # built, and kept
    port = re.search(r"127\.0\.0\.1:(\d+)/readyz", last("HEALTHCHECK"))
    assert f"--metrics {port[1]}" in (ROOT / "docs" / "mcp.md").read_text()
