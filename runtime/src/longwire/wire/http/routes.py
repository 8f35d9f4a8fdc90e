"""Requests handed out by path and method, the check of a body's type, and answers that handlers share."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Final

from longwire.wire.http.answers import TEXT
from longwire.wire.http.request import Handler, HeaderList, Request, Responder

JSON: Final = b"application/json"
_METHODS: Final[HeaderList] = [(b"allow", b"GET, HEAD, POST, DELETE, OPTIONS")]

_CHARSET: Final = re.compile(r"charset\s*=")
_UTF_8: Final = frozenset({"utf-8", "utf8"})
_NOT_JSON: Final = "Unsupported Media Type: Content-Type must be application/json"
_SHOWN: Final = 40  # characters of a header's value in an error


class Routes:
    """A handler that hands each request to the handler of its path."""

    def __init__(self, paths: Mapping[str, Handler], shown: Collection[str] | None = None) -> None:
        """`shown`: the paths that others are pointed to; None: all."""
        self._paths = paths
        self._elsewhere = f"there is nothing here: use {' or '.join(paths if shown is None else shown)}"

    def __call__(self, request: Request, responder: Responder) -> None:
        if request.path == "*":  # of OPTIONS alone: the server as a whole
            responder.answer(204, headers=_METHODS)
            return
        handler = self._paths.get(request.path)
        if handler is None:
            answer_text(responder, 404, self._elsewhere)
        else:
            handler(request, responder)


def for_methods(methods: Collection[str], handler: Handler) -> Handler:
    """The same handler, for these methods only."""
    allowed = ", ".join(methods)
    allow: HeaderList = [(b"allow", allowed.encode())]

    def handle(request: Request, responder: Responder) -> None:
        if request.method in methods:
            handler(request, responder)
        else:
            answer_text(responder, 405, f"use {allowed}", allow)

    return handle


def answer_text(responder: Responder, status: int, text: str, headers: HeaderList = ()) -> None:
    responder.answer(status, f"{text}\n".encode(), TEXT, headers)


def body_problem(headers: Mapping[str, str]) -> str | None:
    """Why a body can't be read, by its headers; None: it is JSON in UTF-8, as it should be."""
    encoding = headers.get("content-encoding")
    if encoding is not None and encoding.lower() != "identity":
        return f"Unsupported Media Type: the body is encoded as '{encoding[:_SHOWN]}': send it uncompressed"
    return _type_problem(headers.get("content-type", ""))


@lru_cache(maxsize=256)
def _type_problem(content_type: str) -> str | None:
    kind, *parameters = (word.strip().lower() for word in content_type.split(";"))
    if kind != JSON.decode():
        return _NOT_JSON
    charset = next(
        (word.partition("=")[2].strip('"') for word in parameters if _CHARSET.match(word)), "utf-8"
    )
    if charset not in _UTF_8:
        return f"Unsupported Media Type: the charset is '{charset[:_SHOWN]}': send UTF-8"
    return None
