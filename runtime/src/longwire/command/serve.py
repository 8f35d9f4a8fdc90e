"""Serve MCP clients over stdin and stdout, a Unix socket or HTTP; the methods run in workers.

    longwire serve --http 8080 --worker-command "python worker.py"
    longwire serve --http 0.0.0.0:8080 --token-file token.txt --worker-socket /run/worker.sock
    longwire serve --config longwire.toml --check

Streamable HTTP is at /mcp. It listens on this machine only, unless HOST names another address; then every
client has to send the token."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from longwire.config import check_report
from longwire.config.effective import Effective, effective
from longwire.config.key import Key, Problems
from longwire.config.keys import GROUPS as KEY_GROUPS
from longwire.config.keys import keys
from longwire.declared import declared
from longwire.errors import LongwireError, SettingsError, UsageError
from longwire.wire.listeners import Address

if TYPE_CHECKING:
    from longwire.endpoints import Endpoint
    from longwire.guard.access import Access
    from longwire.guard.grants import Scopes
    from longwire.guard.oauth.resource_server import ResourceServer
    from longwire.guard.tokens import TokenFile, Tokens
    from longwire.server.serve import ServeOptions
    from longwire.wire.http.tls import Certificate

USAGE: Final = "[options]"  # there are dozens


class Once(argparse.Action):
    """Takes the value of an option, and refuses a second one."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        if getattr(namespace, self.dest, None) is not None:
            raise argparse.ArgumentError(self, "it is given twice: keep one")
        setattr(namespace, self.dest, values)


_Offer: TypeAlias = Literal["http", "sse"]


def _configuration() -> dict[str, dict[str, Any]]:
    variable = declared().config_variable
    return {
        "--config": {
            "action": Once,
            "help": f"a TOML file with any of these settings (or set {variable}); options and variables win",
            "metavar": "FILE",
            "type": Path,
        },
        "--check": {
            "help": "print every setting and where it comes from, and stop",
            "action": "store_true",
        },
        "--json": {"help": "with --check: one JSON document", "action": "store_true"},
    }


def _argument(key: Key) -> dict[str, Any]:
    """How argparse takes the option of a key."""
    kind = key.kind
    if kind.switch:
        return {"help": key.help, "dest": key.path, "action": "store_const", "const": True}
    told = f"{key.help}; may be repeated" if kind.many else key.help
    default = key.default_for({})
    if not kind.many and default is not None and not key.default_text:
        told += f" (default: {default:g})" if isinstance(default, float) else f" (default: {default})"
    taken: dict[str, Any] = {
        "help": told.replace("%", "%%"),
        "dest": key.path,
        "type": _reader(kind.parse_option),
        "metavar": key.metavar or kind.metavar,
    }
    if kind.choices:
        taken |= {"type": str, "choices": kind.choices, "metavar": None}
    return taken | {"action": "append" if kind.many else Once}


def _reader(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        try:
            return parse(text)
        except SettingsError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


def option_groups() -> dict[str, dict[str, dict[str, Any]]]:
    """The options of `serve` by group, each with what argparse takes."""
    known = keys()
    return {
        title: {key.option: _argument(key) for key in known if key.group == title and key.option is not None}
        for title in KEY_GROUPS
    } | {"configuration": _configuration()}


def configure(parser: argparse.ArgumentParser) -> None:
    for title, entries in option_groups().items():
        group = parser.add_argument_group(title)
        for name, settings in entries.items():
            group.add_argument(name, **settings)


def values(arguments: argparse.Namespace, problems: Problems | None = None) -> Effective:
    """The value of every key, as the command line, the variables and the file have it."""
    given = {key.path: value for key in keys() if (value := getattr(arguments, key.path, None)) is not None}
    for key in keys():
        if key.kind.many and key.path in given:
            given[key.path] = _joined(given[key.path])
    return effective(given, config=arguments.config, problems=problems)


def _joined(parts: Sequence[Any]) -> Any:
    if all(isinstance(part, Mapping) for part in parts):
        return {name: value for part in parts for name, value in part.items()}
    return tuple(dict.fromkeys(entry for part in parts for entry in part))


def run(arguments: argparse.Namespace) -> int:
    # Pydantic would search all installed distributions for plugins, which takes longer the more there are.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    if arguments.json and not arguments.check:
        raise UsageError("--json is for --check: add it, or leave --json out")
    if arguments.check:
        return _check(arguments)
    problems = Problems()
    wanted = replace(options(values(arguments, problems), problems), again=partial(values, arguments))
    from longwire.server.main import run as serve

    return serve(wanted)


def _check(arguments: argparse.Namespace) -> int:
    """Print what a server would start with, or why it would not."""
    problems = Problems()
    try:
        found = values(arguments, problems)
        wanted = options(found, problems)
        said = [*wanted.warnings, *_oversights(wanted)]
    except LongwireError as error:
        if not arguments.json:
            raise
        print(check_report.failure_as_json(error))
        return 1
    print((check_report.as_json if arguments.json else check_report.as_toml)(found, said))
    return 0


def options(found: Effective, problems: Problems | None = None) -> ServeOptions:
    """What to serve; raises errors before anything is started, those in `problems` too."""
    from longwire.guard.access import Access
    from longwire.guard.grants import Scopes
    from longwire.server.main import check_serves
    from longwire.server.serve import ServeOptions
    from longwire.server.start_checks import PORTS, blaming, check_start, start_warnings

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


def _oversights(wanted: ServeOptions) -> list[str]:
    """What the server's log would say when it has its tools."""
    from longwire.server.main import tool_names

    named = wanted.named
    return list(named.oversights(tool_names(wanted.settings) if named else None))  # which takes a second


def _access(found: Effective, scopes: Scopes) -> Access:
    """Who may connect over HTTP."""
    from longwire.guard.access import Access
    from longwire.guard.auth_hook import AuthHook, load_hook
    from longwire.guard.origins import Origins
    from longwire.guard.proxies import TrustedProxies
    from longwire.server.start_checks import blaming

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
    """The authorization server whose tokens are accepted."""
    from longwire.server.start_checks import blaming

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
    from longwire.guard.tokens import TokenFile, Tokens, parse_tokens
    from longwire.server.start_checks import blaming

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
    from longwire.guard.tokens import TokenFile
    from longwire.server.start_checks import blaming

    if (path := found["admin.token_file"]) is None:
        return None
    with blaming(found, "admin.token_file"):
        tokens = TokenFile(str(path))
        if set(tokens) & set(clients):
            raise SettingsError(f"a token in '{path}' is also one of clients: make another for operators")
        return tokens


def _endpoints(found: Effective, certificate: Certificate | None) -> list[Endpoint]:
    from longwire.endpoints import Http, Peers, Stdio, Uds

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
    from longwire.server.start_checks import blaming
    from longwire.wire.http.tls import Certificate

    certificate, key = found["server.tls_certificate"], found["server.tls_key"]
    if certificate is not None:
        with blaming(found, "server.tls_certificate"):
            return Certificate(str(certificate), None if key is None else str(key))
    if key is not None:
        with blaming(found, "server.tls_key"):
            raise SettingsError(f"there is no certificate for the TLS key '{key}': set tls_certificate too")
    return None


def _ports(found: Effective) -> list[tuple[Address, set[_Offer]]]:
    """The addresses with the transports at each; HTTP and SSE may share one."""
    asked: list[tuple[_Offer, Address | None]] = [
        ("http", found["server.http"]),
        ("sse", found["server.sse"]),
    ]
    ports: list[tuple[Address, set[_Offer]]] = []
    for offer, address in asked:
        if address is None:
            continue
        same = next((offers for other, offers in ports if other == address and address.port), None)
        if same is not None:
            same.add(offer)
        else:
            ports.append((address, {offer}))
    return ports
