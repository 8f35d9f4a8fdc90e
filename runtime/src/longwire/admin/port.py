"""The port of the operator's view put together: its checks, its JSON, its jobs and the files of its page."""

from __future__ import annotations

import ssl
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from longwire.admin.actions import ACTIONS, KEPT, Action, Audit, action_handler, audits_together
from longwire.admin.history import History, together
from longwire.admin.live import LiveFeed
from longwire.admin.nodes_view import RUNTIME, KnownNodes
from longwire.admin.queries import (
    DEFAULT_LIMIT,
    HEADERS,
    NODES,
    PAGING,
    AdminRefusal,
    Document,
    answer,
    document_handler,
    parameters,
    refuse,
    whole,
)
from longwire.admin.runtime_view import runtime_document, workers_document
from longwire.admin.sessions_view import asked_of_each, sessions_document, sessions_together, streams_document
from longwire.admin.sources import Sources
from longwire.declared import expected_errors
from longwire.endpoints import Page
from longwire.guard.access import Access
from longwire.guard.proxies import NO_PROXIES, TrustedProxies
from longwire.guard.tokens import Tokens
from longwire.operations.observe import shown
from longwire.text import note, quoted, shown_id
from longwire.wire.http import static_files as pages
from longwire.wire.http.request import Handler, Request, Responder
from longwire.wire.listeners import Address
from longwire.wire.tasks import Tasks
from longwire.work import Job

PAGE: Final = "/admin"
_FOLDER: Final = "/admin/static/"
_INDEX: Final = "index.html"


def static_files() -> dict[str, Handler]:
    """The handlers of the page and its files, by path."""
    found = pages.static_files([files(__package__).joinpath("static")], pages.page_headers())
    return {PAGE if name == _INDEX else f"{_FOLDER}{name}": handler for name, handler in found.items()}


def jobs_handler(sources: Sources, tasks: Tasks) -> Handler:
    """The handler of GET /admin/jobs. The store is read in a thread, so the answer comes later."""

    async def read(limit: int, responder: Responder) -> None:
        try:
            jobs, more = await sources.jobs.list(limit=limit)
        except expected_errors() as error:
            refuse(responder, AdminRefusal(503, str(error)))
            return
        if not responder.gone:
            answer(responder, {"returned_jobs": len(jobs), "more": more, "jobs": [_row(job) for job in jobs]})

    def handle(request: Request, responder: Responder) -> None:
        try:
            asked = parameters(request.query, {"limit": PAGING["limit"]})
        except AdminRefusal as refusal:
            refuse(responder, refusal)
        else:
            tasks.spawn(read(asked.get("limit", DEFAULT_LIMIT), responder))

    return handle


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


_NAME: Final = "admin"  # of the port, in logs
_AUDIT: Final = {**NODES, "limit": whole(1, KEPT)}


@dataclass(frozen=True, slots=True)
class AdminPort:
    """The operator's view of one server."""

    sources: Sources
    audit: Audit
    page: Page  # the endpoint to open
    _feed: LiveFeed
    _tasks: Tasks
    history: History
    peers: Handler  # answers other nodes, with the documents of this one

    @classmethod
    def at(
        cls,
        address: Address,
        sources: Sources,
        tokens: Tokens,
        *,
        names: frozenset[str] = frozenset(),
        refused: Counter[str] | None = None,
        tls: ssl.SSLContext | None = None,
        proxies: TrustedProxies = NO_PROXIES,
    ) -> AdminPort:
        """The view at an address; `names` are further host names of this machine."""
        audit, tasks = Audit(sources.clock), Tasks()
        nodes, history = KnownNodes(sources, tasks), History(sources)
        history.on_point = nodes.document
        history.start()

        def state() -> Document:
            return {
                **runtime_document(sources),
                "cluster": nodes.document(),
                "admin_actions_total": audit.total,
            }

        feed = LiveFeed(state)
        audit.on_action = lambda action: _tell(feed, action)
        tokens.on_gone(feed.end_gone)
        files = static_files()
        shown = {
            **files,
            **_documents(sources),
            **_of_all(sources, audit, history, nodes, tasks),
            "/admin/runtime": _runtime_handler(state, nodes, tasks),
            "/admin/jobs": jobs_handler(sources, tasks),
        }
        routes: dict[str, tuple[tuple[str, ...], Handler]] = {
            path: (("GET", "HEAD"), handler) for path, handler in shown.items()
        }
        routes["/"] = ("GET", "HEAD"), _to_page
        routes["/admin/events"] = ("GET",), feed.handle
        for path, action in ACTIONS.items():
            routes[path] = ("POST",), action_handler(action, sources, audit, tasks)
        access = Access(
            tokens,
            names,
            plain_refusals=True,
            proxies=proxies,
            refused=Counter() if refused is None else refused,
        )
        handler = _same_origin(_routed(routes))
        page = Page(_NAME, address, handler, PAGE, tls, access, frozenset({*files, "/"}))
        return cls(sources, audit, page, feed, tasks, history, _for_peers(sources, audit, history))

    async def close(self) -> None:
        """End what still runs."""
        self.history.close()
        self._feed.close()
        await self._tasks.end()


def _runtime_handler(state: Callable[[], Document], nodes: KnownNodes, tasks: Tasks) -> Handler:
    """The handler of GET /admin/runtime, which waits for a fresh list of nodes."""

    async def later(request: Request, responder: Responder) -> None:
        await nodes.fresh()
        if not responder.gone:
            document_handler(lambda _: state())(request, responder)

    def handle(request: Request, responder: Responder) -> None:
        try:
            parameters(request.query, {})
        except AdminRefusal as refusal:
            refuse(responder, refusal)
        else:
            tasks.spawn(later(request, responder))

    return handle


Make: TypeAlias = Callable[[str], Document]  # a document of this node, from the query
Merge: TypeAlias = Callable[[str, Mapping[str, Document]], Document]  # one of those of all nodes, by label


def _own_documents(sources: Sources, audit: Audit, history: History) -> dict[str, Make]:
    """The documents that nodes ask each other for, by path."""

    def actions(query: str) -> Document:
        return audit.document(parameters(query, _AUDIT).get("limit", KEPT))

    def points(query: str) -> Document:
        parameters(query, NODES)
        return history.document()

    return {
        "/admin/runtime/mcp": lambda query: sessions_document(sources, query),
        "/admin/audit": actions,
        "/admin/history": points,
    }


def _for_peers(sources: Sources, audit: Audit, history: History) -> Handler:
    """The handler of what other nodes ask: documents of this node alone, none of which asks on."""
    documents = _own_documents(sources, audit, history)
    documents[RUNTIME] = lambda _: runtime_document(sources)

    def handle(request: Request, responder: Responder) -> None:
        make = documents.get(request.path)
        if make is None or request.method != "GET":
            refuse(responder, AdminRefusal(404, f"nodes are not told of {quoted(request.path)}"))
        else:
            document_handler(lambda asked: make(asked.query))(request, responder)

    return handle


def _of_all(
    sources: Sources, audit: Audit, history: History, nodes: KnownNodes, tasks: Tasks
) -> Mapping[str, Handler]:
    """The handlers of documents that are of all nodes where the query says nodes=all."""
    own = _own_documents(sources, audit, history)
    # What each node is asked for, and how one document is made of what they say.
    merges: dict[str, tuple[Callable[[str], str], Merge]] = {
        "/admin/runtime/mcp": (asked_of_each, sessions_together),
        "/admin/audit": (lambda _: "", lambda _, found: audits_together(found)),
        "/admin/history": (lambda _: "", lambda _, found: together(found.values())),
    }

    def handler(path: str, make: Make) -> Handler:
        each, merge = merges[path]

        async def later(request: Request, responder: Responder, query: str) -> None:
            here = sources.nodes
            found = {} if here is None else {here.label: make(query)}
            found |= await nodes.ask_others(path, query)
            if not responder.gone:
                answer(responder, merge(request.query, found))

        def handle(request: Request, responder: Responder) -> None:
            if sources.nodes is None or "nodes=all" not in request.query.split("&"):
                document_handler(lambda asked: make(asked.query))(request, responder)
                return
            try:
                make(request.query)  # which refuses bad parameters
                query = each(request.query)
            except AdminRefusal as refusal:
                refuse(responder, refusal)
            else:
                tasks.spawn(later(request, responder, query))

        return handle

    return {path: handler(path, make) for path, make in own.items()}


def _documents(sources: Sources) -> Mapping[str, Handler]:
    """The handlers of the JSON documents that are made at once, by path."""

    def workers(request: Request) -> object:
        parameters(request.query, {})
        return workers_document(sources)

    return {
        "/admin/streams": document_handler(lambda request: streams_document(sources, request.query)),
        "/admin/workers": document_handler(workers),
    }


def _routed(routes: Mapping[str, tuple[tuple[str, ...], Handler]]) -> Handler:
    """A handler that hands each request to that of its path; refusals have the form of the others here."""
    named = ", ".join(path for path in routes if path.startswith(PAGE) and "/static/" not in path)

    def handle(request: Request, responder: Responder) -> None:
        methods, handler = routes.get(request.path, ((), None))
        if handler is None:
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


def _tell(feed: LiveFeed, action: Action) -> None:
    feed.announce(b"audit", asdict(action))


def _same_origin(handler: Handler) -> Handler:
    """The same handler, for no page but the server's own: clients' pages may come from elsewhere."""

    def handle(request: Request, responder: Responder) -> None:
        origin, host = request.headers.get("origin"), request.headers.get("host", "")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            refuse(responder, AdminRefusal(403, f"pages of {quoted(origin)} may not use the admin port"))
        elif (
            request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
            and request.headers.get("sec-fetch-mode") != "navigate"  # a link may lead here
        ):
            refuse(responder, AdminRefusal(403, "other pages may not use the admin port: type its address"))
        else:
            handler(request, responder)

    return handle
