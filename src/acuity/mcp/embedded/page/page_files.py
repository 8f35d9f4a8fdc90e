"""The live page and its files. At `/` it is for browsers; everybody else gets the health document there.

Anybody on the machine may load them, as often as they like: the server sends them when it has time for pages.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Final, TypeAlias

from acuity.mcp.wire.http.request import Handler, Request, Responder
from acuity.mcp.wire.http.routes import for_methods
from acuity.mcp.wire.http.static_files import page_headers, static_files

ROOT: Final = "/"
_FOLDER: Final = "/live/"
_INDEX: Final = "live.html"
_HTML: Final = "text/html"
_READ: Final = ("GET", "HEAD")

# Calls a function at once, or when there is time for it.
Paced: TypeAlias = Callable[[Callable[[], object]], object]


def at_once(work: Callable[[], object]) -> None:
    """No pacing."""
    work()


def asks_for_page(request: Request) -> bool:
    """Whether a request is a browser's for the page: it takes no token, as there is no secret in it."""
    return request.path == ROOT and request.method in _READ and _HTML in request.headers.get("accept", "")


def page_files(paced: Paced = at_once) -> dict[str, Handler]:
    """The handlers of the page's files, by path: its own, and those that it shares with report pages."""
    found = _handlers()
    return {
        f"{_FOLDER}{name}": for_methods(_READ, _when_paced(found[name], paced))
        for name in found
        if name != _INDEX
    }


def _when_paced(handler: Handler, paced: Paced) -> Handler:
    def handle(request: Request, responder: Responder) -> None:
        paced(lambda: None if responder.gone else handler(request, responder))

    return handle


@cache
def _handlers() -> dict[str, Handler]:
    folders = [files("acuity.report").joinpath("static"), files(__package__).joinpath("static")]
    return static_files([folder for folder in folders if folder.is_dir()], page_headers("'self' data:"))


def with_page(health: Handler, paced: Paced = at_once) -> Handler:
    """The handler of `/`: the page for browsers, the given handler for everybody else."""
    page = _when_paced(_handlers()[_INDEX], paced)

    def handle(request: Request, responder: Responder) -> None:
        (page if asks_for_page(request) else health)(request, responder)

    return for_methods(_READ, handle)
