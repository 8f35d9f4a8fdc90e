"""The files of a server's own pages: their types, their headers, and the policy that browsers hold them to.

They hold no secret and take no token: the page asks its reader for that, or has it in its address.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from importlib.resources.abc import Traversable
from typing import Final

from longwire.wire.http.request import Handler, HeaderList, Request, Responder

KINDS: Final = {
    ".html": b"text/html; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
}
# No page but the server's own may show or keep any of it.
OWN_PAGE_ONLY: Final[HeaderList] = [
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


def page_headers(images: str = "'self'") -> HeaderList:
    """The headers of a page and its files. `images`: where its pictures may come from, as a policy says it.

    Nothing runs or loads that isn't one of the files, and the page stands in no frame.
    """
    policy = (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        f"img-src {images}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return [
        *OWN_PAGE_ONLY,
        (b"content-security-policy", policy.encode()),
        (b"referrer-policy", b"no-referrer"),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
    ]


def static_files(folders: Iterable[Traversable], headers: HeaderList) -> dict[str, Handler]:
    """The handlers of all files of these folders that a browser can use, by name; those of later ones win."""
    found: dict[str, Handler] = {}
    for folder in folders:
        for file in folder.iterdir():
            kind = KINDS.get(f".{file.name.rpartition('.')[2]}")
            if kind is not None:
                found[file.name] = partial(_answer, file.read_bytes(), kind, headers)
    return found


def _answer(content: bytes, kind: bytes, headers: HeaderList, _: Request, responder: Responder) -> None:
    responder.answer(200, content, kind, headers)
