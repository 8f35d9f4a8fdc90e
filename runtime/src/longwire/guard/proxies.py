"""Trusted proxies: the peers whose headers say where a request comes from, and how these are read.

A proxy adds the address of its client to the end of X-Forwarded-For, or of Forwarded (RFC 7239). What stands
before was sent by that client, who may have made it up. So the lists are read from their ends, as far as the
addresses are those of trusted proxies: the first other one is the client. Anything that can't be read on the
way, or two headers that disagree, leave a request with the address of its connection.
"""

from __future__ import annotations

import ipaddress
import logging
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, TypeAlias

from longwire.errors import SettingsError
from longwire.principals.principal import Principal
from longwire.text import quoted
from longwire.wire.http.request import Request

logger: Final = logging.getLogger(__name__)

X_FORWARDED_FOR: Final = "x-forwarded-for"
FORWARDED: Final = "forwarded"
LONGEST: Final = 1024  # characters of a list that are looked at, from its end
_CUT: Final = "?"
_REMEMBERED: Final = 1024  # pairs of lists, and addresses
_ADDRESS: Final = re.compile(
    r"(?:\[(?P<six>[0-9A-Fa-f]*:[0-9A-Fa-f:.]+)\]|(?P<four>[0-9.]+))(?::[0-9]{1,5})?"
)
_TOKEN: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_QUOTED: Final = r'"(?:[^"\\]|\\.)*"'
_PAIR: Final = re.compile(rf"({_TOKEN})=({_TOKEN}|{_QUOTED})", re.ASCII)

IpAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network


class TrustedProxies:
    """The proxies of a server, by address."""

    def __init__(self, networks: Iterable[Network] = ()) -> None:
        self._networks = tuple(networks)
        # Proxies send the same again and again.
        self._trusted = lru_cache(_REMEMBERED)(
            lambda address: self._holds(_parse_plain(address.partition("%")[0]))
        )
        self._found = lru_cache(_REMEMBERED)(self._find)
        self._told = False

    @classmethod
    def parse(cls, texts: Iterable[str]) -> TrustedProxies:
        """Parse addresses and networks such as `10.0.0.5` and `10.0.0.0/24`; raises SettingsError."""
        return cls([parse_network(text) for text in texts])

    def __bool__(self) -> bool:
        return bool(self._networks)

    def __contains__(self, address: object) -> bool:
        """Whether connections from an address are those of a trusted proxy."""
        return bool(self._networks) and isinstance(address, str) and self._trusted(address)

    def locate(self, request: Request) -> None:
        """Give a request the address of its client, where a trusted proxy names that."""
        listed, standard = request.headers.get(X_FORWARDED_FOR), request.headers.get(FORWARDED)
        if listed is None and standard is None:
            return
        if request.address not in self:
            self._tell(request.address)
            return
        client = self._found(listed, standard)
        if client is not None and client != request.address:
            request.address = client
            request.principal = Principal.of_address(client)

    def _tell(self, address: str) -> None:
        """Log once what to set; with any proxy set, the sender only claims to be one."""
        if self._told or self._networks:
            return
        self._told = True
        logger.warning(
            "a request from %s says that it is passed on for another address: if that is your proxy, name it "
            "in [auth] trusted_proxies, or all of its clients count as one",
            address,
            extra={"event": "untrusted_proxy", "address": address},
        )

    def _holds(self, address: IpAddress | None) -> bool:
        return address is not None and any(address in network for network in self._networks)

    def _find(self, listed: str | None, standard: str | None) -> str | None:
        """The client that the headers name; None: they name none."""
        given = [
            self._client(read(entry) for entry in _from_end(text))
            for text, read in ((listed, parse_address), (standard, _for))
            if text is not None
        ]
        return given[0] if len(set(given)) == 1 else None

    def _client(self, addresses: Iterator[IpAddress | None]) -> str | None:
        """The last address that is no proxy's, or the first of all, of a list from its end."""
        found: IpAddress | None = None
        for found in addresses:
            if not self._holds(found):
                break
        return None if found is None else str(found)


def parse_network(text: str) -> Network:
    """A network, or an address as one; raises SettingsError."""
    try:
        network = ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise SettingsError(
            f"{quoted(text)} is no address and no network: write the proxy's, such as 10.0.0.5 or 10.0.0.0/24"
        ) from None
    if network.prefixlen == 0:
        raise SettingsError(f"{quoted(text)} would trust everybody: write the address of the proxy")
    if "/" in text and ipaddress.ip_address(text.partition("/")[0]) != network.network_address:
        raise SettingsError(f"{quoted(text)} is an address in the network {network}: write one of the two")
    return network


def _from_end(text: str) -> Iterator[str]:
    """The entries of a list, the last one first; one that begins too far from the end can't be read."""
    near = text[-LONGEST:]
    entries = [entry.strip(" \t") for entry in near.split(",")]
    if len(near) < len(text):
        entries[0] = _CUT
    return (entry for entry in reversed(entries) if entry)  # RFC 9110, 5.6.1: empty ones don't count


def _for(entry: str) -> IpAddress | None:
    """The address in an entry of Forwarded, such as `for="[2001:db8::1]:80";proto=https`."""
    given: str | None = None
    for pair in entry.split(";"):
        matched = _PAIR.fullmatch(pair.strip(" \t"))
        if matched is None:
            return None
        if matched[1].lower() == "for":
            if given is not None:
                return None
            given = matched[2].strip('"')
    return None if given is None else parse_address(given)


def parse_address(text: str) -> IpAddress | None:
    """The address in a header, without port and brackets; None: it is none."""
    plain = _parse_plain(text)
    if plain is not None or (matched := _ADDRESS.fullmatch(text)) is None:
        return plain
    return _parse_plain(matched["six"] or matched["four"])


def _parse_plain(text: str) -> IpAddress | None:
    """An IPv4 address as one, also where a socket of both kinds has it inside an IPv6 address."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return None if "%" in text else mapped or address
