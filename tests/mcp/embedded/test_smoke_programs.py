"""What anybody would try first: curl at the port, socat at the socket, a message at a pair of descriptors.

Each once with the program, where it is there, and once by hand.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from embedded_client import PATIENCE, LineClient
from smoke_host import LIST, Smoke, check_list, smoking

CALL = b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_features","arguments":{}}}'


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed here")


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Smoke]:
    with smoking(tmp_path_factory.mktemp("smoke")) as found:
        yield found


def check_features(message: dict[str, object]) -> None:
    """The answer to CALL: an envelope of content around the tool's JSON."""
    result = message["result"]
    assert isinstance(result, dict)
    assert not result["isError"]
    document = json.loads(result["content"][0]["text"])
    assert document == result["structuredContent"]
    assert document["count"] == len(document["features"])
    assert {"adm", "motion", "vif"} <= set(document["features"])


# ---- HTTP and events --------------------------------------------------------------------------


@needs("curl")
def test_curl_sees_the_stream_of_events(host: Smoke) -> None:
    line = ["curl", "--silent", "--no-buffer", "--max-time", str(PATIENCE), "--include", host.sse]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as curl:
        assert curl.stdout is not None
        seen = []
        for text in curl.stdout:
            seen.append(text.rstrip())
            if text.startswith("data:") and "event: endpoint" in seen:
                break
        curl.kill()
    assert seen[0] == "HTTP/1.1 200 OK"
    assert any(text.lower().startswith("content-type: text/event-stream") for text in seen)
    body = seen[seen.index("") + 1 :]
    assert [text for text in body if text.startswith("event:")] == ["event: ready", "event: endpoint"]
    assert json.loads(body[body.index("event: ready") + 1].removeprefix("data: "))


@needs("curl")
@pytest.mark.parametrize(("message", "check"), [(LIST, check_list), (CALL, check_features)])
def test_curl_posts_and_is_answered(host: Smoke, message: bytes, check: object) -> None:
    header = "Content-Type: application/json"
    line = [
        "curl",
        "--silent",
        "--max-time",
        str(PATIENCE),
        "-X",
        "POST",
        "-H",
        header,
        "-d",
        message,
        host.sse,
    ]
    done = subprocess.run(line, capture_output=True, timeout=2 * PATIENCE, check=True)
    assert callable(check)
    check(json.loads(done.stdout))


def test_the_same_without_curl(host: Smoke) -> None:
    where = urlsplit(host.sse)
    assert where.hostname == "127.0.0.1"
    address = where.hostname, where.port
    with socket.create_connection(address, PATIENCE) as events, events.makefile("rb") as lines:
        events.sendall(f"GET {where.path} HTTP/1.1\r\nHost: {where.netloc}\r\n\r\n".encode())
        assert lines.readline().startswith(b"HTTP/1.1 200")
        found = [line for line in iter(lambda: lines.readline().strip(), b"event: endpoint") if line]
        assert b"event: ready" in found
        head = f"POST {where.path} HTTP/1.1\r\nHost: {where.netloc}\r\nContent-Type: application/json\r\n"
        with socket.create_connection(address, PATIENCE) as client:
            client.sendall(f"{head}Content-Length: {len(LIST)}\r\nConnection: close\r\n\r\n".encode() + LIST)
            with client.makefile("rb") as reading:
                status, _, body = reading.read().partition(b"\r\n\r\n")
    assert status.startswith(b"HTTP/1.1 200")
    check_list(json.loads(body))


# ---- Unix socket ------------------------------------------------------------------------------


@needs("socat")
def test_socat_asks_the_socket(host: Smoke) -> None:
    line = ["socat", "-t", str(PATIENCE), "-", f"UNIX-CONNECT:{host.socket}"]
    messages = LIST + b"\n" + CALL + b"\n"
    done = subprocess.run(line, input=messages, capture_output=True, timeout=2 * PATIENCE, check=True)
    first, second = sorted(map(json.loads, done.stdout.splitlines()), key=lambda message: int(message["id"]))
    check_list(first)
    check_features(second)


def test_the_same_without_socat(host: Smoke) -> None:
    assert host.socket.stat().st_mode & 0o777 == 0o700
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(PATIENCE)
        client.connect(str(host.socket))
        client.sendall(LIST + b"\n")
        client.shutdown(socket.SHUT_WR)  # as socat does at the end of its input
        with client.makefile("rb") as lines:
            check_list(json.loads(lines.read()))


# ---- descriptors ------------------------------------------------------------------------------


def test_lines_at_descriptors(host: Smoke) -> None:
    os.write(host.write, LIST + b"\n")
    message = LineClient(host.read, host.write).receive()
    assert message is not None
    check_list(message)


def test_content_length_at_descriptors(tmp_path: Path) -> None:
    with smoking(tmp_path, "content-length") as host:
        for message, check in ((LIST, check_list), (CALL, check_features)):
            os.write(host.write, b"Content-Length: %d\r\n\r\n" % len(message) + message)
            with open(host.read, "rb", buffering=0, closefd=False) as reading:
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    head += reading.read(1) or b""
                length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
                body = b""
                while len(body) < length:
                    body += reading.read(length - len(body)) or b""
            check(json.loads(body))
