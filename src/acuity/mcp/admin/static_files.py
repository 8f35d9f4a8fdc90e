"""The files of the page at /admin. They hold no secret, so they take no token: the page asks for it."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from acuity.mcp.admin.answers import HEADERS
from acuity.mcp.wire.http.request import Handler, HeaderList, Request, Responder

PAGE: Final = "/admin"
_FOLDER: Final = "/admin/static/"
_KINDS: Final = {
    ".html": b"text/html; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
}
# Nothing runs or loads that isn't a file of this table, and the page stands in no frame.
_POLICY: Final = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final[HeaderList] = [
    *HEADERS,
    (b"content-security-policy", _POLICY),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
]


def static_files() -> dict[str, Handler]:
    """The handlers of the page and its files, by path."""
    found: dict[str, Handler] = {}
    for file in files(__package__).joinpath("static").iterdir():
        kind = _KINDS.get(f".{file.name.rpartition('.')[2]}")
        if kind is not None:
            path = PAGE if file.name == "index.html" else f"{_FOLDER}{file.name}"
            found[path] = _file(file.read_bytes(), kind)
    return found


def _file(content: bytes, kind: bytes) -> Handler:
    def handle(_: Request, responder: Responder) -> None:
        responder.answer(200, content, kind, _HEADERS)

    return handle
