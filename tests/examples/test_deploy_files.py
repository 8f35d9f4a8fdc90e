"""The files of examples/deploy, as far as they can be judged without systemd and docker as init."""

from __future__ import annotations

import configparser
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from longwire.command.serve import option_groups
from longwire.config.toml_file import parse_config

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "deploy"
UNIT = (FOLDER / "acuity.service").read_text()
CONFIG = (FOLDER / "acuity.toml").read_text()
OPTIONS = {name for group in option_groups().values() for name in group}


def section(name: str) -> dict[str, str]:
    parser = configparser.ConfigParser(interpolation=None, comment_prefixes="#", strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(UNIT)
    return dict(parser[name])


def seconds(text: str) -> int:
    return int(text.removesuffix("s"))


@pytest.fixture(scope="module")
def service() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml", reason="PyYAML reads the compose file")
    found: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text())
    assert set(found) == {"services", "volumes"}
    service: dict[str, Any] = found["services"]["acuity"]
    return service


def flags(words: list[str]) -> set[str]:
    return {word for word in words if word.startswith("--")}


def test_the_unit_starts_the_server_with_options_that_there_are() -> None:
    program, *words = shlex.split(section("Service")["ExecStart"])
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert Path(program).name in scripts
    assert flags(words)
    assert flags(words) <= OPTIONS


def test_the_unit_is_hardened() -> None:
    found = section("Service")
    wanted = {
        "Type": "notify",
        "User": "acuity",
        "PrivateTmp": "yes",
        "RestrictSUIDSGID": "yes",
        "NoNewPrivileges": "yes",
        "ProtectSystem": "strict",
        "ExecReload": "/bin/kill -HUP $MAINPID",
        "CapabilityBoundingSet": "",
    }
    assert wanted.items() <= found.items()


def test_all_stops_take_longer_than_the_grace(service: dict[str, Any]) -> None:
    grace = parse_config(CONFIG.replace("/srv/videos", "/"), FOLDER / "acuity.toml").values["server.grace"]
    assert seconds(section("Service")["TimeoutStopSec"]) >= grace + 10
    assert seconds(service["stop_grace_period"]) >= grace + 10


def test_the_configuration_is_accepted() -> None:
    found = parse_config(CONFIG.replace("/srv/videos", "/"), FOLDER / "acuity.toml").values
    assert found["store.sessions"] == "sqlite:/var/lib/acuity/sessions.db"
    assert str(found["auth.token_file"]) == str(FOLDER / "tokens.toml")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    # With a program that there is: it looks whether it could be started.
    unit = tmp_path / "acuity.service"
    unit.write_text(UNIT.replace("/opt/acuity/bin/vmaf-mcp", sys.executable))
    command = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(unit)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60)
    about_it = [line for line in found.stderr.splitlines() if "acuity.service" in line]
    assert about_it == []
    assert found.returncode == 0, found.stderr
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=25", str(unit)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert found.returncode == 0, found.stdout[-300:]


def test_the_container_starts_the_server_with_options_that_there_are(service: dict[str, Any]) -> None:
    assert service["entrypoint"] == ["vmaf-mcp"]
    assert flags(service["command"]) <= OPTIONS
    assert (FOLDER / service["build"]["context"] / "Dockerfile").is_file()


def test_the_container_has_no_more_than_it_needs(service: dict[str, Any]) -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert f"USER {service['user']}" in dockerfile
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    places = dict(volume.split(":")[:2] for volume in service["volumes"])
    # The folder: a file that is mounted alone would stay the old one when it is replaced.
    assert Path(places["./config"]) == Path(service["command"][1]).parent
    assert Path(service["command"][1]).name == "acuity.toml"
    assert tomllib.loads(CONFIG)["auth"]["token_file"] == "tokens.toml"
    assert not any(place.endswith(".toml") for place in places)
    writable = [volume for volume in service["volumes"] if not volume.endswith(":ro")]
    assert writable == ["state:/var/lib/acuity"]


def test_health_is_asked_where_the_configuration_says(service: dict[str, Any]) -> None:
    metrics = tomllib.loads(CONFIG)["server"]["metrics"]
    kind, *command = service["healthcheck"]["test"]
    assert kind == "CMD"
    assert f"http://{metrics}/readyz" in command[2]
    compile(command[2], "healthcheck", "exec")


def test_the_page_names_files_that_are_there() -> None:
    page = (FOLDER / "README.md").read_text()
    named = set(re.findall(r"\b(?:acuity\.\w+|compose\.yaml)\b", page))
    assert {"acuity.service", "acuity.toml"} <= named
    assert all((FOLDER / name).is_file() for name in named)


def test_the_page_s_steps_pass_their_own_check(tmp_path: Path) -> None:
    """On a machine that has none of the folders; without the lines that need root or the network."""
    blocks = re.findall(r"```sh\n(.*?)```", (FOLDER / "README.md").read_text(), re.DOTALL)
    tokens, systemd = (blocks[number].splitlines() for number in (0, 1))
    started = [line for line in systemd if line.startswith(("runuser", "install"))]
    assert sum("--check" in line for line in started) == 1
    assert started[-1].startswith("runuser -u acuity -- /opt/acuity/bin/vmaf-mcp ")
    assert section("Service")["User"] == "acuity"
    assert section("Service")["ExecStart"] in started[-1]
    root = tmp_path / "root"
    for folder in ("opt", "etc/systemd/system", "var/lib", "srv"):
        (root / folder).mkdir(parents=True)
    place = re.compile(r"(?<![\w.])/(?=(?:opt|etc|var|srv)/)")
    for name in ("acuity.toml", "acuity.service"):
        (tmp_path / name).write_text(place.sub(f"{root}/", (FOLDER / name).read_text()))
    program = shlex.join([sys.executable, "-m", "acuity.cli.serve"])
    steps = []
    for line in [*tokens, *started]:
        line = re.sub(r" -[og] acuity\b", "", line.removeprefix("runuser -u acuity -- "))
        steps.append(place.sub(f"{root}/", line.replace("/opt/acuity/bin/vmaf-mcp", program)))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ACUITY", "VMAF"))}
    kept["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    command = ["sh", "-eu", "-c", "\n".join(steps)]
    found = subprocess.run(command, cwd=tmp_path, env=kept, capture_output=True, text=True, timeout=60)
    assert found.returncode == 0, found.stderr
    assert "is no folder" not in found.stderr + found.stdout
