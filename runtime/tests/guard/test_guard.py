"""The checks in front of a handler: allowed origins, the auth hook, and what pages may read."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from fake_responder import FakeResponder
from longwire.errors import SettingsError
from longwire.guard.access import Access, Guarded, HttpSecurity
from longwire.guard.auth_hook import AuthHook
from longwire.guard.origins import Origins
from longwire.guard.tokens import Tokens
from longwire.operations.metrics import HEALTH
from longwire.principals.principal import PRINCIPAL, Principal
from longwire.wire.http.request import Request, Responder
from longwire.wire.listeners import Address

ALICE = "alice-correct-horse"
TOKENS = Tokens({ALICE: "alice"})
HERE = Address("127.0.0.1", 80)
EVERYWHERE = Address("0.0.0.0", 80)
STUDIO = Origins.parse(["https://studio.example", "http://localhost:6274"])


class Inner:
    """The handler behind the checks."""

    def __init__(self) -> None:
        self.seen: list[Principal | None] = []

    def __call__(self, request: Request, responder: Responder) -> None:
        assert request.principal == PRINCIPAL.get()
        self.seen.append(PRINCIPAL.get())
        responder.answer(200, headers=[(b"mcp-session-id", b"x")])


def asked(
    access: Access, at: Address = HERE, *, method: str = "POST", address: str = "127.0.0.1", **headers: str
) -> tuple[FakeResponder, Inner]:
    """What a request gets; header names are written with underscores."""
    inner, answered = Inner(), FakeResponder()
    named = {"host": "127.0.0.1", **{name.replace("_", "-"): value for name, value in headers.items()}}
    request = Request(method, "/mcp", headers=named, address=address)
    Guarded(access, inner, at)(request, answered)
    answered.headers |= dict(request.answer_headers)
    return answered, inner


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("https://studio.example:443", 200),
        ("http://localhost:6274", 200),
        ("http://localhost:6275", 403),  # of this machine, but not in the list
        ("http://127.0.0.1", 403),  # nor is the server's own name
        ("null", 403),
    ],
)
def test_a_list_of_origins_is_all_there_is(origin: str, status: int) -> None:
    for method in ("POST", "GET", "DELETE"):
        answered, inner = asked(Access(origins=STUDIO), method=method, origin=origin)
        assert answered.status == status
        assert len(inner.seen) == (status == 200)
    assert answered.headers.get(b"access-control-allow-origin") == (
        origin.encode() if status == 200 else None
    )


def test_programs_send_no_origin() -> None:
    # From this machine, or with a token, nothing more is asked.
    assert asked(Access(origins=STUDIO))[0].status == 200
    strict = Access(TOKENS, origins=STUDIO)
    elsewhere = {"at": EVERYWHERE, "address": "192.0.2.7"}
    assert asked(strict, **elsewhere, authorization=f"Bearer {ALICE}")[0].status == 200
    assert asked(strict, **elsewhere)[0].status == 401
    security = HttpSecurity(origins=STUDIO)
    assert not security.admits_pageless(Principal.of_address("192.0.2.7"), "192.0.2.7")
    assert security.admits_pageless(Principal.of_address("127.0.0.1"), "127.0.0.1")
    assert HttpSecurity().admits_pageless(Principal.of_address("192.0.2.7"), "192.0.2.7")


def test_a_page_is_answered_before_it_sends_a_token() -> None:
    access = Access(TOKENS, origins=STUDIO)
    asks = "mcp-param-region, X-Evil, traceparent,Mcp-Param-A, mcp-param-\t"
    origin = "https://studio.example"
    answered, inner = asked(access, method="OPTIONS", origin=origin, access_control_request_headers=asks)
    assert (answered.status, inner.seen) == (204, [])
    allowed = set(answered.headers[b"access-control-allow-headers"].decode().split(", "))
    assert {"Authorization", "Traceparent", "Tracestate", "mcp-param-region", "Mcp-Param-A"} <= allowed
    assert not {"X-Evil", "mcp-param-"} & allowed
    assert asked(access, method="OPTIONS", origin="https://evil.example")[0].status == 403


def test_a_page_may_read_why_it_was_refused() -> None:
    answered, _ = asked(Access(TOKENS, origins=STUDIO), origin="https://studio.example")
    assert answered.status == 401
    assert answered.headers[b"access-control-allow-origin"] == b"https://studio.example"
    assert b"www-authenticate" in answered.headers
    exposed = answered.headers[b"access-control-expose-headers"].decode().split(", ")
    assert set(exposed) == {"Mcp-Session-Id", "Retry-After", "WWW-Authenticate", "X-Request-Id"}


@pytest.mark.parametrize(("site", "status"), [("cross-site", 403), ("same-origin", 200), ("none", 200)])
def test_images_of_foreign_pages(site: str, status: int) -> None:
    answered, _ = asked(Access(origins=STUDIO), method="GET", sec_fetch_site=site)
    assert answered.status == status


def test_refusals_are_counted_by_a_word() -> None:
    access = Access(TOKENS)
    asked(access, host="evil.example")
    asked(access, origin="http://evil.example")
    asked(access)
    for number in range(21):
        asked(access, authorization=f"Bearer no-such-token-{number}")
    assert access.refused == {"host": 1, "origin": 1, "token": 21, "guesses": 1}


def test_names_of_others_are_not_repeated_at_length() -> None:
    for headers in ({"host": "e" * 10_000}, {"origin": "http://" + "e" * 10_000}):
        assert len(asked(Access(), **headers)[0].body) < 400


def test_a_hook_is_as_good_as_tokens() -> None:
    with pytest.raises(SettingsError, match="takes a token"):
        Access().at(EVERYWHERE)
    assert Access(hook=AuthHook(lambda *_: None)).at(EVERYWHERE).reachable


async def test_the_hook_answers_later() -> None:
    going = asyncio.Event()

    async def hook(token: str | None, headers: Mapping[str, str], address: str) -> Any:
        await going.wait()
        return {"name": headers["x-user"], "tools": ["echo"]} if "x-user" in headers else None

    inner = Inner()
    guard = Guarded(Access(hook=AuthHook(hook)), inner, HERE)
    answers = [FakeResponder() for _ in range(3)]
    for answered, user in zip(answers, ("carol", None, "dave"), strict=True):
        headers = {"host": "localhost"} | ({} if user is None else {"x-user": user})
        guard(Request("POST", "/mcp", headers=headers), answered)
    assert [answered.status for answered in answers] == [None, None, None]
    answers[2].drop()  # that client waited no longer
    going.set()
    while not (answers[0].status and answers[1].status):
        await asyncio.sleep(0)
    assert [answered.status for answered in answers] == [200, 401, None]
    assert inner.seen == [Principal.of_token("carol", tools=frozenset({"echo"}))]
    assert PRINCIPAL.get() is None


def test_who_guesses_at_one_port_is_slowed_down_at_all() -> None:
    access = Access(TOKENS)
    first, second = Guarded(access, Inner(), HERE), Guarded(access, Inner(), Address("127.0.0.1", 81))

    def status(guard: Any, number: int) -> int:
        answered = FakeResponder()
        headers = {"host": "localhost", "authorization": f"Bearer no-such-token-{number}"}
        guard(Request("POST", "/mcp", headers=headers), answered)
        return answered.status

    assert [status(first, number) for number in range(20)] == [401] * 20
    assert status(second, 20) == 429


def test_refusals_by_the_head_can_be_read_by_admitted_pages() -> None:
    guarded = Guarded(Access(TOKENS, origins=STUDIO), Inner(), HERE)
    for origin, status, readable in (
        ("https://studio.example", 401, True),
        ("https://evil.example", 403, False),
    ):
        answered = FakeResponder()
        headers = {"host": "127.0.0.1", "origin": origin}
        request = Request("POST", "/mcp", headers=headers)
        assert not guarded.admits(request, answered)
        assert answered.status == status
        assert (b"access-control-allow-origin" in dict(request.answer_headers)) == readable
        assert bool(guarded.page_headers(headers)) == readable
    headers = {"host": "127.0.0.1", "origin": "http://localhost"}
    assert not Guarded(Access(), Inner(), HERE).page_headers(headers)


def test_a_request_without_a_host_is_told_so() -> None:
    answered = FakeResponder()
    Guarded(Access(), Inner(), HERE)(Request("GET", "/mcp"), answered)
    assert (answered.status, b"no Host header" in answered.body) == (400, True)


@pytest.mark.parametrize(("at", "status"), [(HERE, 200), (EVERYWHERE, 401)])
def test_pages_for_operators_take_no_token_on_this_machine(at: Address, status: int) -> None:
    guarded = Guarded(Access(TOKENS), Inner(), at, for_operators=True)
    answered = FakeResponder()
    guarded(Request("GET", "/metrics", headers={"host": "127.0.0.1"}), answered)
    assert answered.status == status
    foreign = FakeResponder()
    guarded(Request("GET", "/metrics", headers={"host": "evil.example"}), foreign)
    assert foreign.status == 421


def test_open_paths_take_no_token_and_still_the_right_host() -> None:
    guarded = Guarded(Access(TOKENS, origins=STUDIO), Inner(), EVERYWHERE, open_paths=HEALTH)
    for path, host, status in (
        ("/healthz", "10.0.0.1", 200),
        ("/readyz", "10.0.0.1", 200),
        ("/metrics", "10.0.0.1", 401),
        ("/healthz", "evil.example", 421),
    ):
        answered = FakeResponder()
        guarded(Request("GET", path, headers={"host": host}, address="10.0.0.9"), answered)
        assert answered.status == status
