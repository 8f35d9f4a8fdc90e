"""Anything at all, at the framers and at connections: every whole message is answered, and nothing breaks."""

from __future__ import annotations

import json
import logging
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from endpoint_bench import Lines, Measured, at_socket, call, hello, lines_to, request
from longwire.product.app import build_server
from longwire.wire.messages import Refused, parse
from longwire.wire.quick import QuickAnswers
from longwire.wire.serving import Handshake
from transport_bench import run

LIMIT = 400
NOISE = st.one_of(
    st.binary(max_size=60),
    st.sampled_from(
        [b"\n", b"\r\n", b"{", b"}", b"[", b'"', b"\x00", b"\xff", b"Content-Length: ", b"5\r\n\r\n"]
    ),
    st.binary(min_size=LIMIT, max_size=LIMIT + 50),
    st.sampled_from([call(1, "vmaf.status"), call("x"), request(2, "tools/list"), hello()]).map(
        lambda message: json.dumps(message).encode() + b"\n"
    ),
    st.integers(-5, 2000).map(lambda number: b"Content-Length: %d\r\n\r\n" % number),
)
BYTES = st.lists(NOISE, max_size=12).map(b"".join)


def cut(data: bytes, at: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(place % (len(data) + 1) for place in at)})
    return [data[start:end] for start, end in pairwise(places)]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | JSON,
        "id": st.integers() | st.text(max_size=4) | JSON,
        "method": st.just("tools/call") | JSON,
        "params": st.fixed_dictionaries(
            {},
            optional={"name": st.just("vmaf.status") | JSON, "arguments": st.just({}) | JSON, "_meta": JSON},
        )
        | JSON,
        "more": JSON,
    },
)


@given(MESSAGES)
def test_a_quick_answer_is_given_to_proper_calls_only(message: dict[str, Any]) -> None:
    bench = Measured()
    server = build_server(bench.catalog(), name="bench", version="1")
    quick = QuickAnswers(server, {"vmaf.status": bench.quick_status})
    try:
        answer = quick.answer(parse(json.dumps(message).encode()), Handshake("test"))
    except Refused:
        return
    if answer is not None:
        assert message["jsonrpc"] == "2.0"
        assert message["method"] == "tools/call"
        assert message["params"]["name"] == "vmaf.status"
        assert json.loads(answer)["id"] == message["id"]


async def _drained(client: Lines) -> list[dict[str, Any]]:
    """Every answer until the server closes."""
    answers = []
    try:
        while True:
            answers.append(await client.receive())
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        return answers


@settings(max_examples=25)
@given(data=BYTES, at=st.lists(st.integers(0, 5000), max_size=5))
def test_a_connection_survives_anything(data: bytes, at: list[int]) -> None:
    """One that is broken is closed; another one never notices."""

    async def main() -> None:
        folder = Path(name)
        async with at_socket(folder) as (_, other):
            async with lines_to(folder / "s") as client:
                for part in cut(data, at):
                    await client.socket.send(part)
                await client.socket.send(b"\n" + json.dumps(call("last", "vmaf.status")).encode() + b"\n")
                await client.socket.send_eof()
                answers = await _drained(client)
            assert [answer["id"] for answer in answers].count("last") == 1
            for answer in answers:
                assert answer["jsonrpc"] == "2.0"
                assert ("result" in answer) != ("error" in answer)
            assert (await other.ask(call(1)))["id"] == 1

    with TemporaryDirectory() as name:
        run(main)


def test_noise_is_nothing_to_log_about(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with at_socket(tmp_path) as (_, client):
            for text in (b"{", b"\xff", b"[]", b"x" * 70_000):
                await client.send(text)
                await client.error()

    with caplog.at_level(logging.WARNING):
        run(main)
    assert not caplog.records
