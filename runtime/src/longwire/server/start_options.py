"""The options of a server: its access, its endpoints and its settings, made of the values of keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from longwire.config.effective import Effective
from longwire.config.key import Problems
from longwire.declared import declared
from longwire.endpoints import Endpoint, Http, Offer, Peers, Stdio, Uds
from longwire.errors import SettingsError, UsageError
from longwire.guard.access import Access
from longwire.guard.auth_hook import AuthHook, load_hook
from longwire.guard.grants import Scopes
from longwire.guard.origins import Origins
from longwire.guard.proxies import TrustedProxies
from longwire.guard.tokens import TokenFile, Tokens, parse_tokens
from longwire.server.main import check_serves
from longwire.server.serve import ServeOptions
from longwire.server.start_checks import PORTS, blaming, check_start, start_warnings
from longwire.wire.http.tls import Certificate
from longwire.wire.listeners import Address

if TYPE_CHECKING:
    from longwire.guard.oauth.resource_server import ResourceServer


def options(found: Effective, problems: Problems | None = None) -> ServeOptions:
    """The options to serve with; raises errors before anything is started, those in `problems` too."""
    problems = problems or Problems()
    scopes, access, certificate, operators = Scopes(), Access(), None, None
    with problems.noted():
        foreign = bool(found["workers.command"] or found["workers.sockets"])
        scopes = Scopes.parse(found["auth.scopes"], strict=foreign)
    with problems.noted():
        access = _access(found, scopes)
        for name in PORTS:
            if found[name] is not None:
                with problems.noted(), blaming(found, name):
                    access.at(found[name])
    with problems.noted():
        check_start(found)
    with problems.noted():
        certificate = _certificate(found)
    with problems.noted():
        operators = _operators(found, access.tokens)
    problems.tell()
    settings, endpoints = found.settings(), _endpoints(found, certificate)
    check_serves(settings)
    settings = declared().adjusted(settings, endpoints)
    return ServeOptions(
        settings=settings,
        endpoints=endpoints,
        access=access,
        certificate=certificate,
        metrics=found["server.metrics"],
        admin=found["admin.listen"],
        admin_tokens=operators,
        scopes=scopes,
        found=found,
        log_level=found["server.log_level"],
        log_format=found["server.log_format"],
        warnings=[*start_warnings(found), *(() if operators is None else operators.oversights())],
    )


def _access(found: Effective, scopes: Scopes) -> Access:
    problems = Problems()
    hook, oauth, tokens = None, None, None
    with problems.noted():
        if (name := found["auth.hook"]) is not None:
            with blaming(found, "auth.hook"):
                function = load_hook(name)
            hook = AuthHook(function, scopes=scopes, remembered=found["auth.hook_cache_seconds"])
    with problems.noted():
        oauth = _oauth(found, scopes)
    with problems.noted():
        tokens = _tokens(found, scopes)
    problems.tell()
    return Access(
        tokens,
        frozenset(found["auth.allow_host"]),
        origins=Origins.parse(found["mcp.allowed_origins"]),
        hook=hook,
        oauth=oauth,
        proxies=TrustedProxies.parse(found["auth.trusted_proxies"]),
    )


def _oauth(found: Effective, scopes: Scopes) -> ResourceServer | None:
    names = ("issuer", "audience", "jwks", "resource")
    given = {name: found[f"auth.oauth_{name}"] for name in names}
    blamed = next((name for name, value in given.items() if value), None)
    if blamed is None:
        return None
    from longwire.guard.oauth.resource_server import resource_server

    if given["jwks"] is not None:
        from longwire.guard.oauth.key_sources import key_source

        with blaming(found, "auth.oauth_jwks"):
            key_source(given["jwks"])
    with blaming(found, f"auth.oauth_{blamed}"):
        return resource_server(given["issuer"], given["audience"], given["jwks"], given["resource"], scopes)


def _tokens(found: Effective, scopes: Scopes) -> Tokens:
    if (path := found["auth.token_file"]) is not None:
        with blaming(found, "auth.token_file"):
            return TokenFile(str(path), scopes)
    if (token := found["auth.token"]) is not None:
        source = found.source("auth.token")
        where = f"{source.name}, auth.token" if source.kind == "file" else source.name
        return parse_tokens(token, where, scopes)
    return Tokens()


def _operators(found: Effective, clients: Tokens) -> TokenFile | None:
    """The tokens of operators; None: one is made when the server starts."""
    if (path := found["admin.token_file"]) is None:
        return None
    with blaming(found, "admin.token_file"):
        tokens = TokenFile(str(path))
        if set(tokens) & set(clients):
            raise SettingsError(f"a token in '{path}' is also one of clients: make another for operators")
        return tokens


def _endpoints(found: Effective, certificate: Certificate | None) -> list[Endpoint]:
    endpoints: list[Endpoint] = []
    if found["server.uds"] is not None:
        endpoints.append(Uds(found["server.uds"]))
    tls = None if certificate is None else certificate.context
    endpoints += [Http(address, frozenset(offers), tls=tls) for address, offers in _ports(found)]
    if found["cluster.redis"] is not None:
        endpoints.append(Peers(found["cluster.peers"]))
    if found["server.stdio"] or not endpoints:
        endpoints.append(Stdio(found["server.framing"]))
    elif found.source("server.framing").kind == "flag":
        raise UsageError("--framing is for stdin and stdout: add --stdio, or leave it out")
    return endpoints


def _certificate(found: Effective) -> Certificate | None:
    certificate, key = found["server.tls_certificate"], found["server.tls_key"]
    if certificate is not None:
        with blaming(found, "server.tls_certificate"):
            return Certificate(str(certificate), None if key is None else str(key))
    if key is not None:
        with blaming(found, "server.tls_key"):
            raise SettingsError(f"there is no certificate for the TLS key '{key}': set tls_certificate too")
    return None


def _ports(found: Effective) -> list[tuple[Address, set[Offer]]]:
    """The addresses with the transports at each; HTTP and SSE may share one."""
    http, sse = found["server.http"], found["server.sse"]
    if http is not None and http == sse and http.port:
        return [(http, {"http", "sse"})]
    asked: list[tuple[Address | None, set[Offer]]] = [(http, {"http"}), (sse, {"sse"})]
    return [(address, offers) for address, offers in asked if address is not None]
