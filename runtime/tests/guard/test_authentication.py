"""Who sends a request: tokens, the hook, and addresses that guess."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pytest

from fake_responder import FakeClock
from longwire.guard.auth_hook import AuthHook
from longwire.guard.authentication import Authentication, Refusal, neighbourhood
from longwire.guard.refusal_lines import RefusalLines
from longwire.guard.tokens import Tokens
from longwire.principals.principal import Principal
from longwire.wire.http.request import Request
from oauth_ground import decided

ALICE = "alice-correct-horse"
BOB = "bob-battery-staple!"
TOKENS = Tokens({ALICE: "alice", BOB: "bob"})
WRONG = "no-token-of-anybody"


def sent(token: str | None, address: str = "192.0.2.1") -> Request:
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    return Request("POST", "/mcp", headers=headers, address=address)


def status(found: Principal | Refusal | None) -> int:
    return found.status if isinstance(found, Refusal) else 200


def test_a_token_proves_a_principal() -> None:
    authentication = Authentication(TOKENS)
    assert authentication
    assert authentication.check(sent(ALICE)) == Principal.of_token("alice")
    assert not Authentication(Tokens())
    none, wrong = authentication.check(sent(None)), authentication.check(sent(WRONG))
    assert (none.status, wrong.status) == (401, 401)
    assert dict(none.headers) == {b"www-authenticate": b'Bearer realm="longwire"'}
    assert none.reason.startswith("this server takes a bearer token")
    assert wrong.reason == "the token is unknown or has expired"
    assert dict(wrong.headers)[b"www-authenticate"].endswith(b'error="invalid_token"')


def test_an_address_that_guesses_is_slowed_down() -> None:
    clock = FakeClock()
    authentication = Authentication(TOKENS, clock=clock)
    assert authentication.check(sent(ALICE)) == Principal.of_token("alice")
    for number in range(20):
        assert status(authentication.check(sent(f"{WRONG}{number}"))) == 401
    refused = authentication.check(sent(WRONG))
    assert refused.status == 429
    assert dict(refused.headers) == {b"retry-after": b"3"}
    # A right guess isn't told from a wrong one; the client that was in stays in.
    assert status(authentication.check(sent(BOB))) == 429
    assert authentication.check(sent(ALICE)) == Principal.of_token("alice")
    # Nobody else is slowed down, nor is one who sends no token at all.
    assert authentication.check(sent(BOB, "192.0.2.2")) == Principal.of_token("bob")
    assert status(authentication.check(sent(None))) == 401
    # What was refused unseen doesn't count.
    for _ in range(100):
        assert status(authentication.check(sent(WRONG))) == 429
    clock.now += 3
    assert authentication.check(sent(BOB)) == Principal.of_token("bob")
    assert status(authentication.check(sent(WRONG))) == 401
    assert status(authentication.check(sent(WRONG))) == 429


def test_the_log_tells_once_that_an_address_guesses(caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock()
    authentication = Authentication(TOKENS, clock=clock)
    for number in range(19):
        authentication.check(sent(f"{WRONG}{number}"))
    assert not caplog.records
    for _ in range(10):
        authentication.check(sent(WRONG))
        clock.now += 3
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert vars(record)["address"] == "192.0.2.1"


def test_a_flood_of_wrong_tokens_keeps_nobody_out_whose_token_is_long() -> None:
    long, plain = "pH3-vK9_qZ1xW7sT5bN2mD", "aaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    authentication = Authentication(Tokens({long: "alice", plain: "bob"}), clock=FakeClock())
    for number in range(40):
        authentication.check(sent(f"{WRONG}{number}"))
    assert authentication.check(sent(long)) == Principal.of_token("alice")
    assert status(authentication.check(sent(plain))) == 429  # it could be guessed
    assert status(authentication.check(sent(f"{long}x"))) == 429


def test_repeated_refusals_are_counted_instead_of_logged(caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock()
    lines = RefusalLines(clock)
    for _ in range(500):
        lines.add(logging.WARNING, "192.0.2.1", "token", "no token", {})
    lines.add(logging.WARNING, "192.0.2.1", "host", "another name", {})
    clock.now += 61
    lines.add(logging.WARNING, "192.0.2.1", "token", "no token", {})
    assert caplog.messages == [
        "refused a request: no token",
        "refused 499 more requests for reasons that were logged before",
        "refused a request: another name",
        "refused a request: no token",
    ]
    for number in range(1000):  # from ever new addresses
        lines.add(logging.WARNING, f"192.0.3.{number}", "token", "no token", {})
    assert len(caplog.records) < 40


def test_the_sum_of_refusals_is_as_serious_as_the_worst_of_them(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    lines = RefusalLines(FakeClock())
    for level in (logging.INFO, logging.WARNING):
        for _ in range(3):
            lines.add(level, "192.0.2.1", str(level), "the server stops", {})
        lines.sum_up()
    said = [record.levelno for record in caplog.records if "2 more requests" in record.message]
    assert said == [logging.INFO, logging.WARNING]


def test_requests_without_a_token_are_no_guesses() -> None:
    authentication = Authentication(TOKENS, clock=FakeClock())
    odd = Request("POST", "/mcp", headers={"authorization": "Basic dXNlcjpwYXNz"}, address="192.0.2.1")
    for request in (sent(None), odd) * 50:
        assert status(authentication.check(request)) == 401
    assert authentication.check(sent(BOB)) == Principal.of_token("bob")


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unknown", "unknown"),
        ("", ""),
    ],
)
def test_whoever_has_an_address_has_its_neighbours(address: str, found: str) -> None:
    assert neighbourhood(address) == found


async def test_the_hook_is_asked_for_tokens_that_the_file_has_not() -> None:
    seen: list[str | None] = []

    async def hook(token: str | None, _: Mapping[str, str], __: str) -> Any:
        seen.append(token)
        return {"carol-has-a-ticket": "carol", None: "guest"}.get(token)

    clock = FakeClock()
    authentication = Authentication(TOKENS, AuthHook(hook, remembered=0), clock)
    assert await decided(authentication, sent(ALICE)) == Principal.of_token("alice")
    assert await decided(authentication, sent("carol-has-a-ticket")) == Principal.of_token("carol")
    assert await decided(authentication, sent(None)) == Principal.of_token("guest")
    for _ in range(20):
        assert status(await decided(authentication, sent(WRONG))) == 401
    assert seen == ["carol-has-a-ticket", None, *[WRONG] * 20]
    # The hook isn't asked about guesses any more, but about those it has let in before.
    assert status(await decided(authentication, sent(WRONG))) == 429
    assert await decided(authentication, sent("carol-has-a-ticket")) == Principal.of_token("carol")
    assert len(seen) == 23


async def test_a_hook_that_fails_is_the_servers_fault() -> None:
    async def hook(*_: Any) -> Any:
        raise OSError("no directory server")

    authentication = Authentication(Tokens(), AuthHook(hook, remembered=0), FakeClock())
    assert authentication
    for _ in range(30):
        refused = await decided(authentication, sent(WRONG))
        assert refused.status == 503
        assert dict(refused.headers) == {b"retry-after": b"1"}
        assert "directory" not in refused.reason
