"""Every snippet of docs/mcp.md does what it says: it starts a server, finds one, or asks one."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from doc_programs import Programs, Started, from_claude, from_configuration, from_docker
from product_server import SECONDS, ProductServer, product_server

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "mcp.md").read_text()
TOKEN = "correct-horse-battery"
# Ports that the page names, and what listens there.
PORTS = {8080: "http", 9090: "metrics"}


def fenced(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def indented() -> list[str]:
    """Blocks of code that stand between paragraphs, without their margin."""
    without = re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)
    blocks = re.findall(r"(?:^    \S.*\n)+", without, re.MULTILINE)
    return [re.sub(r"^    ", "", block, flags=re.MULTILINE) for block in blocks]


def is_token_file(block: str) -> bool:
    return re.fullmatch(r"(?:\w+ +\w{16,}\n)+", block) is not None


SERVERS = [
    server
    for text in fenced("json")
    for document in [json.loads(text)]
    for server in (document.get("mcpServers") or document["servers"]).values()
]
COMMANDS = [*fenced("sh"), *(block for block in indented() if not is_token_file(block))]


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    return Programs(tmp_path)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProductServer]:
    """A server as "A server that runs already" has it, on ports that are free."""
    with product_server(tmp_path_factory.mktemp("running"), "--http", "0", "--metrics", "0") as server:
        for transport in PORTS.values():
            server.where(transport)
        yield server


def check_stdio(programs: Programs, started: Started, data: Path) -> None:
    """A client that starts the server finds its tools."""
    environment = programs.environment(ACUITY_DATA=str(data), **started.environment)
    command = shutil.which(started.command[0], path=environment["PATH"])
    assert command == str(programs.folder / "vmaf-mcp")
    parameters = StdioServerParameters(command=command, args=started.command[1:], env=environment)

    async def main() -> None:
        with anyio.fail_after(SECONDS):
            async with Client(stdio_client(parameters)) as client:
                assert "vmaf_score" in {tool.name for tool in (await client.list_tools()).tools}

    anyio.run(main)


def check_http(url: str, headers: dict[str, str]) -> None:
    async def main() -> None:
        with anyio.fail_after(SECONDS):
            async with (
                httpx2.AsyncClient(headers=headers) as http,
                Client(streamable_http_client(url, http_client=http)) as client,
            ):
                assert "vmaf_score" in {tool.name for tool in (await client.list_tools()).tools}

    anyio.run(main)


def check_url(folder: Path, started: Started) -> None:
    """A client that is given the address finds the tools there, with the headers that it sends."""
    assert started.url is not None
    told = urlsplit(started.url)
    assert (told.port, told.path) == (8080, "/mcp")
    secured = "Authorization" in started.headers
    arguments = ["--http", "0"]
    if secured:
        (folder / "token").write_text(TOKEN)
        arguments += ["--token-file", str(folder / "token")]
    with product_server(folder, *arguments) as server:
        headers = {
            name: value.replace("${input:acuity-token}", TOKEN) for name, value in started.headers.items()
        }
        check_http(server.where("http").where, headers)


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.get("command") or server["url"])
def test_a_configuration_starts_the_server_or_finds_it(
    programs: Programs, tmp_path: Path, server: dict[str, object]
) -> None:
    started = from_configuration(server, str(tmp_path))
    if started.url is None:
        check_stdio(programs, started, tmp_path / "data")
    else:
        check_url(tmp_path, started)


@pytest.mark.parametrize(
    "text",
    [text for text in COMMANDS if not text.startswith("curl")],
    ids=lambda text: " ".join(text.split()[:3]),
)
def test_a_command_does_what_it_says(programs: Programs, tmp_path: Path, text: str) -> None:
    environment = {"ACUITY_DATA": str(tmp_path / "data"), "TOKEN": TOKEN, "VMAF_MCP_TOKEN": TOKEN}
    for words in programs.run(text, **environment)[0]:
        CHECKS[words[0]](programs, tmp_path, words)


@pytest.mark.parametrize("text", [block for block in indented() if is_token_file(block)])
def test_a_token_file_lets_everybody_in_who_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "tokens").write_text(text)
    with product_server(tmp_path, "--http", "0", "--token-file", str(tmp_path / "tokens")) as server:
        for line in text.splitlines():
            check_http(server.where("http").where, {"Authorization": f"Bearer {line.split()[1]}"})


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed here")
@pytest.mark.parametrize("text", [text for text in COMMANDS if text.startswith("curl")])
def test_curl_is_answered(programs: Programs, running: ProductServer, text: str) -> None:
    for port, transport in PORTS.items():
        there = urlsplit(running.where(transport).where)
        text = text.replace(f"127.0.0.1:{port}", there.netloc)
    printed = programs.run(text)[1]
    answers = {"mcp": '"serverInfo":{"name":"acuity"', "readyz": "ready"}
    (asked,) = [answer for path, answer in answers.items() if f"/{path}" in text]
    assert asked in printed


def check_claude(programs: Programs, folder: Path, words: list[str]) -> None:
    started = from_claude(words)
    if started.url is None:
        check_stdio(programs, started, folder / "data")
    else:
        check_url(folder, started)


def check_docker(_: Programs, folder: Path, words: list[str]) -> None:
    if words[1] == "build":
        assert words == ["docker", "build", "-t", "acuity", "."]
        return
    started = from_docker(words)
    assert list(started.environment) == ["VMAF_MCP_TOKEN"]
    arguments = [re.sub(r"(^|:)(?:8080|9090)$", r"\g<1>0", argument) for argument in started.command[1:]]
    (folder / "token").write_text(TOKEN)
    with product_server(folder, *arguments, "--token-file", str(folder / "token")) as server:
        address = re.sub(r"//[^:/]+", "//localhost", server.where("http").where)
        check_http(address, {"Authorization": f"Bearer {TOKEN}"})
        assert server.where("metrics")


def check_pip(_: Programs, __: Path, words: list[str]) -> None:
    assert words == ["pip", "install", "acuity-vmaf[mcp]"]


CHECKS = {"claude": check_claude, "docker": check_docker, "pip": check_pip}
