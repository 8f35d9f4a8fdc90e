"""Records of the catalog, made of an author's functions."""

from __future__ import annotations

import inspect
import json
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from time import monotonic as now
from typing import Any, Final, TypedDict
from urllib.parse import unquote

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp_types import LOG_LEVEL_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ConfigDict

from longwire.contract.envelopes import LONGEST_STATE
from longwire.errors import AskingError, SettingsError
from longwire.product.catalog import Answer, Call, Context, Handler, Method, Prompt, Tool
from longwire.wire.http.request import SessionState
from longwire.worker.answers import Returns, method_answer, prompt_answer, resource_answer, returns_of
from longwire.worker.faults import HandlerFault, answered, left, log_fault
from longwire.worker.signatures import Function, Signature, given_signature, parameters_of, signature_of
from longwire.worker.threads import Threads

logger: Final = logging.getLogger(__name__)

LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
LOG_LEVEL: Final = "log_level"  # in a session's state

CONTEXT: Final[ContextVar[Context | None]] = ContextVar("longwire_worker_context", default=None)
CALL: Final[ContextVar[Call | None]] = ContextVar("longwire_worker_call", default=None)


class Enters(ServerMiddleware[Any]):
    """Middleware that remembers the request while its handler runs."""

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        CONTEXT.set(ctx)  # each request has a copy of the variables of its own
        return await call_next(ctx)


def current_context(wanted: str) -> Context:
    """The present request; raises AskingError where there is none."""
    if (context := CONTEXT.get()) is None:
        raise AskingError(f"'{wanted}' is for handlers: no request is being answered here")
    return context


def current_call(wanted: str) -> Call:
    """The present call of a tool; raises AskingError where there is none."""
    if (call := CALL.get()) is None:
        raise AskingError(f"'{wanted}' is for tools: no call of one is being answered here")
    return call


def session_state(context: Context) -> SessionState | None:
    """The state of a request's session; None: it has no session."""
    found: SessionState | None = getattr(context.request, "session", None)
    return found


def check_state(name: str, state: Mapping[str, Any]) -> None:
    """Raise SettingsError if a session can't remember this state, in which `name` is new."""
    try:
        size = len(json.dumps(state, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode())
    except (TypeError, ValueError) as error:
        raise SettingsError(f"'{name}' can't be remembered: JSON can't hold it ({error})") from None
    if size > LONGEST_STATE:
        raise SettingsError(
            f"'{name}' can't be remembered: the session's state would have {size} bytes, "
            f"and {LONGEST_STATE} is the most"
        )


def takes_logs(context: Context, level: str) -> bool:
    """Whether the client wants log messages of this level."""
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        # Each request asks for them itself, or gets none.
        least = (context.meta or {}).get(LOG_LEVEL_META_KEY)
        return least in LEVELS and LEVELS.index(level) >= LEVELS.index(str(least))
    session = session_state(context)
    least = session.state.get(LOG_LEVEL) if session is not None else None
    return least not in LEVELS or LEVELS.index(level) >= LEVELS.index(str(least))


_LONGEST_HOLD: Final = 1.0  # seconds that a plain function may take before the log says so
# Methods that the protocol or the App itself answers.
_TAKEN: Final = frozenset((
    "initialize", "ping", "server/discover", "tools/list", "tools/call", "resources/list", "resources/read",
    "resources/templates/list", "prompts/list", "prompts/get",
))  # fmt: skip


def name_of(function: Function, given: str | None) -> str:
    """The name that a handler is offered by."""
    name = given or getattr(function, "__name__", "")
    if not name or name == "<lambda>":
        raise SettingsError("a handler has no name of its own: give one, as in name='echo'")
    return name


def words_of(function: Function, given: str | None) -> str:
    """The author's description of a handler: the one given, or its docstring."""
    return given if given is not None else (inspect.getdoc(function) or "")


class ToolOptions(TypedDict, total=False):
    """The options of a tool besides its name; see App.tool()."""

    title: str | None
    description: str | None
    schema: Mapping[str, Any] | None
    output_schema: Mapping[str, Any] | None
    thread: bool
    read_only: bool | None  # these four: what clients may think about calling it
    destructive: bool | None
    idempotent: bool | None
    open_world: bool | None


def tool_of(function: Function, name: str | None, threads: Threads, options: ToolOptions) -> Tool:
    """A tool; raises SettingsError."""
    if unknown := sorted(options.keys() - ToolOptions.__annotations__.keys()):
        raise SettingsError(f"tool() takes no '{unknown[0]}': see the table of docs/worker-contract.md")
    called, schema = name_of(function, name), options.get("schema")
    signature = signature_of(function) if schema is None else given_signature(function, schema)
    returns = returns_of(function, options.get("output_schema"))
    return Tool(
        called,
        options.get("title") or called.replace("_", " ").capitalize(),
        words_of(function, options.get("description")),
        signature.schema,
        _runner(called, function, signature, returns, threads if options.get("thread") else None),
        output_schema=returns.schema,
        read_only=options.get("read_only"),
        destructive=options.get("destructive"),
        idempotent=options.get("idempotent"),
        open_world=options.get("open_world"),
    )


def _runner(
    name: str, function: Function, signature: Signature, returns: Returns, threads: Threads | None
) -> Handler:
    convert, what = signature.convert, f"tool '{name}'"

    def arguments(call: Call) -> Mapping[str, Any]:
        CALL.set(call)
        return call.arguments if convert is None else convert(call.arguments)

    def in_place(call: Call) -> Answer:
        with _watched(what):
            given, began = arguments(call), now()
            found = function(**given)
            if (held := now() - began) > _LONGEST_HOLD:
                logger.warning("%s held all other calls for %.1f s: use thread=True for it", what, held)
            return returns.answer(what, found)

    async def in_task(call: Call) -> Answer:
        with _watched(what):
            return returns.answer(what, await function(**arguments(call)))

    async def in_thread(call: Call) -> Answer:
        assert threads is not None
        with _watched(what):
            return returns.answer(what, await threads.run(what, function, arguments(call)))

    if inspect.iscoroutinefunction(function):
        if threads is not None:
            raise SettingsError("an async function runs on the event loop: leave out thread=True")
        return in_task
    return in_thread if threads is not None else in_place


@contextmanager
def _watched(what: str) -> Iterator[None]:
    """Watch a handler's call: log mistakes of its author, and keep an exit() from ending the process."""
    try:
        yield
    except SystemExit:
        fault = left(what)
        log_fault(what, fault)
        raise fault from None
    except HandlerFault as fault:
        log_fault(what, fault)
        raise


def prompt_of(function: Function, *, name: str | None, title: str | None, description: str | None) -> Prompt:
    """A prompt, whose arguments are texts; raises SettingsError."""
    called, words = name_of(function, name), words_of(function, description)
    parameters = parameters_of(function)
    known = {parameter.name for parameter in parameters}

    async def render(params: types.GetPromptRequestParams, _: Context) -> types.GetPromptResult:
        given = {key: value for key, value in (params.arguments or {}).items() if key in known}
        made = partial(prompt_answer, words)
        return await answered(f"the prompt '{called}'", partial(function, **given), made)

    arguments = [types.PromptArgument(name=one.name, required=one.required) for one in parameters]
    return Prompt(called, title or called.replace("_", " ").capitalize(), words, render, arguments)


class OwnParams(types.RequestParams):
    """The params of a method of one's own: whatever the client sends."""

    model_config = ConfigDict(extra="allow")


def method_of(name: str, function: Function) -> Method:
    """A method of one's own; its handler is given the params as a dict. Raises SettingsError."""
    if name in _TAKEN:
        raise SettingsError(f"'{name}' is answered already: use tool(), resource() or prompt() for it")

    async def handler(_: Context, params: OwnParams) -> Any:
        given = params.model_dump(by_alias=True, mode="json", exclude_unset=True)
        given.pop("_meta", None)

        return await answered(f"the method '{name}'", partial(function, given), method_answer)

    return Method(name, OwnParams, handler)


async def _set_level(context: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
    session: SessionState | None = session_state(context)
    if session is not None and params.level in LEVELS:
        session.set_state(LOG_LEVEL, params.level)
    return types.EmptyResult()


SET_LEVEL: Final = Method("logging/setLevel", types.SetLevelRequestParams, _set_level)


# ---- resources --------------------------------------------------------------------------------------

_VARIABLE: Final = re.compile(r"\{(\+?)([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class AppResource:
    """One resource, or all that fit a template."""

    uri: str
    name: str
    description: str
    mime_type: str | None
    read: Function
    pattern: re.Pattern[str]  # of its URIs; one without groups has no variables

    def about(self) -> dict[str, Any]:
        return {"name": self.name, "description": self.description or None, "mime_type": self.mime_type}

    def match(self, uri: str) -> Mapping[str, str] | None:
        """The arguments of its handler, if it has this URI."""
        found = self.pattern.fullmatch(uri)
        return None if found is None else {name: unquote(text) for name, text in found.groupdict().items()}


def app_resource(
    uri: str, function: Function, name: str | None, description: str | None, mime_type: str | None
) -> AppResource:
    """A resource; {name} in its URI stands for anything but '/', {+name} for anything.

    Raises SettingsError.
    """
    called, words = name_of(function, name), words_of(function, description)
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", uri):
        raise SettingsError(f"'{uri}' is no URI: begin with a scheme, as in notes://{uri.lstrip('/')}")
    variables = [found[1] for found in _VARIABLE.findall(uri)]
    taken = [parameter.name for parameter in parameters_of(function)]
    if sorted(variables) != sorted(taken):
        raise SettingsError(
            f"the URI '{uri}' has {_listed(variables)}, and its handler takes {_listed(taken)}: "
            "they should be the same"
        )
    return AppResource(uri, called, words, mime_type, function, _pattern(uri))


class AppResources:
    """All resources of an App, as one family of its catalog."""

    def __init__(self, resources: Sequence[AppResource]) -> None:
        self._resources = resources

    async def list(self) -> Sequence[types.Resource]:
        fixed = [one for one in self._resources if not one.pattern.groups]
        return [types.Resource(uri=one.uri, **one.about()) for one in fixed]

    def templates(self) -> Sequence[types.ResourceTemplate]:
        templates = [one for one in self._resources if one.pattern.groups]
        return [types.ResourceTemplate(uri_template=one.uri, **one.about()) for one in templates]

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
