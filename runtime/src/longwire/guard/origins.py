"""Origins of pages: the scheme, host and port that a browser says a request comes from."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from longwire.errors import SettingsError
from longwire.text import quoted

_ORIGIN: Final = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<host>\[[0-9a-f:.]+\]|[^/\\?#@:\[\]\s%]+)(?::(?P<port>[0-9]{1,5}))?",
    re.ASCII | re.IGNORECASE,
)
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Origin:
    """One origin. Two are equal if a browser would say so."""

    scheme: str
    host: str
    port: int | None  # None: that of a scheme without a known port

    @classmethod
    @lru_cache(maxsize=256)  # clients send the same ones again and again
    def parse(cls, text: str) -> Origin | None:
        """The origin in a header or a setting; None if the text is none."""
        found = _ORIGIN.fullmatch(text) if len(text) <= 300 else None
        if found is None:
            return None
        scheme = found["scheme"].lower()
        host = _host(found["host"].lower())
        port = int(found["port"]) if found["port"] else _DEFAULT_PORTS.get(scheme)
        if host is None or (port is not None and not 0 < port < 65536):
            return None
        return cls(scheme, host, port)


def _host(text: str) -> str | None:
    """A host as browsers write it: international names in ASCII, numbers in their shortest form."""
    if text.startswith("["):
        try:
            return f"[{ipaddress.IPv6Address(text[1:-1])}]"
        except ValueError:
            return None
    try:
        return text.encode("idna").decode("ascii").lower()
    except UnicodeError:
        return None


@dataclass(slots=True)
class Origins:
    """The origins whose pages may use a server. If there are none, other rules hold (access.py).

    They change when the configuration is read again.
    """

    allowed: frozenset[Origin] = frozenset()

    @classmethod
    def parse(cls, texts: Iterable[str]) -> Origins:
        """Parse origins such as `https://studio.example:8443`; raises SettingsError."""
        return cls(frozenset(_checked(text) for text in texts))

    def __bool__(self) -> bool:
        return bool(self.allowed)

    def __contains__(self, origin: str) -> bool:
        return Origin.parse(origin) in self.allowed


def _checked(text: object) -> Origin:
    found = Origin.parse(text) if isinstance(text, str) and "*" not in text else None
    if found is None:
        raise SettingsError(
            f"{quoted(text)} is no origin: write scheme, host and port of each, such as "
            "'https://studio.example' or 'http://localhost:6274', without path and '*'"
        )
    return found
