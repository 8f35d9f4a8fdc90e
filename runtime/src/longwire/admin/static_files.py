"""The files of the page at /admin, by path."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from longwire.wire.http import static_files as pages
from longwire.wire.http.request import Handler

PAGE: Final = "/admin"
_FOLDER: Final = "/admin/static/"
_INDEX: Final = "index.html"


def static_files() -> dict[str, Handler]:
    """The handlers of the page and its files, by path."""
    found = pages.static_files([files(__package__).joinpath("static")], pages.page_headers())
    return {PAGE if name == _INDEX else f"{_FOLDER}{name}": handler for name, handler in found.items()}
