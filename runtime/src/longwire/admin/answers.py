"""The answers of the operator's view: JSON documents, and refusals of one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from longwire.errors import LongwireError
from longwire.wire.http.request import Handler, HeaderList, Request, Responder
from longwire.wire.http.routes import JSON
from longwire.wire.http.static_files import OWN_PAGE_ONLY

HEADERS: Final = OWN_PAGE_ONLY

Document: TypeAlias = dict[str, Any]


class AdminRefusal(LongwireError):
    """A request of an operator that can't be carried out: its HTTP status, and why."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def encoded(document: object) -> bytes:
    """A document as one line of JSON."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")


def answer(responder: Responder, document: object, status: int = 200, headers: HeaderList = ()) -> None:
    """Answer with a document."""
    responder.answer(status, encoded(document), JSON, [*HEADERS, *headers])


def refuse(responder: Responder, refusal: AdminRefusal, headers: HeaderList = ()) -> None:
    """Answer with the sentence of a refusal."""
    answer(responder, {"error": str(refusal)}, refusal.status, headers)


def document_handler(make: Callable[[Request], object]) -> Handler:
    """A handler that answers with the document that a function makes."""

    def handle(request: Request, responder: Responder) -> None:
        try:
            found = make(request)
        except AdminRefusal as refusal:
            refuse(responder, refusal)
        else:
            answer(responder, found)

    return handle
