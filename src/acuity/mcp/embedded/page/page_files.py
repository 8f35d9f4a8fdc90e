"""The live page and its files. At `/` it is for browsers; everybody else gets the health document there."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

from acuity.mcp.wire.http.request import Handler, Request, Responder
from acuity.mcp.wire.http.routes import for_methods
from acuity.mcp.wire.http.static_files import page_headers, static_files

ROOT: Final = "/"
_FOLDER: Final = "/live/"
_INDEX: Final = "live.html"
_HTML: Final = "text/html"
_READ: Final = ("GET", "HEAD")


def asks_for_page(request: Request) -> bool:
    """Whether a request is a browser's for the page: it takes no token, as there is no secret in it."""
    return request.path == ROOT and request.method in _READ and _HTML in request.headers.get("accept", "")


@cache
def page_files() -> dict[str, Handler]:
    """The handlers of the page's files, by path: its own, and those that it shares with report pages."""
    found = _handlers()
    return {f"{_FOLDER}{name}": for_methods(_READ, found[name]) for name in found if name != _INDEX}


@cache
def _handlers() -> dict[str, Handler]:
    folders = [files("acuity.report").joinpath("static"), files(__package__).joinpath("static")]
    return static_files([folder for folder in folders if folder.is_dir()], page_headers("'self' data:"))


def with_page(health: Handler) -> Handler:
    """The handler of `/`: the page for browsers, the given handler for everybody else."""
    page = _handlers()[_INDEX]

    def handle(request: Request, responder: Responder) -> None:
        (page if asks_for_page(request) else health)(request, responder)

    return for_methods(_READ, handle)
