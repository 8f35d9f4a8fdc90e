"""An authorization server for tests: keys that are made once, tokens of every kind, and its key set."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from jwt.algorithms import get_default_algorithms

from longwire.guard.authentication import Authentication, Refusal
from longwire.guard.oauth.key_sources import KeySet
from longwire.principals.principal import Principal
from longwire.wire.http.request import Request

ISSUER = "https://auth.example/realms/studio"
RESOURCE = "https://mcp.example/mcp"
KINDS: dict[str, Callable[[], Any]] = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), lambda: _rsa()),
    "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "ES384": lambda: ec.generate_private_key(ec.SECP384R1()),
    "ES512": lambda: ec.generate_private_key(ec.SECP521R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate,
}


@cache
def _rsa() -> Any:
    return rsa.generate_private_key(65537, 2048)  # takes a tenth of a second


@cache
def private_key(algorithm: str, which: int = 0) -> Any:
    """A key for this algorithm; `which` tells several from each other."""
    if algorithm == "Ed448":
        return ed448.Ed448PrivateKey.generate()
    return KINDS[algorithm]()


def public_jwk(key: Any, algorithm: str, key_id: str | None = None, **members: Any) -> dict[str, Any]:
    """The public half, as an entry of a key set."""
    made = get_default_algorithms()[algorithm].to_jwk(key.public_key(), as_dict=True)
    made.pop("key_ops", None)
    return {**made, **({} if key_id is None else {"kid": key_id}), **members}


def key_set(*entries: dict[str, Any]) -> bytes:
    return json.dumps({"keys": list(entries)}).encode()


def claims(**others: Any) -> dict[str, Any]:
    """The claims of a good token, with others instead; None leaves one out."""
    now = int(time.time())
    good = {"iss": ISSUER, "aud": RESOURCE, "sub": "alice", "exp": now + 600, "iat": now, "scope": "score"}
    return {name: value for name, value in {**good, **others}.items() if value is not None}


def token(algorithm: str = "ES256", key_id: str | None = "one", key: Any = None, **others: Any) -> str:
    """A signed token; `headers` are further ones."""
    headers = {**({} if key_id is None else {"kid": key_id}), **others.pop("headers", {})}
    return jwt.encode(claims(**others), key or private_key(algorithm), algorithm, headers=headers)


def encoded(part: Any) -> str:
    """A part of a token; bytes as they are."""
    text = part if isinstance(part, bytes) else json.dumps(part).encode()
    return urlsafe_b64encode(text).rstrip(b"=").decode()


def signed(header: Any, payload: Any, algorithm: str = "ES256") -> str:
    """A token with these parts as they are, and a right signature."""
    parts = f"{encoded(header)}.{encoded(payload)}"
    signature = get_default_algorithms()[algorithm].sign(parts.encode(), private_key(algorithm))
    return f"{parts}.{urlsafe_b64encode(signature).rstrip(b'=').decode()}"


async def decided(authentication: Authentication, request: Request) -> Principal | Refusal:
    """What becomes of a request, at once or later."""
    if (found := authentication.check(request)) is not None:
        return found
    later: asyncio.Future[Principal | Refusal] = asyncio.get_running_loop().create_future()
    authentication.ask(request, later.set_result)
    return await later


def keys_of(*entries: tuple[int, str]) -> KeySet:
    """A set of public keys for ES256, by number and id."""
    keys = [(private_key("ES256", which) if which else private_key("ES256"), name) for which, name in entries]
    found = [public_jwk(key, "ES256", name) for key, name in keys]
    return KeySet.parse(key_set(*found), "t")


class KeyServer:
    """An HTTP server with a key set, which can be changed, slow or broken."""

    def __init__(self, document: bytes) -> None:
        self.document = document
        self.status = 200
        self.headers: dict[str, str] = {}
        self.asked = 0
        self.open = threading.Event()  # as long as it isn't set, nothing is answered
        self.open.set()
        self.waiting = threading.Semaphore(0)  # released for each request that has arrived
        found = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                found.asked += 1
                found.waiting.release()
                found.open.wait(30)
                self.send_response(found.status)
                for name, value in {"Content-Length": str(len(found.document)), **found.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(found.document)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/keys"

    @contextmanager
    def serving(self) -> Iterator[KeyServer]:
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield self
        finally:
            self.open.set()
            self._server.shutdown()
            self._server.server_close()
            thread.join()
