"""Sessions and their streams as operators see them: filtered, sorted and paged.

A session id is as good as a password, so only its beginning is shown. Asking costs the server about a
microsecond a session; what is dear, such as the client's name, is read for the rows of one page only.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlencode

from longwire.admin.queries import (
    DEFAULT_LIMIT,
    MOST,
    NODES,
    PAGING,
    AdminRefusal,
    Document,
    Reader,
    one_of,
    parameters,
    text,
    truth,
)
from longwire.admin.sources import Sources
from longwire.sessions.session import Session
from longwire.settings import Settings
from longwire.text import bounded, note, shown_id

_PATH: Final = "/mcp"
_LONGEST_NAME: Final = 120  # characters of what a client says about itself
_LONGEST_CAPABILITIES: Final = 2000

_ORDERS: Final[dict[str, Callable[[Session], Any]]] = {
    "started": lambda session: session.created,
    "last_activity": lambda session: session.last_seen,
    "pending": lambda session: session.pending,
    "pending_bytes": lambda session: session.pending_bytes,
    "streams": lambda session: attached(session),
    "calls": lambda session: session.calls,
    "principal": lambda session: session.principal,
    "protocol_version": lambda session: session.version,
}
# The member of a row that each order goes by.
_MEMBERS: Final = {
    "started": "started_at_unix",
    "last_activity": "last_activity_unix",
    "pending": "pending_count",
    "calls": "calls_in_flight",
}
_PARAMETERS: Final[Mapping[str, Reader]] = {
    **NODES,
    "details": truth,
    **PAGING,
    "session_id": text,
    "protocol_version": text,
    "principal": text,
    "connected": truth,
    "sort": one_of(*_ORDERS),
    "order": one_of("asc", "desc"),
}


def attached(session: Session) -> int:
    """How many of its streams have a connection: GETs, and those of calls."""
    return sum(1 for _ in session.attached_streams())


def beginning(given: str) -> str:
    """The beginning of a session's id as an operator typed it, without a trailing ellipsis."""
    return given.removesuffix("…").removesuffix("...")


def sessions_document(sources: Sources, query: str) -> Document:
    asked = parameters(query, _PARAMETERS)
    found = _filtered(sources, asked)
    limit, offset = asked.get("limit", DEFAULT_LIMIT), asked.get("offset", 0)
    rows: list[Document] = []
    if details := asked.get("details", False):
        key = _ORDERS[asked.get("sort", "started")]
        ordered = sorted(found, key=key, reverse=asked.get("order", "asc") == "desc")
        epoch = 0.0 if sources.runtime is None else sources.runtime.sessions.epoch
        rows = [_row(session, epoch) for session in ordered[offset : offset + limit]]
    return {
        "active_sessions": len(found),
        "returned_sessions": len(rows),
        "details": details,
        "limit": limit,
        "offset": offset,
        **{name: asked.get(name) for name in ("session_id", "protocol_version", "principal")},
        "protocol_versions": dict(Counter(session.version for session in found).most_common(16)),
        **limits_of_sessions(sources.settings),
        "sessions": rows,
    }


def asked_of_each(query: str) -> str:
    """The query for each of several nodes: all rows up to the last that is wanted; raises AdminRefusal."""
    asked = parameters(query, _PARAMETERS)
    wanted = asked.pop("limit", DEFAULT_LIMIT) + asked.pop("offset", 0)
    if wanted > MOST:
        raise AdminRefusal(400, f"limit and offset are {wanted} together: {MOST} are the most with nodes=all")
    asked.pop("nodes", None)
    written = {name: int(value) if isinstance(value, bool) else value for name, value in asked.items()}
    return urlencode({**written, "limit": wanted})


def sessions_together(query: str, documents: Mapping[str, Document]) -> Document:
    """Merge the documents of several nodes, given by label; each session names its node."""
    asked = parameters(query, _PARAMETERS)
    limit, offset = asked.get("limit", DEFAULT_LIMIT), asked.get("offset", 0)
    told = {label: one for label, one in documents.items() if "problem" not in one}
    rows = [{**row, "node": label} for label, one in told.items() for row in one["sessions"]]
    sort = asked.get("sort", "started")
    rows.sort(key=lambda row: row[_MEMBERS.get(sort, sort)], reverse=asked.get("order", "asc") == "desc")
    shown = rows[offset : offset + limit]
    versions: Counter[str] = Counter()
    for one in told.values():
        versions.update(one["protocol_versions"])
    return {
        **next(iter(told.values())),
        "active_sessions": sum(one["active_sessions"] for one in told.values()),
        "returned_sessions": len(shown),
        "limit": limit,
        "offset": offset,
        "protocol_versions": dict(versions.most_common(16)),
        "max_sessions": sum(one["max_sessions"] for one in told.values()),
        "nodes": sorted(told),
        "problems": [one["problem"] for one in documents.values() if "problem" in one],
        "sessions": shown,
    }


def limits_of_sessions(settings: Settings) -> Document:
    """The limits under the names of the runtime's plan."""
    return {
        "max_sessions": settings.max_sessions,
        "max_sessions_per_principal": settings.max_sessions_each,
        "max_pending_messages": settings.max_pending,
        "max_pending_bytes": settings.max_pending_bytes,
        "session_ttl_seconds": settings.idle_timeout,
        "allowed_origins": list(settings.allowed_origins),
        "sampling_capability_policy": settings.capability_policy,
    }


def _filtered(sources: Sources, asked: Mapping[str, Any]) -> list[Session]:
    if sources.runtime is None:
        return []
    sessions = sources.runtime.sessions
    whose, version, connected = (asked.get(name) for name in ("principal", "protocol_version", "connected"))
    begin = asked.get("session_id")
    among = sessions if begin is None else sessions.starting_with(beginning(begin))
    return [
        session
        for session in among
        if (whose is None or session.principal in (whose, f"token:{whose}", f"address:{whose}"))
        and (version is None or session.version == version)
        and (connected is None or connected == (session.open_gets > 0))
    ]


def _row(session: Session, epoch: float) -> Document:
    client = session.client
    info = client.get("clientInfo")
    named = info if isinstance(info, Mapping) else {}
    return {
        "id": shown_id(session.id),
        "protocol_version": session.version,
        "principal": session.principal,
        "client_name": _said(named.get("title") or named.get("name")),
        "client_version": _said(named.get("version")),
        "client_capabilities_json": _capabilities(client.get("capabilities")),
        "path": _PATH,
        "started_at_unix": round(session.created + epoch, 3),
        "last_activity_unix": round(session.last_seen + epoch, 3),
        "initialized": session.initialized,
        "connected": session.open_gets > 0,
        "streams": attached(session),
        "calls_in_flight": session.calls,
        "pending_count": session.pending,
        "pending_bytes": session.pending_bytes,
    }


def _said(text: object) -> str:
    return note(text, _LONGEST_NAME) if isinstance(text, str) else ""


def _capabilities(declared: object) -> str:
    """The client's capabilities as JSON; of very long ones the names only."""
    if not isinstance(declared, Mapping):
        return "{}"
    found = json.dumps(bounded(dict(declared), 4), ensure_ascii=False)
    if len(found) > _LONGEST_CAPABILITIES:
        found = json.dumps({note(str(name), 32): {} for name in list(declared)[:32]}, ensure_ascii=False)
    return found


def streams_document(sources: Sources, query: str) -> Document:
    """The document of GET /admin/streams: the open event streams of sessions; raises AdminRefusal."""
    asked = parameters(query, PAGING)
    limit, offset = asked.get("limit", DEFAULT_LIMIT), asked.get("offset", 0)
    found = [(session, stream) for session in sources.sessions for stream in session.attached_streams()]
    rows = [
        {
            "session_id": shown_id(session.id),
            "principal": session.principal,
            "stream": stream.number,
            "kind": "get" if stream.is_get else "request",
            "request_id": None if stream.request_id is None else _said(str(stream.request_id)),
            "waiting": len(stream.unwritten()),
            "reading": stream.has_room,
        }
        for session, stream in found[offset : offset + limit]
    ]
    counted = {"open_streams": len(found), "returned_streams": len(rows)}
    return {**counted, "limit": limit, "offset": offset, "streams": rows}
