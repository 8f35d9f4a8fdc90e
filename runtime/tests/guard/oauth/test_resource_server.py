"""The guard with an authorization server: who gets in, who is told what, beside token files and hooks."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import anyio
import pytest
from mcp.server.auth.provider import AccessToken

from fake_responder import FakeClock, FakeResponder
from longwire.errors import SettingsError
from longwire.guard.access import Access, Guarded
from longwire.guard.auth_hook import AuthHook
from longwire.guard.authentication import Authentication
from longwire.guard.grants import Scopes
from longwire.guard.oauth.jwt_verifier import JwtVerifier
from longwire.guard.oauth.key_sources import KeySet
from longwire.guard.oauth.resource_server import ResourceServer, SdkVerifier, resource_server
from longwire.guard.tokens import Tokens
from longwire.principals.principal import Principal
from longwire.wire.http.request import Request, Responder
from longwire.wire.listeners import Address
from oauth_ground import ISSUER, RESOURCE, decided, keys_of, private_key, token
from waiting import until

METADATA = "https://mcp.example/.well-known/oauth-protected-resource/mcp"
SCOPES = Scopes.parse({"score": ["vmaf_score*"], "read": ["list_*"], "offline_access": ["x"], 'b"d': ["y"]})
FILE_TOKEN = "alice-of-the-file-x"
HERE = Address("127.0.0.1", 80)


class Keys:
    """A source whose keys come when they are let."""

    def __init__(self) -> None:
        self.keys: KeySet | None = keys_of((0, "one"))
        self.may_know_more = False
        self.gate = anyio.Event()

    async def refresh(self) -> None:
        await self.gate.wait()
        self.may_know_more = False


class Ground:
    """A guard with an authorization server, and what requests get from it."""

    def __init__(
        self, *, tokens: Tokens | None = None, hook: AuthHook | None = None, scopes: Scopes = SCOPES
    ) -> None:
        self.keys = Keys()
        verifier = JwtVerifier(ISSUER, (RESOURCE,), self.keys)
        self.oauth = ResourceServer(verifier, issuer=ISSUER, resource=RESOURCE, scopes=scopes)
        self.access = Access(tokens or Tokens(), hook=hook, oauth=self.oauth)
        self.seen: list[Principal] = []
        self.guarded = Guarded(self.access, self._handle, HERE)

    def _handle(self, request: Request, responder: Responder) -> None:
        self.seen.append(request.principal)
        responder.answer(200)

    def ask(
        self, given: str | None = None, method: str = "POST", path: str = "/mcp", **headers: str
    ) -> FakeResponder:
        named = {"host": "127.0.0.1", **headers}
        if given is not None:
            named["authorization"] = f"Bearer {given}"
        answer = FakeResponder()
        request = Request(method, path, headers=named)
        if self.guarded.admits(request, answer):
            self.guarded(request, answer)
        return answer


def challenge(answer: FakeResponder) -> str:
    return answer.headers[b"www-authenticate"].decode()


def test_a_token_stands_for_its_subject_at_its_issuer() -> None:
    ground = Ground()
    assert ground.ask(token()).status == 200
    (principal,) = ground.seen
    assert principal.key == f"token:{ISSUER} alice"
    assert principal.has_token
    assert principal.scopes == {"score"}
    assert principal.tools == {"vmaf_score*"}
    assert principal.proof is not None


def test_no_two_subjects_are_one_principal() -> None:
    ground = Ground(tokens=Tokens({FILE_TOKEN: "alice"}))
    subjects = [
        "alice",
        "alice ",
        "client:robot",
        "client%3Arobot",
        "Alice",
        "älice",
        "a/b",
        "a%2Fb",
        "token:x",
    ]
    for subject in subjects:
        assert ground.ask(token(sub=subject)).status == 200
    assert ground.ask(token(sub=None, client_id="robot")).status == 200
    assert ground.ask(FILE_TOKEN).status == 200
    keys = [principal.key for principal in ground.seen]
    assert len(set(keys)) == len(subjects) + 2
    assert all(key.isascii() and key.isprintable() for key in keys)
    assert keys[-1] == "token:alice"


@pytest.mark.parametrize(
    ("scope", "tools"),
    [("score read", {"vmaf_score*", "list_*"}), ("unknown", set()), ("", set()), (None, set())],
)
def test_scopes_open_tools(scope: str | None, tools: set[str]) -> None:
    ground = Ground()
    ground.ask(token(scope=scope))
    assert ground.seen[0].tools == tools


def test_without_a_table_of_scopes_a_token_opens_everything() -> None:
    ground = Ground(scopes=Scopes())
    ground.ask(token(scope="anything"))
    assert ground.seen[0].tools is None


def test_clients_without_a_token_learn_where_to_get_one() -> None:
    answer = Ground().ask()
    assert answer.status == 401
    assert challenge(answer) == f'Bearer realm="longwire", scope="read score", resource_metadata="{METADATA}"'
    assert 'scope="' not in challenge(Ground(scopes=Scopes()).ask())


def test_clients_with_a_bad_token_learn_why() -> None:
    answer = Ground().ask(token(aud="https://other.example"))
    assert answer.status == 401
    told = 'error="invalid_token", error_description="the token is for another audience"'
    assert told in challenge(answer)
    assert f'resource_metadata="{METADATA}"' in challenge(answer)


def test_an_expired_token_is_refused_at_the_next_request() -> None:
    """Although it was remembered as good."""
    clock = FakeClock(1_800_000_000.0)
    verifier = JwtVerifier(ISSUER, (RESOURCE,), Keys(), wall=clock)
    oauth = ResourceServer(verifier, issuer=ISSUER, resource=RESOURCE, wall=clock)
    given = token(exp=int(clock.now) + 100, iat=None)
    for later, is_good in ((0, True), (159, True), (2, False)):
        clock.now += later
        assert isinstance(oauth.find(given), Principal) is is_good


def test_a_token_whose_key_is_gone_is_refused_although_it_was_remembered() -> None:
    ground = Ground()
    given = token()
    assert ground.ask(given).status == 200
    ground.keys.keys = keys_of((1, "two"))
    assert ground.ask(given).status == 401


async def test_a_client_waits_for_keys_and_others_do_not() -> None:
    ground = Ground()
    ground.keys.may_know_more = True
    known, unknown = token(), token(key_id="two", key=private_key("ES256", 1))
    waiting = [ground.ask(unknown), ground.ask(unknown)]
    await anyio.wait_all_tasks_blocked()
    assert [answer.status for answer in waiting] == [None, None]
    assert ground.ask(known).status == 200
    ground.keys.keys = keys_of((1, "two"))
    ground.keys.gate.set()
    for answer in waiting:
        assert await until(lambda answer=answer: answer.status) == 200


def test_without_keys_it_is_503() -> None:
    ground = Ground()
    ground.keys.keys = None
    answer = ground.ask(token())
    assert (answer.status, answer.headers[b"retry-after"]) == (503, b"5")
    assert ground.access.refused == {"keys": 1}


async def test_who_is_asked_in_which_order() -> None:
    asked: list[str | None] = []

    def who(given: str | None, headers: object, address: str) -> str | None:
        asked.append(given)
        return "hooked" if given == "opaque-token-of-the-hook" else None

    ground = Ground(tokens=Tokens({FILE_TOKEN: "filed"}), hook=AuthHook(who))
    answers = [
        ground.ask(given)
        for given in (FILE_TOKEN, token(), token(aud="x"), "opaque-token-of-the-hook", "other", None)
    ]
    await until(lambda: all(answer.status for answer in answers))
    assert [answer.status for answer in answers] == [200, 200, 401, 200, 401, 401]
    known = {principal.key for principal in ground.seen}
    assert known == {"token:filed", f"token:{ISSUER} alice", "token:hooked"}
    assert len(asked) == 3
    assert not any(given and given.count(".") == 2 for given in asked)  # JWTs are never shown to it


def test_a_good_signature_is_no_guess_while_others_guess() -> None:
    ground = Ground(tokens=Tokens({FILE_TOKEN: "filed"}))
    statuses = [ground.ask(token(key=private_key("ES256", 9), jti=str(n))).status for n in range(25)]
    assert statuses == [401] * 20 + [429] * 5
    assert ground.ask(token(sub="bob")).status == 200
    assert ground.ask(token(sub="carol", exp=1)).status == 401  # so that it gets itself a new one
    assert ground.ask(FILE_TOKEN).status == 429  # a right guess is answered like a wrong one


async def test_a_new_key_is_fetched_while_others_guess() -> None:
    ground = Ground()
    for number in range(20):
        ground.ask(token(key=private_key("ES256", 9), jti=str(number)))
    ground.keys.may_know_more = True
    new = ground.ask(token(key=private_key("ES256", 2), key_id="two"))
    unknown = ground.ask(token(key_id="x"))
    ground.keys.keys = keys_of((0, "one"), (2, "two"))
    ground.keys.gate.set()
    assert await until(lambda: new.status) == 200
    assert await until(lambda: unknown.status) == 429


async def test_tokens_without_signatures_are_guesses() -> None:
    oauth = ResourceServer(SdkVerifier(Introspection()), issuer=ISSUER, resource=RESOURCE)
    authentication = Authentication(Tokens(), oauth=oauth)

    async def ask(token: str) -> int:
        request = Request("POST", "/mcp", headers={"authorization": f"Bearer {token}"})
        return (await decided(authentication, request)).status

    assert [await ask(f"wrong-{number}") for number in range(22)] == [401] * 20 + [429] * 2
    assert await ask("good") == 429


def test_expired_tokens_are_no_guesses() -> None:
    ground = Ground()
    statuses = {ground.ask(token(exp=1, jti=str(n))).status for n in range(40)}
    assert statuses == {401}
    assert ground.ask(token()).status == 200


def test_nothing_of_a_token_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    ground = Ground()
    given = [token(aud="x"), token(key=private_key("ES256", 9)), token(), "a.b.c", token() + "x"]
    for one in given:
        ground.ask(one)
    written = "".join(str(record.__dict__) for record in caplog.records)
    assert caplog.records
    assert not any(part in written for one in given for part in one.split(".") if len(part) > 8)


# ---- what everybody may read ------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["", "/mcp"])
@pytest.mark.parametrize("origin", [None, "https://any.example"])
def test_the_metadata_is_open(suffix: str, origin: str | None) -> None:
    headers = {} if origin is None else {"origin": origin}
    answer = Ground().ask(None, "GET", f"/.well-known/oauth-protected-resource{suffix}", **headers)
    assert answer.status == 200
    assert answer.headers[b"access-control-allow-origin"] == b"*"
    assert json.loads(answer.body) == {
        "resource": RESOURCE,
        "authorization_servers": [ISSUER],
        "bearer_methods_supported": ["header"],
        "resource_name": "Longwire",
        "scopes_supported": ["read", "score"],
    }


def test_pages_may_ask_for_the_metadata_with_their_headers() -> None:
    path = "/.well-known/oauth-protected-resource"
    answer = Ground().ask(None, "OPTIONS", path, origin="https://any.example")
    assert answer.status == 204
    assert answer.headers[b"access-control-allow-headers"] == b"*"
    assert Ground().ask(None, "POST", path).status == 405
    assert Ground().ask(None, "GET", path, host="evil.example").status == 421


def test_the_resource_names_the_server() -> None:
    assert Ground().ask(token(), host="mcp.example").status == 200
    assert Ground().ask(token(), host="other.example").status == 421


def test_a_resource_behind_a_proxy_has_its_own_path() -> None:
    deep = ResourceServer(
        SdkVerifier(Introspection()), issuer=ISSUER, resource="https://x.example/tools/vmaf/"
    )
    assert "/.well-known/oauth-protected-resource/tools/vmaf" in deep.pages
    expected = 'resource_metadata="https://x.example/.well-known/oauth-protected-resource/tools/vmaf"'
    assert expected.encode() in deep.challenge()


# ---- scopes that a call lacks -----------------------------------------------------------------------------


def test_the_scope_that_a_call_lacks() -> None:
    ground = Ground()
    ground.ask(token(scope="read"))
    (principal,) = ground.seen
    assert ground.oauth.missing_scope(principal, "vmaf_score") == "score"
    assert ground.oauth.missing_scope(principal, "list_models") is None  # it has it
    assert ground.oauth.missing_scope(principal, "describe") is None  # nobody has it
    assert ground.oauth.granted_scopes(principal) == ["read"]
    filed = Principal.of_token("alice", tools=frozenset())
    assert ground.oauth.missing_scope(filed, "vmaf_score") is None  # no token of OAuth


# ---- verifiers of the SDK ---------------------------------------------------------------------------------


class Introspection:
    """A TokenVerifier of the SDK that knows two tokens."""

    def __init__(self) -> None:
        self.asked = 0

    async def verify_token(self, token: str) -> AccessToken | None:
        self.asked += 1
        if token == "broken":
            raise RuntimeError(f"can't look {token} up")
        found: dict[str, dict[str, Any]] = {
            "good": {"subject": "carol", "resource": RESOURCE},
            "robot": {},
            "old": {"subject": "carol", "expires_at": 1},
        }
        if token not in found:
            return None
        return AccessToken(token=token, client_id="c", scopes=["read"], **found[token])


async def test_any_verifier_of_the_sdk_can_be_used() -> None:
    introspection = Introspection()
    oauth = ResourceServer(SdkVerifier(introspection), issuer=ISSUER, resource=RESOURCE, scopes=SCOPES)
    found: dict[str, Any] = {}
    for given in ("good", "robot", "old", "unknown", "broken"):
        verdict = asyncio.get_running_loop().create_future()
        assert oauth.find(given) is None
        oauth.ask(given, verdict.set_result)
        found[given] = await verdict
    assert found["good"].key == f"token:{ISSUER} carol"
    assert found["good"].tools == {"list_*"}
    assert found["robot"].key == f"token:{ISSUER} client:c"
    assert found["old"].reason == found["unknown"].reason == "the token is unknown or has expired"
    assert found["broken"].word == "keys"
    assert oauth.find("good") == found["good"]  # remembered
    assert introspection.asked == 5
    strict = SdkVerifier(introspection, resource=RESOURCE)
    assert isinstance(await strict.decide("good"), AccessToken)
    assert not isinstance(await strict.decide("robot"), AccessToken)


# ---- settings ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"issuer": ISSUER}, "set oauth_jwks and oauth_resource too"),
        ({"audiences": ["x"]}, "set oauth_issuer and oauth_jwks and oauth_resource too"),
        ({"issuer": "auth.example"}, "is no URL"),
        ({"issuer": "http://auth.example"}, "isn't safe"),
        ({"resource": "mcp.example"}, "is no URL"),
        ({"jwks": "http://auth.example/keys"}, "isn't safe"),
        ({"jwks": "/nowhere/keys.json"}, "can't read the key set"),
    ],
)
def test_settings_that_do_not_fit(settings: dict[str, Any], sentence: str) -> None:
    whole = {"issuer": ISSUER, "jwks": "https://auth.example/keys", "resource": RESOURCE}
    given = settings if "set " in sentence else {**whole, **settings}
    asked = {"issuer": None, "audiences": (), "jwks": None, "resource": None, **given}
    with pytest.raises(SettingsError, match=sentence):
        resource_server(**asked)
