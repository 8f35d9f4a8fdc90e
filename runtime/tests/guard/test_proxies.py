"""Clients behind trusted proxies: whose word counts, and what the headers say."""

from __future__ import annotations

import ipaddress
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_responder import FakeResponder
from longwire.errors import SettingsError
from longwire.guard.access import Access, Guarded
from longwire.guard.proxies import LONGEST, TrustedProxies, parse_address
from longwire.guard.tokens import Tokens
from longwire.principals.principal import Principal
from longwire.wire.http.request import Request, Responder
from longwire.wire.listeners import Address

PROXY = "10.0.0.5"
CLIENT = "203.0.113.7"
PROXIES = TrustedProxies.parse([PROXY, "10.1.0.0/16", "2001:db8:1::/48"])
ALICE, BOB = "alice-correct-horse", "bob-battery-staple!"
OUTSIDE = st.ip_addresses().filter(lambda found: str(found) not in PROXIES).map(str)


def located(peer: str = PROXY, **headers: str) -> str:
    """The address of a request from there with these headers."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    request = Request("POST", "/mcp", headers=named, address=peer, peer=f"{peer}:4711")
    PROXIES.locate(request)
    assert request.peer == f"{peer}:4711"  # the connection stays what it is
    assert request.principal == Principal.of_address(request.address)
    return request.address


@pytest.mark.parametrize(
    ("listed", "client"),
    [
        (CLIENT, CLIENT),
        (f"{CLIENT}:5555", CLIENT),
        (f" {CLIENT} ,10.1.2.3,\t{PROXY}", CLIENT),  # several proxies
        (f"198.51.100.1, {CLIENT}", CLIENT),  # what the client made up
        (f"junk, {CLIENT}", CLIENT),
        (f"{CLIENT},", CLIENT),  # an empty entry doesn't count
        ("2001:db8::7", "2001:db8::7"),
        ("[2001:db8::7]:443", "2001:db8::7"),
        ("2001:db8::7, 2001:db8:1::1", "2001:db8::7"),
        (f"::ffff:{CLIENT}", CLIENT),
        ("10.1.2.3, 10.1.2.4", "10.1.2.3"),  # nobody but proxies: the first of them
        ("", PROXY),
        ("unknown", PROXY),
        (f"{CLIENT}, unknown", PROXY),
        (f"{CLIENT}, 010.1.2.3", PROXY),
        (f"{CLIENT}:port", PROXY),
        ("fe80::1%eth0", PROXY),
        (f"{CLIENT}, {'10.1.2.3, ' * 400}10.1.2.3", PROXY),  # too long to be looked at
        (f"{'198.51.100.1, ' * 400}{CLIENT}", CLIENT),
    ],
)
def test_the_last_address_that_is_no_proxys_is_the_client(listed: str, client: str) -> None:
    assert located(x_forwarded_for=listed) == client


@pytest.mark.parametrize(
    ("standard", "client"),
    [
        (f"for={CLIENT}", CLIENT),
        (f'FOR="{CLIENT}:5555";proto=https;by=10.0.0.5', CLIENT),
        ('for="[2001:db8::7]:4711"', "2001:db8::7"),
        (f"for=198.51.100.1, for={CLIENT}, proto=https; for=10.1.2.3", CLIENT),
        (f'for="198.51.100.1, for={CLIENT}', CLIENT),  # a quote that the client left open
        ("for=unknown", PROXY),
        ("proto=https", PROXY),
        (f"for={CLIENT};for=198.51.100.1", PROXY),
        (f'for={CLIENT};host="evil,for=198.51.100.1"', PROXY),
    ],
)
def test_the_standard_header_counts_too(standard: str, client: str) -> None:
    assert located(forwarded=standard) == client


def test_headers_that_disagree_name_nobody() -> None:
    assert located(x_forwarded_for=CLIENT, forwarded=f"for={CLIENT}") == CLIENT
    assert located(x_forwarded_for=CLIENT, forwarded="for=198.51.100.1") == PROXY
    assert located(x_forwarded_for=CLIENT, forwarded="for=unknown") == PROXY


@pytest.mark.parametrize("peer", ["10.0.0.6", CLIENT, "127.0.0.1", "::1", "unknown", "2001:db8:2::1"])
def test_nobody_else_is_believed(peer: str) -> None:
    assert located(peer, x_forwarded_for="198.51.100.1", forwarded="for=198.51.100.1") == peer


@pytest.mark.parametrize("peer", [PROXY, "10.1.255.255", f"::ffff:{PROXY}", "2001:db8:1:2::3"])
def test_proxies_are_known_by_address_and_network(peer: str) -> None:
    assert peer in PROXIES
    assert located(peer, x_forwarded_for=CLIENT) == CLIENT


@given(OUTSIDE, st.lists(st.sampled_from([PROXY, "10.1.2.3", "[2001:db8:1::5]:80"]), max_size=5), st.text())
def test_what_a_client_sends_never_changes_who_it_is(client: str, hops: list[str], made_up: str) -> None:
    expected = str(parse_address(client))
    assert located(x_forwarded_for=", ".join([made_up, client, *hops])) == expected
    for_client = f'"[{client}]"' if ":" in client else client
    for_hops = [f'for="{hop}"' for hop in hops]
    assert located(forwarded=", ".join([made_up, f"for={for_client}", *for_hops])) == expected


@given(st.text(max_size=2 * LONGEST), st.text(alphabet='0123456789abcdef.:[],;="for \\', max_size=60))
def test_any_text_is_an_address_or_nobody(wild: str, near: str) -> None:
    for text in (wild, near):
        for found in (located(x_forwarded_for=text), located(forwarded=text)):
            assert str(ipaddress.ip_address(found)) == found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nginx", "is no address and no network"),
        ("10.0.0.5:80", "is no address and no network"),
        ("0.0.0.0/0", "would trust everybody"),
        ("::/0", "would trust everybody"),
        ("10.0.0.5/24", "is an address in the network 10.0.0.0/24"),
    ],
)
def test_what_is_no_proxy_is_refused(text: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        TrustedProxies.parse([text])


def test_the_log_says_once_what_to_set(caplog: pytest.LogCaptureFixture) -> None:
    none = TrustedProxies()
    for _ in range(3):
        request = Request("POST", "/mcp", headers={"x-forwarded-for": CLIENT}, address=PROXY)
        none.locate(request)
        assert request.address == PROXY
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "name it in [auth] trusted_proxies" in record.getMessage()
    caplog.clear()
    located("192.0.2.9", x_forwarded_for=CLIENT)  # of somebody who is none of the proxies
    assert not caplog.records


# ---- behind the checks ------------------------------------------------------------------------------------


def status(access: Access, token: str, client: str) -> int | None:
    """The answer to a client behind the proxy; its head and its body are both checked."""

    def inner(request: Request, responder: Responder) -> None:
        assert request.address == client
        responder.answer(200)

    guarded = Guarded(access, inner, Address("0.0.0.0", 80))
    headers = {"host": "127.0.0.1", "authorization": f"Bearer {token}", "x-forwarded-for": client}
    for check in (guarded.admits, guarded):
        answered = FakeResponder()
        check(Request("POST", "/mcp", headers=headers, address=PROXY), answered)
        if answered.status:
            break
    return answered.status


def test_who_guesses_behind_a_proxy_locks_nobody_else_out() -> None:
    access = Access(Tokens({ALICE: "alice", BOB: "bob"}), proxies=PROXIES)
    guesses = [status(access, f"guess-number-{number}", "198.51.100.66") for number in range(25)]
    assert guesses == [401] * 20 + [429] * 5
    assert status(access, ALICE, CLIENT) == 200
    assert status(access, BOB, "2001:db8::7") == 200
    assert status(access, BOB, "198.51.100.66") == 429  # a right guess is answered like a wrong one
