"""What another node's signature covers, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fake_responder import FakeClock
from longwire.cluster.cluster_settings import ClusterKeys, read_secret
from longwire.cluster.signatures import FORWARDED, WINDOW, BadSignature, Signatures
from longwire.errors import SettingsError
from longwire.principals.principal import Principal
from longwire.principals.rates import Rate
from longwire.wire.http.request import Request

KEY = bytes(range(32))
CI = Principal("token:ci", frozenset({"read"}), frozenset({"list_*"}), Rate(60, 60.0))


def request() -> Request:
    headers = {
        "host": "example.org",
        "authorization": "Bearer secret-of-the-client",
        "mcp-session-id": "a-1",
        "accept": "application/json",
        "longwire-forwarded": "v1 believe me",
    }
    return Request(
        "POST", "/mcp", headers=headers, body=b"{}", address="10.0.0.9", peer="10.0.0.9:4", principal=CI
    )


def arrived(sent: Request, header: str) -> Request:
    """The request as it comes to another node."""
    headers = {"host": "b:1", "mcp-session-id": "a-1", "accept": "application/json", FORWARDED: header}
    return Request(sent.method, sent.path, headers=headers, body=sent.body, address="10.0.0.1")


class Two:
    """A node that signs, and one that checks."""

    def __init__(self) -> None:
        self.clock = FakeClock(1_800_000_000.0)
        self.signer = Signatures(KEY, "a", "x", self.clock)
        self.verifier = Signatures(KEY, "b", "b1", self.clock)

    def signed(self) -> Request:
        sent = request()
        return arrived(sent, self.signer.header(sent, "b", "b1"))


@pytest.fixture
def two() -> Two:
    return Two()


def word(verifier: Signatures, given: Request) -> str:
    with pytest.raises(BadSignature) as error:
        verifier.check(given)
    assert "secret" not in str(error.value).replace("share one secret", "")
    return error.value.word


def test_the_principal_comes_with_the_request_and_what_proves_it_does_not(two: Two) -> None:
    given = two.signed()
    sender = two.verifier.check(given)
    assert (sender.node, sender.principal, sender.address, sender.peer) == ("a", CI, "10.0.0.9", "10.0.0.9:4")
    assert "secret" not in given.headers[FORWARDED]


CHANGES: dict[str, Callable[[Request], None]] = {
    "method": lambda r: setattr(r, "method", "DELETE"),
    "path": lambda r: setattr(r, "path", "/mcp2"),
    "query": lambda r: setattr(r, "query", "a=1"),
    "body": lambda r: setattr(r, "body", b"{ }"),
    "header": lambda r: setattr(r, "headers", {**r.headers, "mcp-session-id": "a-2"}),
    "new header": lambda r: setattr(r, "headers", {**r.headers, "last-event-id": "1"}),
    "doubled header": lambda r: setattr(r, "repeated", {"accept"}),
    "form": lambda r: setattr(r, "headers", {**r.headers, FORWARDED: "v1 a b"}),
    "code": lambda r: setattr(r, "headers", {**r.headers, FORWARDED: r.headers[FORWARDED][:-1] + "x"}),
    "sender": lambda r: setattr(
        r, "headers", {**r.headers, FORWARDED: r.headers[FORWARDED].replace("v1 a", "v1 c")}
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_everything_that_is_passed_on_is_signed(two: Two, change: str) -> None:
    given = two.signed()
    CHANGES[change](given)
    assert word(two.verifier, given) == "forged"


def test_requests_of_strangers_are_refused(two: Two) -> None:
    sent = request()
    stranger = Signatures(bytes(32), "a", "x", two.clock)
    assert word(two.verifier, arrived(sent, stranger.header(sent, "b", "b1"))) == "forged"


def test_a_request_counts_once(two: Two) -> None:
    given = two.signed()
    two.verifier.check(given)
    assert word(two.verifier, given) == "replayed"
    two.clock.now += WINDOW - 1
    assert word(two.verifier, given) == "replayed"
    two.clock.now += 2
    assert word(two.verifier, given) == "stale"


def test_requests_of_the_future_are_refused(two: Two) -> None:
    given = two.signed()
    two.clock.now -= WINDOW + 1
    assert word(two.verifier, given) == "stale"


def test_nonces_are_remembered_as_long_as_their_requests_count(two: Two) -> None:
    ahead = two.signed()
    two.clock.now -= WINDOW - 1  # the sender's clock was ahead
    two.verifier.check(ahead)
    for _ in range(8):
        two.clock.now += (2 * WINDOW - 2) / 8
        two.verifier.check(two.signed())
        assert word(two.verifier, ahead) == "replayed"


def test_a_request_is_for_one_node_in_one_life(two: Two) -> None:
    given = two.signed()
    for node, incarnation in (("b", "b2"), ("c", "b1")):
        other = Signatures(KEY, node, incarnation, two.clock)
        assert word(other, given) == "misdirected"


def test_a_node_with_the_same_label_is_refused(two: Two) -> None:
    own = Signatures(KEY, "a", "a2", two.clock)
    sent = request()
    assert word(own, arrived(sent, two.signer.header(sent, "a", "a2"))) == "own"


def test_all_nodes_with_a_secret_have_its_keys() -> None:
    keys = ClusterKeys.of(b"x" * 32)
    assert keys.fingerprint == "6e36254fc305f379a71eb7e13bee0062"
    assert keys.forwarding != keys.request_state
    assert keys == ClusterKeys.of(b"x" * 32) != ClusterKeys.of(b"y" * 32)
    assert keys.forwarding.hex() not in repr(keys)


def test_secrets_come_from_files(tmp_path: Any) -> None:
    path = tmp_path / "secret"
    path.write_text("s" * 32 + "\n")
    assert read_secret(path) == b"s" * 32
    path.write_text("short-and-secret")
    with pytest.raises(SettingsError, match="16 characters, and 32 are the least: make one") as error:
        read_secret(path)
    assert "short-and-secret" not in str(error.value)
