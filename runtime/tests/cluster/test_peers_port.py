"""The port for other nodes, and what the public port makes of its signatures."""

from __future__ import annotations

import json
import time

import pytest

from fake_nodes import KEY, SESSION, Node, ask, hello, pair, post
from fake_responder import FakeResponder
from longwire.cluster.signatures import FORWARDED, Signatures
from longwire.principals.principal import Principal
from longwire.wire.http.request import Request


async def test_forged_requests_are_refused_counted_and_not_served(caplog: pytest.LogCaptureFixture) -> None:
    other = Node("a", hello)
    other.sessions.add(SESSION)
    request = post()
    right = Signatures(KEY, "b", "x", time.time).header(request, "a", "a-life")
    for header in (None, "v1 nonsense", right[:-4] + "0000"):
        given = post(**({} if header is None else {FORWARDED: header}))
        found = FakeResponder()
        other.peers.handle(given, found)
        assert found.status == 403
        assert b"secret" not in found.body
    found = FakeResponder()
    other.peers.handle(post(**{FORWARDED: right}), found)
    assert found.status == 200
    found = FakeResponder()
    other.peers.handle(post(**{FORWARDED: right}), found)
    assert found.status == 403
    assert other.refused == {"peer_unsigned": 1, "peer_forged": 2, "peer_replayed": 1}
    assert len(other.seen) == 1
    assert right.split()[-1] not in caplog.text


async def test_the_public_port_believes_no_signature() -> None:
    async with pair(hello) as (one, other):
        request = post()
        signer = Signatures(KEY, "c", "x", time.time)
        request.principal = Principal.of_token("root")
        header = signer.header(request, "b", "b-life")
        stranger = post(**{FORWARDED: header})
        stranger.principal = Principal.of_address("10.0.0.7")
        found = await ask(one, stranger)
        assert json.loads(found.body)["principal"] == "address:10.0.0.7"
        assert FORWARDED not in other.seen[0].headers


async def test_a_request_makes_one_hop() -> None:
    """Two nodes that each believe that the other has the session don't send it to and fro."""
    async with pair(hello) as (one, other):
        other.sessions.clear()
        other.ownership.place = one.place
        assert (await ask(one, post())).status == 503
        assert other.ownership.finds == 0


def test_the_body_of_an_unsigned_request_is_not_read() -> None:
    node, found = Node("a", hello), FakeResponder()
    assert not node.peers.admits(Request("POST", "/mcp", headers={"host": "a"}), found)
    assert found.status == 403
    assert node.refused == {"peer_unsigned": 1}
    assert node.peers.admits(post(**{FORWARDED: "v1"}), FakeResponder())
