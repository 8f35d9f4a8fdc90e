"""Every snippet of docs/mcp.md does what it says: it starts a server, finds one, or asks one."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from prepared_programs import starter
from product_server import SECONDS, ProductServer, product_server

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "mcp.md").read_text()
TOKEN = "correct-horse-battery"
# Ports that the page names, and what listens there.
PORTS = {8080: "http", 9090: "metrics"}
PLAIN = re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)
INDENTED = [textwrap.dedent(block) for block in re.findall(r"(?:^    \S.*\n)+", PLAIN, re.MULTILINE)]
TOKEN_FILES = [block for block in INDENTED if re.fullmatch(r"(?:\w+ +\w{16,}\n)+", block)]
COMMANDS = [
    re.sub(r"\\\n\s*", "", text).strip()
    for text in [*re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL), *INDENTED]
    if text not in TOKEN_FILES
]


@dataclass(frozen=True)
class Started:
    """A server as a client would have it: arguments of vmaf-mcp and its environment, or an address."""

    options: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    url: str | None = None
    headers: dict[str, str] = field(default_factory=dict)


def from_configuration(server: dict[str, Any]) -> Started:
    """What a client makes of an entry of its configuration file."""
    if "url" in server:
        assert server.get("type") in (None, "http")
        return Started(url=server["url"], headers=server.get("headers", {}))
    if server["command"] == "docker":
        return Started(["--stdio"])  # the image's own arguments
    assert (server["command"], server.get("type")) in (("vmaf-mcp", None), ("vmaf-mcp", "stdio"))
    return Started(server["args"], server.get("env", {}))


def from_claude(words: list[str]) -> Started:
    """What `claude mcp add` notes down."""
    if "--" in words:
        command = words[words.index("--") + 1 :]
        assert command[0] == "vmaf-mcp"
        return Started(command[1:], dict([words[words.index("--env") + 1].split("=")]))
    return Started(url=words[-1], headers=dict([words[words.index("--header") + 1].split(": ")]))


SERVERS = [
    *(
        from_configuration(server)
        for text in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
        for document in [json.loads(text)]
        for server in (document.get("mcpServers") or document["servers"]).values()
    ),
    *(from_claude(shlex.split(text)) for text in COMMANDS if text.startswith("claude mcp add")),
]


def check_stdio(folder: Path, started: Started) -> None:
    """A client that starts the server finds its tools."""
    environment = {**os.environ, **started.environment, "ACUITY_DATA": str(folder / "data")}
    options = [option.replace("${workspaceFolder}", str(folder)) for option in started.options]
    command, *rest = [*starter(), "-m", "acuity.cli.serve", *options]
    parameters = StdioServerParameters(command=command, args=rest, env=environment)

    anyio.run(find_tools, stdio_client(parameters))


def check_http(url: str, headers: dict[str, str]) -> None:
    async def main() -> None:
        async with httpx2.AsyncClient(headers=headers) as http:
            await find_tools(streamable_http_client(url, http_client=http))

    anyio.run(main)


async def find_tools(transport: Any) -> None:
    with anyio.fail_after(SECONDS):
        async with Client(transport) as client:
            assert "vmaf_score" in {tool.name for tool in (await client.list_tools()).tools}


def check_url(folder: Path, started: Started) -> None:
    """A client that is given the address finds the tools there, with the headers that it sends."""
    told = urlsplit(started.url)
    assert (told.port, told.path) == (8080, "/mcp")
    arguments = ["--http", "0"]
    if "Authorization" in started.headers:
        (folder / "token").write_text(TOKEN)
        arguments += ["--token-file", str(folder / "token")]
    with product_server(folder, *arguments) as server:
        tokens = re.compile(r"\$\{input:acuity-token\}|\$TOKEN")
        headers = {name: tokens.sub(TOKEN, value) for name, value in started.headers.items()}
        check_http(server.where("http").where, headers)


@pytest.mark.parametrize("started", SERVERS, ids=lambda started: started.url or " ".join(started.options))
def test_a_client_starts_the_server_or_finds_it(tmp_path: Path, started: Started) -> None:
    (check_stdio if started.url is None else check_url)(tmp_path, started)


def test_every_command_is_tested() -> None:
    assert {text.split()[0] for text in COMMANDS} == {"claude", "curl", "docker", "pip"}


def test_the_image_serves_what_the_page_starts(tmp_path: Path) -> None:
    (text,) = [text for text in COMMANDS if text.startswith("docker run")]
    words = shlex.split(text)
    options = words[words.index("acuity") + 1 :]
    assert words[words.index("-e") + 1] == "VMAF_MCP_TOKEN"
    arguments = [re.sub(r"(^|:)(?:8080|9090)$", r"\g<1>0", argument) for argument in options]
    (tmp_path / "token").write_text(TOKEN)
    with product_server(tmp_path, *arguments, "--token-file", str(tmp_path / "token")) as server:
        address = re.sub(r"//[^:/]+", "//localhost", server.where("http").where)
        check_http(address, {"Authorization": f"Bearer {TOKEN}"})
        assert server.where("metrics")


@pytest.mark.parametrize("text", TOKEN_FILES)
def test_a_token_file_lets_everybody_in_who_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "tokens").write_text(text)
    with product_server(tmp_path, "--http", "0", "--token-file", str(tmp_path / "tokens")) as server:
        for line in text.splitlines():
            check_http(server.where("http").where, {"Authorization": f"Bearer {line.split()[1]}"})


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProductServer]:
    """A server as "A running server" has it, on ports that are free."""
    with product_server(tmp_path_factory.mktemp("running"), "--http", "0", "--metrics", "0") as server:
        yield server


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed here")
@pytest.mark.parametrize("text", [text for text in COMMANDS if text.startswith("curl")])
def test_curl_is_answered(running: ProductServer, text: str) -> None:
    for port, transport in PORTS.items():
        text = text.replace(f"127.0.0.1:{port}", urlsplit(running.where(transport).where).netloc)
    printed = subprocess.run(["sh", "-euc", text], capture_output=True, text=True, timeout=60, check=True)
    answers = {"mcp": '"serverInfo":{"name":"acuity"', "readyz": "ready"}
    (asked,) = [answer for path, answer in answers.items() if f"/{path}" in text]
    assert asked in printed.stdout
