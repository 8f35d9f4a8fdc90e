"""The resources of an App: fixed URIs, and templates such as notes://{name}."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final
from urllib.parse import unquote

import mcp_types as types

from longwire.errors import SettingsError
from longwire.worker.answers import resource_answer
from longwire.worker.faults import answered
from longwire.worker.signatures import Function, parameters_of

_VARIABLE: Final = re.compile(r"\{(\+?)([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class AppResource:
    """One resource, or all that fit a template."""

    uri: str
    name: str
    description: str
    mime_type: str | None
    read: Function
    pattern: re.Pattern[str] | None  # of a template

    def match(self, uri: str) -> Mapping[str, str] | None:
        """The arguments of its handler, if it has this URI."""
        if self.pattern is None:
            return {} if uri == self.uri else None
        found = self.pattern.fullmatch(uri)
        return None if found is None else {name: unquote(text) for name, text in found.groupdict().items()}


def app_resource(
    uri: str, function: Function, name: str, description: str, mime_type: str | None
) -> AppResource:
    """A resource; {name} in its URI stands for anything but '/', {+name} for anything.

    Raises SettingsError.
    """
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", uri):
        raise SettingsError(f"'{uri}' is no URI: begin with a scheme, as in notes://{uri.lstrip('/')}")
    variables = [found[1] for found in _VARIABLE.findall(uri)]
    taken = [parameter.name for parameter in parameters_of(function)]
    if sorted(variables) != sorted(taken):
        raise SettingsError(
            f"the URI '{uri}' has {_listed(variables)}, and its handler takes {_listed(taken)}: "
            "they should be the same"
        )
    pattern = _pattern(uri) if variables else None
    return AppResource(uri, name, description, mime_type, function, pattern)


class AppResources:
    """All resources of an App, as one family of its catalog."""

    def __init__(self, resources: Sequence[AppResource]) -> None:
        self._resources = resources

    async def list(self) -> Sequence[types.Resource]:
        return [
            types.Resource(
                uri=one.uri, name=one.name, description=one.description or None, mime_type=one.mime_type
            )
            for one in self._resources
            if one.pattern is None
        ]

    def templates(self) -> Sequence[types.ResourceTemplate]:
        return [
            types.ResourceTemplate(
                uri_template=one.uri,
                name=one.name,
                description=one.description or None,
                mime_type=one.mime_type,
            )
            for one in self._resources
            if one.pattern is not None
        ]

    async def read(self, uri: str) -> types.ReadResourceResult | None:
        for one in self._resources:
            if (arguments := one.match(uri)) is not None:
                made = partial(resource_answer, uri, one.mime_type)
                return await answered(f"the resource '{one.name}'", partial(one.read, **arguments), made)
        return None


def _pattern(uri: str) -> re.Pattern[str]:
    pieces, end = [], 0
    for found in _VARIABLE.finditer(uri):
        pieces.append(re.escape(uri[end : found.start()]))
        pieces.append(f"(?P<{found[2]}>{'.+' if found[1] else '[^/]+'})")
        end = found.end()
    return re.compile("".join(pieces) + re.escape(uri[end:]))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names) or "no parameters"
