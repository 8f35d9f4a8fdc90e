"""Rubbish at every door of one server: each connection ends or is answered, and the measurement goes on."""

from __future__ import annotations

import json
import random
import socket
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from embedded_client import PATIENCE
from moving_pictures import measure
from smoke_host import LIST, Smoke, check_list, smoking

ROUNDS = 60
SEEDS = [
    LIST,
    b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"vmaf.status","arguments":{}}}',
    b'{"jsonrpc":"2.0","id":"x","method":"resources/read","params":{"uri":"acuity://measurement/scores"}}',
    b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]',
    b'{"jsonrpc":"2.0","id":null,"method":"ping","params":[1e999,-0,"\\ud800"]}',
    b"[" * 5000,
]


def mangled(rng: random.Random) -> bytes:
    """A message with some of it changed, doubled, or missing."""
    data = bytearray(rng.choice(SEEDS))
    for _ in range(rng.randrange(4)):
        at = rng.randrange(len(data))
        change: Callable[[], object] = rng.choice(
            [
                lambda at=at: data.__setitem__(at, rng.randrange(256)),
                lambda at=at: data.__delitem__(slice(at, at + rng.randrange(1, 9))),
                lambda at=at: data.insert(at, rng.choice(b'\x00\n\r{}[]",:\xff\xc3')),
                lambda: data.extend(data[: rng.randrange(len(data))]),
            ]
        )
        if len(data) > 16:
            change()
    return bytes(data) + b"\n"


def over_socket(host: Smoke, rubbish: bytes, _: random.Random) -> None:
    _send((str(host.socket),), rubbish)


def over_http(host: Smoke, rubbish: bytes, rng: random.Random) -> None:
    where = urlsplit(host.sse)
    length = len(rubbish) + rng.choice([0, 0, 0, -5])  # more than was announced is another request, or none
    head = f"POST {where.path} HTTP/1.1\r\nHost: {where.netloc}\r\nContent-Type: application/json\r\n"
    _send((where.hostname, where.port), f"{head}Content-Length: {length}\r\n\r\n".encode() + rubbish)


def _send(address: tuple[object, ...], rubbish: bytes) -> None:
    """Say it, and wait until the server has said all it has to say about it."""
    family = socket.AF_UNIX if len(address) == 1 else socket.AF_INET
    with socket.socket(family) as client:
        client.settimeout(PATIENCE)
        client.connect(address[0] if len(address) == 1 else address)
        try:
            client.sendall(rubbish)
            client.shutdown(socket.SHUT_WR)
            while client.recv(65536):
                pass
        except ConnectionError:
            pass  # closed while we were speaking: its right


@pytest.mark.parametrize("door", [over_socket, over_http])
def test_rubbish_changes_nothing(door: Callable[[Smoke, bytes, random.Random], None], tmp_path: Path) -> None:
    rng = random.Random(door.__name__)
    with smoking(tmp_path) as host:
        for _ in range(ROUNDS):
            door(host, mangled(rng), rng)
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE)
            client.connect(str(host.socket))
            client.sendall(LIST + b"\n")
            with client.makefile("rb") as lines:
                check_list(json.loads(lines.readline()))
        fed, until = host.measurement.frames, time.monotonic() + PATIENCE
        while host.measurement.frames < max(fed + 1, 22):
            assert time.monotonic() < until, "no more frames are measured"
    expected = measure(20, "vmaf_v0.6.1").columns["vmaf"]
    assert [host.measurement.score_at(frame) for frame in range(18)] == expected[:18].tolist()
