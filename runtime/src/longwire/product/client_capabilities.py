"""The capabilities that requests to clients need, and the policy for those that a client did not declare.

A client declares what it can answer: sampling, elicitation (a form, or a page to open), roots. The operator's
policy decides about a request beyond that: it is sent with a warning in the log, left out, or refused.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST, MISSING_REQUIRED_CLIENT_CAPABILITY

from longwire.settings import CapabilityPolicy

logger: Final = logging.getLogger(__name__)

# Counts a request to a client: its kind, such as "sampling", and its outcome, such as "answered".
Count: TypeAlias = Callable[[str, str], None]
Capabilities: TypeAlias = Mapping[str, Any]  # as a client declares them on the wire

_KINDS: Final = {
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
    "roots/list": "roots",
    "ping": "ping",
}


class RequestDropped(MCPError):
    """A request was not sent, because the client did not declare the capability and the policy is "drop"."""


@dataclass(frozen=True, slots=True)
class Need:
    """A capability that a request needs: `sampling`, or a part of it such as `sampling.tools`."""

    capability: str
    part: str | None = None

    def __str__(self) -> str:
        return self.capability if self.part is None else f"{self.capability}.{self.part}"

    def document(self) -> dict[str, Any]:
        """The capability as a client would declare it."""
        return {self.capability: {} if self.part is None else {self.part: {}}}

    def declared_in(self, capabilities: Capabilities) -> bool:
        declared = capabilities.get(self.capability)
        if not isinstance(declared, Mapping):
            return False
        if self.part is None or isinstance(declared.get(self.part), Mapping):
            return True
        # A client that names no mode of elicitation means forms, the only mode of the older versions.
        return self == _FORM and "url" not in declared


_FORM: Final = Need("elicitation", "form")


def kind_of(method: str) -> str:
    """The kind of a request, as counters name it."""
    return _KINDS.get(method, "other")


def need_of(method: str, params: Mapping[str, Any] | None) -> Need | None:
    """The capability that a request needs, or None if any client may be sent it."""
    given = params or {}
    if method == "sampling/createMessage":
        return Need("sampling", "tools" if "tools" in given or "toolChoice" in given else None)
    if method == "elicitation/create":
        return Need("elicitation", "url") if given.get("mode") == "url" else _FORM
    return Need("roots") if method == "roots/list" else None


# Set while a request is sent that was admitted already, so that it is not judged and counted twice.
_ADMITTED: Final[ContextVar[bool]] = ContextVar("longwire_request_admitted", default=False)


@contextmanager
def admitted() -> Iterator[None]:
    """Within the block requests pass `admit()` unchecked, because they have passed it before."""
    token = _ADMITTED.set(True)
    try:
        yield
    finally:
        _ADMITTED.reset(token)


def admit(
    method: str,
    params: Mapping[str, Any] | None,
    capabilities: Capabilities,
    policy: CapabilityPolicy,
    count: Count,
) -> None:
    """Let a request to a client pass, or raise what the policy says about an undeclared capability."""
    if _ADMITTED.get():
        return
    need = need_of(method, params)
    if need is None or need.declared_in(capabilities):
        return
    count(kind_of(method), _OUTCOMES[policy])
    sentence = f"the client did not declare the capability '{need}', which '{method}' needs"
    if policy == "error":
        raise MCPError(
            MISSING_REQUIRED_CLIENT_CAPABILITY, sentence, {"requiredCapabilities": need.document()}
        )
    if policy == "drop":
        raise RequestDropped(INVALID_REQUEST, f"{sentence}: the request was not sent")
    logger.warning("%s: the request is sent nevertheless", sentence)


_OUTCOMES: Final[Mapping[CapabilityPolicy, str]] = {"warn": "warned", "drop": "dropped", "error": "refused"}
