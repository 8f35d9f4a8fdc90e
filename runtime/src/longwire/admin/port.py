"""The port of the operator's view put together: its checks, its JSON and the files of its page."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from functools import partial
from importlib.resources import files
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from longwire.admin.actions import ACTIONS, Audit, action_handler, audits_together
from longwire.admin.nodes_view import RUNTIME, KnownNodes
from longwire.admin.queries import (
    DEFAULT_LIMIT,
    FAILED,
    HEADERS,
    PAGING,
    AdminRefusal,
    Document,
    answer,
    encoded,
    parameters,
    refuse,
)
from longwire.admin.runtime_view import History, histories_together, runtime_document, workers_document
from longwire.admin.sessions_view import asked_of_each, sessions_document, sessions_together, streams_document
from longwire.admin.sources import Sources
from longwire.endpoints import Page
from longwire.guard.access import Access
from longwire.guard.tokens import Tokens
from longwire.names import expected_errors
from longwire.operations.observe import shown
from longwire.principals.principal import Holders, Principal
from longwire.text import note, quoted, shown_id
from longwire.wire.http import static_files as pages
from longwire.wire.http.request import Handler, Request, Responder
from longwire.wire.listeners import Address
from longwire.wire.sse import event
from longwire.wire.tasks import RunningTasks
from longwire.work import Job

logger: Final = logging.getLogger(__name__)

PAGE: Final = "/admin"
_NAME: Final = "admin"  # of the port, in logs
_FOLDER: Final = "/admin/static/"
_INDEX: Final = "index.html"
_READ: Final = ("GET", "HEAD")

Make: TypeAlias = Callable[[str], Document]  # a document of this node, from the query
MakeLater: TypeAlias = Callable[[str], Awaitable[Document]]


def static_files() -> dict[str, Handler]:
    """The handlers of the page and its files, by path."""
    found = pages.static_files([files(__package__).joinpath("static")], pages.page_headers())
    return {PAGE if name == _INDEX else f"{_FOLDER}{name}": handler for name, handler in found.items()}


MOST: Final = 16  # who watch at once
PERIOD: Final = 1.0  # seconds


class LiveFeed:
    """The live feed of the page: server-sent events with the state of the server, each second.

    The state is made once for all pages that watch, and not at all while none does. A page that doesn't read
    is skipped, so nothing piles up; the next state is complete again.
    """

    def __init__(self, state: Callable[[], object]) -> None:
        self._state = state
        self._watching: dict[Responder, Principal] = {}
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._watching)

    def handle(self, request: Request, responder: Responder) -> None:
        if len(self._watching) >= MOST:
            problem = AdminRefusal(503, f"{MOST} pages watch already, which is the most: close one")
            refuse(responder, problem, [(b"retry-after", b"5")])
            return
        responder.begin_events(HEADERS)
        responder.on_gone(partial(self._left, responder))
        self._watching[responder] = request.principal
        self._send(responder, event(encoded(self._state()), b"state"))
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(PERIOD, self._tick)

    def announce(self, kind: bytes, document: object) -> None:
        text = event(encoded(document), kind)
        for responder in list(self._watching):
            self._send(responder, text)

    def end_gone(self, gone: Holders) -> None:
        """End the feeds of those whose tokens are no longer valid."""
        for responder, principal in list(self._watching.items()):
            if gone.include(principal):
                self._left(responder)
                responder.end()

    def close(self) -> None:
        for responder in list(self._watching):
            self._left(responder)
            if not responder.gone:
                responder.end()

    def _tick(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(PERIOD, self._tick)
        self.announce(b"state", self._state())

    def _send(self, responder: Responder, text: bytes) -> None:
        if responder.gone:
            self._left(responder)
        elif not responder.unsent:
            responder.send(text)

    def _left(self, responder: Responder) -> None:
        self._watching.pop(responder, None)
        if not self._watching and self._timer is not None:
            self._timer.cancel()
            self._timer = None


class AdminPort:
    """The operator's view of one server."""

    def __init__(
        self,
        address: Address,
        sources: Sources,
        tokens: Tokens,
        clients: Access | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`clients` are the checks of other ports, whose names, proxies and counts hold here too."""
        self.sources, self.audit = sources, Audit(sources.clock)
        self._tasks = tasks = RunningTasks()
        nodes = KnownNodes(sources, tasks)
        self.history = history = History(sources, nodes.document)

        def state() -> Document:
            own = {"cluster": nodes.document(), "admin_actions_total": self.audit.total}
            return {**runtime_document(sources), **own}

        async def fresh_state(query: str) -> Document:
            parameters(query, {})
            await nodes.fresh()
            return state()

        self._feed = feed = LiveFeed(state)
        self.audit.on_action = lambda action: feed.announce(b"audit", asdict(action))
        tokens.on_gone(feed.end_gone)
        page_files = static_files()
        own: dict[str, Make] = {  # documents of this node that are made at once
            "/admin/runtime/mcp": partial(sessions_document, sources),
            "/admin/audit": self.audit.document,
            "/admin/history": history.document,
            "/admin/streams": partial(streams_document, sources),
            "/admin/workers": partial(workers_document, sources),
        }
        made: dict[str, MakeLater] = {at: partial(_of_nodes, at, make, nodes) for at, make in own.items()}
        made[RUNTIME] = fresh_state
        made["/admin/jobs"] = partial(_jobs, sources)
        handlers = {path: _document_handler(make, tasks) for path, make in made.items()}
        routes: dict[str, tuple[tuple[str, ...], Handler]] = {
            path: (_READ, handler) for path, handler in {**page_files, **handlers}.items()
        }
        routes["/"] = _READ, _to_page
        routes["/admin/events"] = ("GET",), feed.handle
        for path, action in ACTIONS.items():
            routes[path] = ("POST",), action_handler(action, sources, self.audit, tasks)
        given = clients or Access()
        access = Access(
            tokens, given.names, plain_refusals=True, proxies=given.proxies, refused=given.refused
        )
        # The endpoint to open.
        self.page = Page(_NAME, address, _routed(routes), PAGE, tls, access, frozenset({*page_files, "/"}))
        own[RUNTIME] = lambda _: runtime_document(sources)
        self.peers = _for_peers(own)  # answers other nodes, with the documents of this one

    async def close(self) -> None:
        self.history.close()
        self._feed.close()
        await self._tasks.end()


# ---- documents ------------------------------------------------------------------------------


# Documents that cover all nodes where the query says nodes=all: the query for each node, and the function
# that merges the nodes' documents, by label.
_MERGES: Final[dict[str, tuple[Callable[[str], str], Callable[[str, Mapping[str, Document]], Document]]]] = {
    "/admin/runtime/mcp": (asked_of_each, sessions_together),
    "/admin/audit": (lambda _: "", audits_together),
    "/admin/history": (lambda _: "", histories_together),
}


async def _of_nodes(path: str, make: Make, nodes: KnownNodes, query: str) -> Document:
    here = make(query)  # which refuses bad parameters
    if path not in _MERGES or nodes.here is None or "nodes=all" not in query.split("&"):
        return here
    each, merge = _MERGES[path]
    asked = each(query)
    own = {nodes.here: make(asked)}
    await nodes.fresh()
    return merge(query, own | await nodes.ask_others(path, asked))


async def _jobs(sources: Sources, query: str) -> Document:
    """The document of GET /admin/jobs: the store is read in a thread."""
    asked = parameters(query, {"limit": PAGING["limit"]})
    try:
        jobs, more = await sources.jobs.list(limit=asked.get("limit", DEFAULT_LIMIT))
    except expected_errors() as error:
        raise AdminRefusal(503, str(error)) from None
    return {"returned_jobs": len(jobs), "more": more, "jobs": [_row(job) for job in jobs]}


def _row(job: Job) -> Document:
    progress = job.progress
    return {
        "id": shown_id(job.id),
        "tool": job.tool,
        "title": note(job.title),
        "client": shown(job.client),
        "status": job.status,
        "created_at_unix": job.created,
        "started_at_unix": job.started,
        "finished_at_unix": job.finished,
        "queue_position": job.queue_position,
        "done": None if progress is None else progress.done,
        "total": None if progress is None else progress.total,
        "message": None if progress is None else note(progress.message),
        "error": None if job.error is None else note(job.error),
    }


# ---- handlers -------------------------------------------------------------------------------


def _document_handler(make: MakeLater, tasks: RunningTasks) -> Handler:
    async def later(request: Request, responder: Responder) -> None:
        try:
            answer(responder, await make(request.query))
        except AdminRefusal as refusal:
            refuse(responder, refusal)
        except Exception:  # or nobody would answer
            logger.exception("%s could not be made", request.path, extra={"event": "admin_failed"})
            refuse(responder, FAILED)

    def handle(request: Request, responder: Responder) -> None:
        tasks.spawn(later(request, responder))

    return handle


def _for_peers(documents: Mapping[str, Make]) -> Handler:
    """The handler for other nodes' questions: documents of this node alone, without asking further nodes."""

    def handle(request: Request, responder: Responder) -> None:
        make = documents.get(request.path)
        try:
            if make is None or request.method != "GET":
                raise AdminRefusal(404, f"nodes are not told of {quoted(request.path)}")
            answer(responder, make(request.query))
        except AdminRefusal as refusal:
            refuse(responder, refusal)

    return handle


def _routed(routes: Mapping[str, tuple[tuple[str, ...], Handler]]) -> Handler:
    """A handler that routes requests by path; its refusals have the form of all others of this port."""
    named = ", ".join(path for path in routes if path.startswith(PAGE) and "/static/" not in path)

    def handle(request: Request, responder: Responder) -> None:
        methods, handler = routes.get(request.path, ((), None))
        if (foreign := _foreign(request)) is not None:
            refuse(responder, foreign)
        elif handler is None:
            refuse(responder, AdminRefusal(404, f"there is nothing at {quoted(request.path)}: use {named}"))
        elif request.method not in methods:
            allowed = ", ".join(methods)
            problem = AdminRefusal(405, f"{request.path} takes no {quoted(request.method)}: use {allowed}")
            refuse(responder, problem, [(b"allow", allowed.encode())])
        else:
            handler(request, responder)

    return handle


def _to_page(_: Request, responder: Responder) -> None:
    responder.answer(302, headers=[*HEADERS, (b"location", PAGE.encode())])


def _foreign(request: Request) -> AdminRefusal | None:
    """The refusal of a request that another page sent: the origins allowed to clients don't count here."""
    headers = request.headers
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc.lower() != headers.get("host", "").lower():
        return AdminRefusal(403, f"pages of {quoted(origin)} may not use the admin port")
    ours = headers.get("sec-fetch-site", "none") in ("none", "same-origin")
    if ours or headers.get("sec-fetch-mode") == "navigate":  # a link may lead here
        return None
    return AdminRefusal(403, "other pages may not use the admin port: type its address")
