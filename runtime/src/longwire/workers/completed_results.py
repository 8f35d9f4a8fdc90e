"""What 2026-07-28 wants in results beyond a worker's own words, and `server/discover` from its handshake.

Workers are written for their tools. What is the same for all of them is filled in here, for any language.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from mcp_types import METHOD_NOT_FOUND, SERVER_INFO_META_KEY
from mcp_types.methods import CACHEABLE_METHODS
from mcp_types.version import LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS

from longwire.contract.envelopes import Result
from longwire.contract.writing import json_text
from longwire.declared import declared
from longwire.principals.principal import Principal
from longwire.wire.http.request import Request
from longwire.workers.call import NoticeCall, Outcome, WorkerCall
from longwire.workers.members import Members

DISCOVER: Final = "server/discover"
_MODERN: Final = frozenset(MODERN_PROTOCOL_VERSIONS)
# Without a word of the worker, nobody may keep a list for others, or for later.
_UNCACHED: Final[Mapping[str, Any]] = {"ttlMs": 0, "cacheScope": "private"}


def completed(method: str, version: str, result: dict[str, Any]) -> dict[str, Any]:
    """A worker's result with what its version requires of every result; the worker's own words stay."""
    if version not in _MODERN:
        return result
    filled = dict(result)
    if filled.get("resultType") is None:
        filled["resultType"] = "complete"
    if method in CACHEABLE_METHODS and filled["resultType"] == "complete":
        for name, value in _UNCACHED.items():
            if filled.get(name) is None:
                filled[name] = value
    return filled


def is_unknown(outcome: Outcome) -> bool:
    """Whether the worker says that it doesn't know the method."""
    if not isinstance(outcome, Result):
        return False
    error = (outcome.jsonrpc or {}).get("error")
    return not outcome.handled or (isinstance(error, dict) and error.get("code") == METHOD_NOT_FOUND)


class Discovery:
    """Answers `server/discover` for workers that know the handshake alone: it asks for one, and remembers."""

    def __init__(self, members: Members, submit: Callable[[WorkerCall], None]) -> None:
        self._members = members
        self._submit = submit
        self._known: dict[str, Any] | None = None

    def forget(self) -> None:
        """Ask again next time: there is a new worker."""
        self._known = None

    async def result(self) -> dict[str, Any] | None:
        """The result; None: the worker's handshake can't be used for one."""
        if self._known is None:
            self._known = _discovered(await self._shaken())
        return self._known

    async def _shaken(self) -> Outcome:
        call = _Asked()
        params = {
            "protocolVersion": LATEST_HANDSHAKE_VERSION,
            "capabilities": {},
            "clientInfo": {"name": declared().name, "version": declared().version},
        }
        request = Request("POST", "/mcp", principal=Principal("runtime"))
        call.members = self._members.of_single(request, LATEST_HANDSHAKE_VERSION, params)
        call.jsonrpc = json_text({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
        self._submit(call)
        return await call.outcome


class _Asked(NoticeCall):
    """A request that the runtime makes itself."""

    __slots__ = ("outcome",)

    def __init__(self) -> None:
        super().__init__()
        self.outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()

    def ended(self, outcome: Outcome) -> None:
        if not self.outcome.done():
            self.outcome.set_result(outcome)


def _discovered(outcome: Outcome) -> dict[str, Any] | None:
    reply = outcome.jsonrpc if isinstance(outcome, Result) and outcome.handled else None
    said = (reply or {}).get("result")
    if not isinstance(said, dict) or not isinstance(said.get("capabilities"), dict):
        return None
    found: dict[str, Any] = {
        "supportedVersions": list(MODERN_PROTOCOL_VERSIONS),
        "capabilities": said["capabilities"],
    }
    if isinstance(said.get("instructions"), str):
        found["instructions"] = said["instructions"]
    if isinstance(said.get("serverInfo"), dict):
        found["_meta"] = {SERVER_INFO_META_KEY: said["serverInfo"]}
    return found


class ToolNames(NoticeCall):
    """A list of tools that the runtime asks for itself."""

    __slots__ = ("_told",)

    def __init__(self, told: Callable[[Iterable[str]], None]) -> None:
        super().__init__()
        self._told = told

    def ended(self, outcome: Outcome) -> None:
        reply = outcome.jsonrpc if isinstance(outcome, Result) else None
        if reply is not None and "result" in reply:
            self._told(tool_names(reply["result"]))


def tool_names(result: dict[str, Any]) -> list[str]:
    tools = result.get("tools")
    entries = tools if isinstance(tools, list) else []
    return [tool["name"] for tool in entries if isinstance(tool, dict) and type(tool.get("name")) is str]
