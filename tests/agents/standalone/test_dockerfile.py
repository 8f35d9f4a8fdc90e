"""The Dockerfile, as far as it can be judged without building it: what it copies, runs and promises."""

from __future__ import annotations

import ast
import json
import re
import shlex
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

from longwire.command.serve import option_groups

ROOT = Path(__file__).resolve().parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
KNOWN = {
    "FROM", "RUN", "WORKDIR", "COPY", "ENV", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD",
}  # fmt: skip


def instructions() -> list[tuple[str, str]]:
    """Each with its words; lines that go on are joined, comments left out."""
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [
        (word, rest.strip()) for word, _, rest in (line.partition(" ") for line in joined.split("\n")) if word
    ]


def stages() -> list[list[tuple[str, str]]]:
    found: list[list[tuple[str, str]]] = []
    for word, rest in instructions():
        if word == "FROM":
            found.append([])
        found[-1].append((word, rest))
    return found


def last(word: str) -> str:
    """What counts in the image that is kept."""
    return [rest for name, rest in stages()[-1] if name == word][-1]


def copied() -> list[str]:
    return [source for word, rest in instructions() if word == "COPY" for source in shlex.split(rest)[:-1]]


def ignored(path: str) -> bool:
    """As docker reads .dockerignore: the last line that fits decides."""
    verdict = False
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        pattern = line.strip().removeprefix("!")
        if not pattern or pattern.startswith("#"):
            continue
        parts = [path, *(str(parent) for parent in Path(path).parents if str(parent) != ".")]
        if any(fnmatch(part, pattern.removeprefix("**/")) or fnmatch(part, pattern) for part in parts):
            verdict = not line.startswith("!")
    return verdict


def test_instructions_are_instructions() -> None:
    assert {word for word, _ in instructions()} == KNOWN


def test_what_is_copied_is_there_and_not_ignored() -> None:
    for source in copied():
        assert (ROOT / source).exists(), source
        assert not ignored(source), source


def test_what_the_build_needs_is_copied() -> None:
    project = PROJECT["project"]
    needed = {
        "pyproject.toml",
        "CMakeLists.txt",
        "native",
        project["readme"],
        *project["license-files"],
        "src",
        *(f"runtime/{name}" for name in ("pyproject.toml", "README.md", "LICENSE", "src")),
    }
    assert needed == set(copied())
    listed = re.findall(r"(?:native|src)/[\w./]+", (ROOT / "CMakeLists.txt").read_text())
    assert listed
    assert all(path.split("/")[0] in copied() and not ignored(path) for path in listed)


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        "tests/conftest.py",
        "build/x",
        "src/acuity/_native.so",
        "src/__pycache__/a.pyc",
        ".venv/x",
    ],
)
def test_nothing_else_slips_in(path: str) -> None:
    assert ignored(path)


def test_the_kept_image_is_small_and_not_roots() -> None:
    assert [word for word, _ in stages()[-1]].count("COPY") == 0
    assert "g++" not in "".join(rest for _, rest in stages()[-1])
    user = last("USER")
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)
    after = [word for word, _ in stages()[-1]]
    assert "RUN" not in after[after.index("USER") :]
    assert f"--uid {user.split(':')[0]}" in "".join(rest for word, rest in stages()[-1] if word == "RUN")


def test_both_stages_have_the_python_that_is_supported() -> None:
    versions = {re.match(r"python:(\d+\.\d+)-slim", rest) for word, rest in instructions() if word == "FROM"}
    assert None not in versions
    least = PROJECT["project"]["requires-python"].removeprefix(">=")
    assert {match[1] for match in versions if match} == {least}


def test_what_is_installed_exists() -> None:
    installed = [
        set(names.split(","))
        for word, rest in instructions()
        if word == "RUN"
        for names in re.findall(r"\[([\w,]+)\]", rest)
    ]
    assert installed == [{"otel", "cluster"}] * 2  # built, and kept; examples/cluster/kubernetes.yaml uses it
    assert installed[0] <= set(PROJECT["project"]["optional-dependencies"])


def test_it_starts_the_server() -> None:
    (command,) = json.loads(last("ENTRYPOINT"))
    assert command in PROJECT["project"]["scripts"]
    options = {name for group in option_groups().values() for name in group}
    assert set(json.loads(last("CMD"))) <= options


def test_folders_are_made_and_allowed() -> None:
    settings = dict(pair.split("=") for pair in shlex.split(last("ENV")))
    made = "".join(rest for word, rest in stages()[-1] if word == "RUN")
    assert settings == {"VMAF_MCP_ALLOW": "/data", "ACUITY_DATA": "/var/lib/acuity"}
    assert all(folder in made for folder in settings.values())
    assert json.loads(last("VOLUME")) == [settings["ACUITY_DATA"]]


def test_the_health_check_is_python_and_asks_what_the_page_says() -> None:
    command = json.loads(last("HEALTHCHECK").partition("CMD ")[2])
    assert command[:2] == ["python", "-c"]
    ast.parse(command[2])
    port = re.search(r"127\.0\.0\.1:(\d+)/readyz", command[2])
    assert port
    assert f"--metrics {port[1]}" in (ROOT / "docs" / "mcp.md").read_text()
