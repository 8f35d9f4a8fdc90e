"""Access tokens: good ones of every algorithm, and every kind of forgery."""

from __future__ import annotations

import hmac
import time
from datetime import timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st
from mcp.server.auth.provider import AccessToken

from longwire.errors import SettingsError
from longwire.guard.grants import Rejected, Undecided
from longwire.guard.oauth.jwt_verifier import JwtVerifier
from longwire.guard.oauth.key_sources import ALGORITHMS, KeySet
from oauth_ground import (
    ISSUER,
    KINDS,
    RESOURCE,
    claims,
    encoded,
    key_set,
    private_key,
    public_jwk,
    signed,
    token,
)

HEADER = {"alg": "ES256", "typ": "JWT", "kid": "one"}


class Keys:
    """A source with these keys and no others."""

    may_know_more = False

    def __init__(self, *entries: dict[str, Any]) -> None:
        self.keys: KeySet | None = KeySet.parse(key_set(*entries), "test") if entries else None

    async def refresh(self) -> None: ...

    def reload(self) -> None: ...


EC_KEY = public_jwk(private_key("ES256"), "ES256", "one")
RSA_KEY = public_jwk(private_key("RS256"), "RS256", "two")


def verifier(*entries: dict[str, Any], audiences: tuple[str, ...] = (RESOURCE,)) -> JwtVerifier:
    return JwtVerifier(ISSUER, audiences, Keys(*(entries or (EC_KEY, RSA_KEY))))


def refused(given: str, by: JwtVerifier | None = None) -> str:
    found = (by or verifier()).verify(given)
    assert isinstance(found, Rejected)
    assert not any(len(part) > 8 and part in found.reason for part in given.split("."))
    return found.reason


def dated(claims: dict[str, Any]) -> dict[str, Any]:
    """The claims with times from now on: tests are collected long before they run."""
    return {
        name: time.time() + value.total_seconds() if isinstance(value, timedelta) else value
        for name, value in claims.items()
    }


@pytest.mark.parametrize("algorithm", list(KINDS))
def test_good_tokens_of_each_algorithm(algorithm: str) -> None:
    entry = public_jwk(private_key(algorithm), algorithm, "one")
    found = verifier(entry).verify(token(algorithm))
    assert (found.subject, found.scopes, found.resource) == ("alice", ["score"], RESOURCE)


def test_the_table_has_no_other_algorithm() -> None:
    assert set(KINDS) == ALGORITHMS


@pytest.mark.parametrize(
    "others",
    [
        {"aud": ["https://other.example", RESOURCE]},
        {"exp": timedelta(seconds=-30)},  # clocks differ
        {"nbf": timedelta(seconds=30)},
        {"iat": timedelta(seconds=30)},
        {"headers": {"typ": "at+jwt"}},
        {"sub": None, "client_id": "robot"},
        {"typ": "Bearer", "nonce": "n"},
        {"token_use": "access"},
        {"sub": "Ünï 🎬"},
    ],
)
def test_good_tokens(others: dict[str, Any]) -> None:
    assert isinstance(verifier().verify(token(**dated(others))), AccessToken)


@pytest.mark.parametrize(
    ("others", "scopes"),
    [
        ({"scope": "a b"}, ["a", "b"]),
        ({"scope": None, "scp": ["a", "b"]}, ["a", "b"]),
        ({"scope": None, "scp": "a b"}, ["a", "b"]),
        ({"scope": None}, []),
        ({"scope": 7}, []),
        ({"scope": ['"', "a\n", "é", 7, None, "ok"]}, ["ok"]),
    ],
)
def test_scopes(others: dict[str, Any], scopes: list[str]) -> None:
    found = verifier().verify(token(**others))
    assert found.scopes == scopes


@pytest.mark.parametrize(
    ("others", "reason"),
    [
        ({"aud": "https://other.example"}, "the token is for another audience"),
        ({"aud": RESOURCE + "/"}, "the token is for another audience"),
        ({"aud": None}, "the token has claims"),
        ({"aud": 7}, "the token is for another audience"),
        ({"aud": [RESOURCE] * 101}, "the token has claims"),
        ({"exp": timedelta(seconds=-61)}, "the token has expired"),
        ({"exp": None}, "the token has claims"),
        ({"exp": True}, "the token has claims"),
        ({"exp": "2099999999"}, "the token has claims"),
        ({"nbf": timedelta(seconds=90)}, "the token is not valid yet"),
        ({"iat": timedelta(seconds=90)}, "the token is not valid yet"),
        ({"iat": {}}, "the token has claims"),
        ({"iss": "https://auth.example"}, "the token is of another issuer"),
        ({"iss": None}, "the token is of another issuer"),
        ({"sub": None}, "the token has claims"),
        ({"sub": 7}, "the token has claims"),
        ({"sub": "x" * 256}, "the token has claims"),
        ({"sub": "a\ud800"}, "the token has claims"),
        ({"typ": "Refresh"}, "the token is no access token"),
        ({"typ": "ID"}, "the token is no access token"),
        ({"token_use": "id"}, "the token is no access token"),
        ({"events": {"http://schemas.openid.net/event/backchannel-logout": {}}}, "the token is no access"),
        ({"nonce": "n", "at_hash": "x"}, "the token is no access token"),
        ({"cnf": {"jkt": "x"}}, "the token is bound to a key of its client (cnf)"),
        ({"headers": {"typ": "logout+jwt"}}, "the token is no access token"),
        ({"headers": {"crit": ["exp"]}}, "the token is no access token"),
    ],
)
def test_tokens_that_say_something_wrong(others: dict[str, Any], reason: str) -> None:
    assert refused(token(**dated(others))).startswith(reason)


@pytest.mark.parametrize("name", ["none", "None", "NONE", "", "HS256", "HS384", "HS512", "ES256K", "RSA1_5"])
def test_algorithms_that_are_never_accepted(name: str) -> None:
    parts = f"{encoded({**HEADER, 'alg': name})}.{encoded(claims())}"
    for signature in ("AA", encoded(b"x" * 64)):
        assert refused(f"{parts}.{signature}") == "the token is signed with an algorithm that isn't accepted"
    assert refused(f"{parts}.") == "the token is no JWT"


@pytest.mark.parametrize("form", ["pem", "der", "jwk", "n"])
def test_a_public_key_is_no_secret(form: str) -> None:
    """Key confusion: an HMAC with what everybody can read."""
    public = private_key("RS256").public_key()
    secret = {
        "pem": public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        "der": public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
        "jwk": key_set(RSA_KEY),
        "n": RSA_KEY["n"].encode(),
    }[form]
    parts = f"{encoded({'alg': 'HS256', 'kid': 'two'})}.{encoded(claims())}"
    signature = encoded(hmac.digest(secret, parts.encode(), "sha256"))
    assert "algorithm" in refused(f"{parts}.{signature}")


def test_a_key_is_for_its_own_kind_of_algorithm() -> None:
    # The right signature of another key's kind, under that key's id.
    assert "no key that fits" in refused(token("RS256", "one"))
    assert "no key that fits" in refused(token("ES256", "two"))
    assert "no key that fits" in refused(token("ES384", "one"))
    # A key that says its algorithm is for that one.
    only = verifier({**RSA_KEY, "alg": "RS512"})
    assert isinstance(only.verify(token("RS512", "two")), AccessToken)
    assert "no key that fits" in refused(token("RS256", "two"), only)
    assert "no key that fits" in refused(token("PS512", "two"), only)


def test_a_signature_of_another_key() -> None:
    head, payload, signature = token().split(".")
    other = token(sub="mallory").split(".")[1]
    zeros = encoded(bytes(64))  # r = s = 0
    wrong = [f"{head}.{other}.{signature}", f"{head}.{payload}.AA", f"{head}.{payload}.{zeros}"]
    for one in (token(key=private_key("ES256", 1)), *wrong):
        assert refused(one) == "the signature of the token is wrong"


@pytest.mark.parametrize(
    "key_id", ["other", "../../../dev/null", "/etc/passwd", "https://evil.example/k", "'; DROP", "one\x00"]
)
def test_unknown_keys(key_id: str) -> None:
    assert "doesn't publish" in refused(token(key_id=key_id))


@pytest.mark.parametrize("key_id", [7, ["one"], {"one": 1}, "", "x" * 300, True])
def test_ids_of_keys_that_are_none(key_id: object) -> None:
    assert refused(signed({**HEADER, "kid": key_id}, claims())) == "the token is no JWT"


def test_a_token_without_a_key_id_needs_one_fitting_key() -> None:
    assert isinstance(verifier().verify(token(key_id=None)), AccessToken)
    twins = verifier(EC_KEY, public_jwk(private_key("ES256", 1), "ES256", "three"))
    assert "no key that fits" in refused(token(key_id=None), twins)


def test_keys_that_a_token_brings_are_not_used() -> None:
    mine = private_key("ES256", 7)
    entry = public_jwk(mine, "ES256", "one")
    for headers in (
        {"jwk": entry},
        {"jku": "http://127.0.0.1:1/keys", "jwk": entry},
        {"x5u": "http://127.0.0.1:1/cert"},
        {"x5c": ["MIIB"], "x5t": "abc"},
    ):
        assert "signature" in refused(token(key=mine, headers=headers))
        assert isinstance(verifier().verify(token(headers=headers)), AccessToken)  # they are ignored


@pytest.mark.parametrize(
    "payload",
    [
        b'{"iss":"%s","iss":"%s","aud":"%s","sub":"a","exp":2099999999}',
        b'{"iss":"%s","aud":"%s","sub":"alice","sub":"root","exp":2099999999}',
        b'{"iss":"%s","aud":"%s","sub":"a","exp":1,"exp":2099999999}',
        b'{"iss":"%s","aud":"%s","sub":"a","exp":2099999999,"x":{"y":1,"y":2}}',
    ],
)
def test_claims_that_come_twice(payload: bytes) -> None:
    places = (ISSUER.encode(), ISSUER.encode(), RESOURCE.encode())
    filled = payload % places[-payload.count(b"%s") :]
    assert refused(signed(HEADER, filled)) == "the token is no JWT"


@pytest.mark.parametrize(
    "parts",
    [
        (b'{"alg":"ES256","alg":"none","kid":"one"}', None),
        (b"[]", None),
        (b"\xff\xfe", None),
        (None, b"[]"),
        (None, b"{"),
        (None, b'{"exp": NaN}'),
        (None, b"[" * 4000),
        (None, b'{"a":' * 1000),
    ],
)
def test_parts_that_are_junk(parts: tuple[bytes | None, bytes | None]) -> None:
    header, payload = parts
    given = signed(HEADER if header is None else header, claims() if payload is None else payload)
    assert refused(given) == "the token is no JWT"


@pytest.mark.parametrize(
    "given",
    [
        "..",
        "a.b",
        "a.b.c",
        "a.b.c.d.e",  # encrypted
        "é.b.c",
        token() + "=",
        token() + "\n",
        token().replace(".", ". "),
        f"{'x' * 3000}.b.c",
        token(junk="x" * 9000),
    ],
)
def test_texts_that_are_no_tokens(given: str) -> None:
    assert refused(given) == "the token is no JWT"


@given(st.data())
def test_no_change_of_a_token_is_accepted(data: st.DataObject) -> None:
    good = token()
    place = data.draw(st.integers(0, len(good) - 3))  # the last characters have bits that mean nothing
    put = data.draw(st.sampled_from("ABCxyz019-_."))
    changed = good[:place] + put + good[place + 1 :]
    assert isinstance(verifier().verify(changed), AccessToken) is (changed == good)


@given(st.text("eyJ09._-= é\n", max_size=100) | st.lists(st.binary(max_size=60), min_size=3, max_size=3))
def test_junk(given_: Any) -> None:
    text = given_ if isinstance(given_, str) else ".".join(encoded(part) for part in given_)
    assert isinstance(verifier().verify(text), Rejected)


def test_without_keys_nothing_is_decided() -> None:
    assert isinstance(JwtVerifier(ISSUER, (RESOURCE,), Keys()).verify(token()), Undecided)


# ---- key sets ---------------------------------------------------------------------------------------------

SMALL = rsa.generate_private_key(65537, 1024)  # made for the test: nobody should have one


@pytest.mark.parametrize(
    "entry",
    [
        {"kty": "oct", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQ", "kid": "one", "alg": "HS256"},
        {**EC_KEY, "use": "enc"},
        {**EC_KEY, "key_ops": ["sign"]},
        {**EC_KEY, "alg": "HS256"},
        {**EC_KEY, "crv": "P-384"},
        {**EC_KEY, "crv": "secp256k1"},
        {**EC_KEY, "x": "AA"},
        {**EC_KEY, "d": "AA"},  # a private key has no business there
        {**EC_KEY, "kid": 7},
        {**RSA_KEY, "e": 7},
        public_jwk(SMALL, "RS256", "one"),
        public_jwk(ec.generate_private_key(ec.SECP256K1()), "ES256K", "one"),
        {"kty": "RSA"},
        {},
        [],
        None,
    ],
)
def test_entries_that_are_no_keys_for_signatures(entry: Any) -> None:
    with pytest.raises(SettingsError, match="has no usable key"):
        KeySet.parse(key_set(entry), "test")
    assert len(KeySet.parse(key_set(entry, EC_KEY), "test").keys) == 1  # others are passed over


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        (b"", "is no JSON"),
        (b"\xff", "is no JSON"),
        (b"[" * 100_000, "is no JSON"),
        (b"[]", "has no list 'keys'"),
        (b'{"keys":{}}', "has no list 'keys'"),
        (b'{"keys":[]}', "has no usable key"),
        (b'{"keys":[' + b"{}," * 100 + b"{}]}", "of up to 100 keys"),
        (b" " * 300_000, "has more than 262144 bytes"),
    ],
)
def test_documents_that_are_no_key_sets(document: bytes, sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        KeySet.parse(document, "test")
