"""Who gets in: tokens, users and names; and the paths beside the stream."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from acuity import EmbeddedConfig, EmbeddedError, EmbeddedServer
from acuity.agents.embedded import ServerAddress
from bridge_room import measuring
from embedded_client import PATIENCE, connected

TOKEN = "correct-horse-battery"
STATUS = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"vmaf.status"}}'
LIST = b'{"jsonrpc":"2.0","id":2,"method":"tools/list"}'
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
PORTS = pytest.mark.parametrize("transport", ["sse", "http"])


@contextmanager
def served(transport: str, config: EmbeddedConfig | None = None) -> Iterator[ServerAddress]:
    with measuring(("vmaf_v0.6.1",)) as measurement, EmbeddedServer(measurement, config) as server:
        yield server.start_sse() if transport == "sse" else server.start_http()


def path(address: ServerAddress) -> str:
    return address.url.partition(str(address.port))[2]


def ask(
    address: ServerAddress, method: str, where: str, body: bytes | None = None, **headers: str
) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(address.host, address.port, timeout=PATIENCE)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, where, body, {**JSON, **named})
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text.startswith(b"{") else text
    finally:
        connection.close()


# ---- tokens -----------------------------------------------------------------------------------


@PORTS
@pytest.mark.parametrize("message", [STATUS, LIST])  # one is answered on the spot, one takes the long way
def test_a_token_is_asked_for(transport: str, message: bytes) -> None:
    with served(transport, EmbeddedConfig(token=TOKEN)) as address:

        def post(**headers: str) -> tuple[int, Any]:
            return ask(address, "POST", path(address), message, **headers)

        right = {"Authorization": f"Bearer {TOKEN}"}
        for _ in range(2):  # the second time the head is known by its bytes
            assert post(**right)[0] == 200
            for wrong in ({}, {"Authorization": f"Bearer {TOKEN}x"}, {"Authorization": f"Basic {TOKEN}"}):
                status, answer = post(**wrong)
                assert status == 401
                assert "token" in answer["error"]["message"]
        assert ask(address, "GET", "/")[0] == 401
        assert ask(address, "GET", "/", **right)[0] == 200


@pytest.mark.parametrize("token", ["short", "", "with blanks in between", "ümläute-müssen-draußen"])
def test_tokens_that_are_none(token: str) -> None:
    with pytest.raises(EmbeddedError, match="the token in 'the configuration'"):
        EmbeddedConfig(token=token)


def test_a_token_is_not_shown() -> None:
    assert TOKEN not in repr(EmbeddedConfig(token=TOKEN))


# ---- names, users -----------------------------------------------------------------------------


@PORTS
def test_another_name_is_refused_with_a_remedy_that_is_there(transport: str) -> None:
    with served(transport) as address:
        status, answer = ask(address, "POST", path(address), STATUS, Host="rebound.example")
    sentence = "this server isn't called 'rebound.example': use its address, 127.0.0.1"
    assert (status, answer["error"]["message"]) == (421, sentence)


STRANGER = """
import os, socket, sys
os.setgid(65534), os.setuid(65534)
client = socket.socket(socket.AF_UNIX)
client.settimeout(30)
client.connect(sys.argv[1])
client.sendall(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\\n')
print(client.makefile().readline())
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_is_not_let_in(tmp_path: Path) -> None:
    with measuring() as measurement, EmbeddedServer(measurement) as server:
        # Where that user may look, and with the mode that should keep it out changed.
        place = Path(f"/tmp/acuity-test-{os.getpid()}.sock")
        server.start_uds(place)
        place.chmod(0o777)
        command = [sys.executable, "-S", "-c", STRANGER, str(place)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        assert "for the user who runs the measurement" in answer["error"]["message"]
        with connected(place) as client:
            assert client.call("vmaf.status")["state"] == "waiting"


# ---- paths ------------------------------------------------------------------------------------


@PORTS
def test_health(transport: str) -> None:
    with served(transport) as address:
        status, answer = ask(address, "GET", "/")
        assert (status, answer["status"], answer["endpoint"]) == (200, "ok", path(address))
        assert answer["server"]["name"] == "acuity-embedded"
        assert answer["measurement"]["state"] == "waiting"
        assert ask(address, "POST", "/", STATUS)[0] == 405


def test_messages_are_posted_beside_the_stream_with_the_session_in_a_header() -> None:
    with served("sse") as address:
        stream = http.client.HTTPConnection(address.host, address.port, timeout=PATIENCE)
        stream.request("GET", "/mcp/sse")
        events = stream.getresponse()

        def event(kind: str) -> str:
            while events.readline().strip() != f"event: {kind}".encode():
                pass
            return events.readline().decode().removeprefix("data: ")

        ready = json.loads(event("ready"))
        assert ready["request"] == "/mcp/request"
        for message in (STATUS, LIST):
            status, answer = ask(address, "POST", "/mcp/request", message, X_MCP_Session=ready["session"])
            assert (status, answer) == (202, b"Accepted")
            assert json.loads(event("message"))["id"] == json.loads(message)["id"]
            assert ask(address, "POST", "/mcp/request", message)[1]["id"] == json.loads(message)["id"]
        assert ask(address, "POST", "/mcp/request", LIST, X_MCP_Session="gone")[0] == 404
        assert ask(address, "GET", "/mcp/request")[0] == 405
        stream.close()
