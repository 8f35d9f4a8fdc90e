"""Keys from files and URLs: cached, rotated, kept while their server is down, and never waited for twice."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.server.auth.provider import AccessToken

from longwire.errors import SettingsError
from longwire.guard.grants import Rejected, Undecided
from longwire.guard.oauth.jwt_verifier import JwtVerifier
from longwire.guard.oauth.key_sources import (
    FRESH,
    KEPT,
    SPACING,
    FileKeys,
    UrlKeys,
    checked_url,
    fetch_document,
    key_source,
)
from oauth_ground import ISSUER, RESOURCE, KeyServer, key_set, private_key, public_jwk, token

OLD, NEW = private_key("ES256", 0), private_key("ES256", 1)
OLD_SET = key_set(public_jwk(OLD, "ES256", "old"))
BOTH = key_set(public_jwk(OLD, "ES256", "old"), public_jwk(NEW, "ES256", "new"))
NEW_SET = key_set(public_jwk(NEW, "ES256", "new"))


class Far:
    """A server of keys without a network, and a clock."""

    def __init__(self, document: bytes = OLD_SET) -> None:
        self.document: bytes | Exception = document
        self.asked = 0
        self.now = 1000.0
        self.gate: anyio.Event | None = None
        self.source = UrlKeys("https://auth.example/keys", self.fetch, lambda: self.now)
        self.verifier = JwtVerifier(ISSUER, (RESOURCE,), self.source)

    async def fetch(self, url: str) -> bytes:
        self.asked += 1
        if self.gate is not None:
            await self.gate.wait()
        if isinstance(self.document, Exception):
            raise self.document
        return self.document

    async def subject(self, given: str) -> str | None:
        found = await self.verifier.decide(given)
        return found.subject if isinstance(found, AccessToken) else None


def olds(**others: Any) -> str:
    return token(key_id="old", key=OLD, **others)


def news(**others: Any) -> str:
    return token(key_id="new", key=NEW, **others)


async def test_keys_are_fetched_once() -> None:
    far = Far(OLD_SET)
    for _ in range(3):
        assert await far.subject(olds()) == "alice"
    assert far.asked == 1


async def test_an_unknown_key_has_them_fetched_but_not_often() -> None:
    far = Far(OLD_SET)
    assert await far.subject(olds()) == "alice"
    far.document = BOTH
    assert await far.subject(news()) is None  # they were fetched just now
    far.now += SPACING
    assert await far.subject(news()) == "alice"
    assert await far.subject(olds()) == "alice"
    for number in range(50):
        assert await far.subject(token(key_id=f"forged-{number}")) is None
    assert far.asked == 2
    far.now += SPACING
    for number in range(50):
        assert await far.subject(token(key_id=f"forged-{number}")) is None
    assert far.asked == 3


async def test_tokens_of_strangers_have_nothing_fetched() -> None:
    far = Far(OLD_SET)
    assert await far.subject(token(iss="https://evil.example", key_id="x")) is None
    assert await far.subject("a.b.c") is None
    assert far.asked == 0


async def test_keys_are_refreshed_by_age_without_anybody_waiting() -> None:
    far = Far(OLD_SET)
    assert await far.subject(olds()) == "alice"
    far.now += FRESH
    far.document, far.gate = NEW_SET, anyio.Event()
    assert await far.subject(olds()) == "alice"  # with the old keys, while others are fetched
    await anyio.wait_all_tasks_blocked()
    assert far.asked == 2
    far.gate.set()
    await far.source.refresh()
    assert await far.subject(news()) == "alice"
    far.gate = None
    assert await far.subject(olds()) is None  # its key is gone


async def test_old_keys_are_kept_while_no_others_can_be_had_but_not_for_ever() -> None:
    far = Far(OLD_SET)
    assert await far.subject(olds()) == "alice"
    for problem in (OSError("down"), b"junk", b'{"keys":[]}'):
        far.document = problem
        far.now += FRESH
        assert await far.subject(olds()) == "alice"
        await far.source.refresh()
        assert await far.subject(olds()) == "alice"
    far.now += KEPT
    assert isinstance(await far.verifier.decide(olds()), Undecided)
    far.document = OLD_SET
    far.now += SPACING
    assert await far.subject(olds()) == "alice"


async def test_without_any_keys_clients_are_told_to_come_again() -> None:
    far = Far(OLD_SET)
    far.document = OSError("down")
    found = await far.verifier.decide(olds())
    assert found.retry_after == 5
    for _ in range(20):
        assert isinstance(await far.verifier.decide(olds()), Undecided)
    assert far.asked == 1  # not for each
    far.document = OLD_SET
    far.now += 5
    assert await far.subject(olds()) == "alice"


async def test_many_who_wait_share_one_attempt() -> None:
    far = Far(OLD_SET)
    far.gate = anyio.Event()
    first, *others = [asyncio.create_task(far.subject(olds())) for _ in range(20)]
    await anyio.wait_all_tasks_blocked()
    first.cancel()  # one who gives up doesn't end the attempt of others
    await anyio.wait_all_tasks_blocked()
    far.gate.set()
    assert await asyncio.gather(*others) == ["alice"] * 19
    assert far.asked == 1


# ---- over HTTP --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "headers", "document", "sentence"),
    [
        (404, {}, b"", "the status 404"),
        (500, {}, OLD_SET, "the status 500"),
        (302, {"Location": "https://evil.example/keys"}, b"", "the status 302"),
        (301, {"Location": "/other"}, b"", "the status 301"),
        (200, {}, b" " * 300_000, "more than 262144 bytes"),
    ],
)
async def test_answers_that_are_no_key_set(
    status: int, headers: dict[str, str], document: bytes, sentence: str
) -> None:
    with KeyServer(document).serving() as server:
        server.status, server.headers = status, headers
        with pytest.raises(SettingsError, match=sentence):
            await fetch_document(server.url)
        assert server.asked == 1
    verifier = JwtVerifier(ISSUER, (RESOURCE,), UrlKeys(server.url))  # of a server that is dead by now
    assert isinstance(await verifier.decide(olds()), Undecided)


# ---- files ------------------------------------------------------------------------------------------------


def test_a_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(OLD_SET)
    source = key_source(str(path))
    verifier = JwtVerifier(ISSUER, (RESOURCE,), source)
    first = verifier.version
    assert not isinstance(verifier.verify(olds()), Rejected)
    assert isinstance(verifier.verify(news()), Rejected)
    assert verifier.version is first
    path.write_bytes(NEW_SET)
    os.utime(path, ns=(1, 1))  # whatever the clock of the file system does
    assert not isinstance(verifier.verify(news()), Rejected)
    assert isinstance(verifier.verify(olds()), Rejected)
    assert verifier.version is not first


@pytest.mark.parametrize("break_it", [lambda path: path.write_bytes(b"junk"), lambda path: path.unlink()])
def test_a_file_that_breaks_changes_nothing(tmp_path: Path, break_it: Callable[[Path], object]) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(OLD_SET)
    source = FileKeys(str(path))
    break_it(path)
    source.reload()
    assert JwtVerifier(ISSUER, (RESOURCE,), source).verify(olds())
    assert source.keys.keys[0].id == "old"


@pytest.mark.parametrize("name", ["missing.json", "", "a\0b"])
def test_a_file_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingsError, match="can't read the key set"):
        FileKeys(str(tmp_path / name))


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("http://a.example/k", "isn't safe"),
        ("ftp://a.example/k", "isn't safe"),
        ("file:///etc/passwd", "is no URL"),
        ("https://", "is no URL"),
        ("https://a.example:99999/", "is no URL"),
        ("https://a b.example/", "is no URL"),
        ("https://me:secret@a.example/", "has a user"),
        ("https://a.example/#x", "has a user or a fragment"),
    ],
)
def test_urls_that_are_not_safe(url: str, sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        checked_url(url, "it")


def test_urls_that_are_safe() -> None:
    for url in ("https://a.example", "http://127.0.0.1:8/k", "http://localhost/k", "http://[::1]:9/k"):
        assert checked_url(url, "it") == url
