"""App: what a worker offers, declared by decorators, and what its handlers can do while they run."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Final, Literal, TypeVar, Unpack, cast, overload

import mcp_types as types

from longwire.contract import writing
from longwire.contract.envelopes import Affinity, Bye, NotifyOutcome
from longwire.errors import SettingsError
from longwire.product.app import CatalogServer, build_server
from longwire.product.asking import AskingRules
from longwire.product.catalog import Catalog, Method, Prompt, Tool
from longwire.wire.sdk_private import drop_request_spans
from longwire.worker import handlers
from longwire.worker.faults import failed
from longwire.worker.handlers import AppResource, AppResources, Enters, ToolOptions
from longwire.worker.run import Listening, run_worker, socket_of
from longwire.worker.service import Introduction
from longwire.worker.signatures import Function, form_of
from longwire.worker.threads import Threads, from_thread

logger: Final = logging.getLogger(__name__)

_F = TypeVar("_F", bound=Function)
_T = TypeVar("_T")
_LOGGING: Final = "logging"


class App:
    """A worker's tools, resources, prompts and methods.

    `tool()`, `resource()`, `prompt()`, `register()` and `capability()` declare what it offers. Handlers use
    `notify()`, `progress()`, `log()`, `sample()`, `elicit()`, `session_id`, `state` and `set_state()`, which
    are about the request that is being answered.
    """

    def __init__(
        self,
        name: str,
        version: str,
        *,
        instructions: str | None = None,
        max_in_flight: int = 64,
        affinity: Affinity = "none",
        threads: int = 32,
    ) -> None:
        """`max_in_flight`: calls at once; `affinity`: "session" if all of a session should come here;
        `threads`: tools with thread=True that run at once, further ones wait.
        """
        if max_in_flight < 1:
            raise SettingsError(f"max_in_flight is {max_in_flight}: it should be 1 or more")
        if threads < 1:
            raise SettingsError(f"threads is {threads}: it should be 1 or more")
        self.name: Final = name
        self.version: Final = version
        self._instructions = instructions
        self.introduction: Final = Introduction(name, version, max_in_flight, affinity)
        self._tools: dict[str, Tool] = {}
        self._resources: dict[str, AppResource] = {}
        self._prompts: dict[str, Prompt] = {}
        self._methods: dict[str, Method] = {}
        self._capabilities: dict[str, Mapping[str, Any]] = {}
        self._threads = Threads(threads, self._stuck)
        self._worker: Listening | None = None  # while it runs

    # ---- what it offers ---------------------------------------------------------------------

    @overload
    def tool(self, name: _F, /) -> _F: ...

    @overload
    def tool(self, name: str | None = None, **options: Unpack[ToolOptions]) -> Callable[[_F], _F]: ...

    def tool(self, name: str | _F | None = None, **options: Unpack[ToolOptions]) -> Callable[[_F], _F] | _F:
        """Offer a function as a tool.

        Its name and docstring are the tool's, unless given; its type hints are the schema, unless given. An
        async function may wait. A plain one runs in place, and all other calls wait for it: one that blocks
        needs `thread=True`. It returns text, content of the protocol, or any value of JSON, and its return
        annotation is the output schema, unless given; ToolError is a failure that the client is told. Clients
        are told whether a call is `read_only`, `destructive`, `idempotent` or `open_world` if you say so.
        """
        given, bare = _given(name)

        def declare(function: _F) -> _F:
            tool = handlers.tool_of(function, given, self._threads, options)
            _enter(self._tools, "tool", tool.name, tool)
            return function

        return declare if bare is None else declare(bare)

    def resource(
        self,
        uri: str,
        *,
        name: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
    ) -> Callable[[_F], _F]:
        """Offer what a function returns at a URI: text, bytes, or any value of JSON.

        `notes://{name}` is a template, whose names are the function's parameters; {+name} may have slashes.
        """

        _check_text(uri, "resource", "notes://all")

        def declare(function: _F) -> _F:
            made = handlers.app_resource(uri, function, name, description, mime_type)
            _enter(self._resources, "resource", uri, made)
            return function

        return declare

    @overload
    def prompt(self, name: _F, /) -> _F: ...

    @overload
    def prompt(
        self, name: str | None = None, *, title: str | None = None, description: str | None = None
    ) -> Callable[[_F], _F]: ...

    def prompt(
        self, name: str | _F | None = None, *, title: str | None = None, description: str | None = None
    ) -> Callable[[_F], _F] | _F:
        """Offer a function as a prompt: its parameters are texts, and it returns a text or messages."""
        given, bare = _given(name)

        def declare(function: _F) -> _F:
            prompt = handlers.prompt_of(function, name=given, title=title, description=description)
            _enter(self._prompts, "prompt", prompt.name, prompt)
            return function

        return declare if bare is None else declare(bare)

    def register(self, method: str) -> Callable[[_F], _F]:
        """Answer requests of a method of one's own; the function is given the params as a dict."""
        _check_text(method, "register", "acme/add")

        def declare(function: _F) -> _F:
            _enter(self._methods, "method", method, handlers.method_of(method, function))
            return function

        return declare

    def capability(self, name: str, definition: Mapping[str, Any] | None = None) -> None:
        """Declare a capability: one of the protocol's, or an experimental one of your own.

        With "logging" clients may choose the level of the messages of `log()`.
        """
        if name == _LOGGING:
            self._methods.setdefault(handlers.SET_LEVEL.name, handlers.SET_LEVEL)
        self._capabilities[name] = dict(definition or {})

    # ---- for handlers -----------------------------------------------------------------------

    async def notify(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        to: Literal["call", "session", "everyone"] = "call",
        session_id: str | None = None,
    ) -> NotifyOutcome | None:
        """Send a notification to the client whose request is answered, before the reply.

        "session": on the session's own stream, where it waits until the client reads it; "everyone": on those
        of all sessions of all nodes; `session_id`: on that session's, whichever node has it. These two work
        outside of handlers too, and return what became of it: "delivered", "queued", "unknown" (there is no
        such session) or "failed"; None where the worker doesn't run, or the runtime gives no answer.
        """
        if to == "everyone" or session_id is not None:
            return None if self._worker is None else await self._worker.notify(session_id, method, params)
        context = handlers.current_context("notify")
        note = types.Notification[dict[str, Any] | None, str](
            method=method, params=None if params is None else dict(params)
        )
        related = context.request_id if to == "call" else None
        await context.session.send_notification(cast(types.ServerNotification, note), related)
        return None

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the client how far the call is, if it wants to know."""
        await handlers.current_context("progress").session.report_progress(done, total, message)

    async def log(self, level: types.LoggingLevel, data: Any, logger: str | None = None) -> None:
        """Send a log message to the client, if it wants messages of this level."""
        if level not in handlers.LEVELS:
            raise SettingsError(f"'{level}' is no level: use one of {', '.join(handlers.LEVELS)}")
        if handlers.takes_logs(handlers.current_context("log"), level):
            said = {"level": level, "data": data}
            await self.notify("notifications/message", said if logger is None else {**said, "logger": logger})

    async def sample(
        self, messages: str | Sequence[types.SamplingMessage], *, max_tokens: int = 1024, **options: Any
    ) -> types.CreateMessageResult:
        """Have the client's model answer; only in tools. `options` are those of the catalog's Call.sample."""
        return await handlers.current_call("sample").sample(messages, max_tokens=max_tokens, **options)

    async def elicit(
        self, message: str, schema: Mapping[str, Any] | type, *, timeout: float | None = None
    ) -> types.ElicitResult:
        """Have a person fill in a form; only in tools. A model or dataclass is the schema of its fields."""
        form = schema if isinstance(schema, Mapping) else form_of(schema)
        return await handlers.current_call("elicit").elicit(message, form, timeout=timeout)

    def from_thread(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Wait for one of the methods above in a tool with thread=True: `app.from_thread(app.progress(1))`.

        AskingError: the call is over, and its function should end too.
        """
        return from_thread(work)

    @property
    def session_id(self) -> str | None:
        """The session that the present request belongs to; None: it belongs to none."""
        found: str | None = getattr(handlers.current_context("session_id").request, "session_id", None)
        return found

    @property
    def state(self) -> Mapping[str, Any]:
        """What the session of the present request remembers; empty without a session."""
        session = handlers.session_state(handlers.current_context("state"))
        return session.state if session is not None else {}

    def set_state(self, name: str, value: Any) -> None:
        """Have the session remember a value of JSON (None removes it), wherever its next call is run."""
        session = handlers.session_state(handlers.current_context("set_state"))
        if session is None:
            raise SettingsError(f"'{name}' can't be remembered: the request belongs to no session")
        handlers.check_state(name, {**session.state, name: value})
        session.set_state(name, value)

    # ---- running ----------------------------------------------------------------------------

    def catalog(self) -> Catalog:
        return Catalog(
            tools=list(self._tools.values()),
            prompts=list(self._prompts.values()),
            resources=[AppResources(list(self._resources.values()))] if self._resources else [],
            methods=list(self._methods.values()),
            capabilities=self._capabilities,
            instructions=self._instructions,
            failed=failed,
        )

    def server(self) -> CatalogServer:
        """The SDK's server object. The runtime seals the state of questions, so this one doesn't."""
        server = build_server(
            self.catalog(),
            name=self.name,
            version=self.version,
            middleware=[Enters()],
            asking=AskingRules(seals=False),
        )
        drop_request_spans(server)
        return server

    def ready(self, worker: Listening) -> None:
        """Note the worker that serves this App."""
        self._worker = worker

    def _stuck(self, sentence: str) -> None:
        """Have this worker replaced: none of its threads can take a call any more."""
        logger.error("%s; the worker asks to be replaced", sentence)
        if self._worker is not None:
            self._worker.say(writing.envelope(Bye(sentence)))

    def run(self, argv: Sequence[str] | None = None) -> None:
        """Serve the runtime on the socket of --socket or LONGWIRE_WORKER_SOCKET, until a signal."""
        parser = argparse.ArgumentParser(description=f"{self.name} {self.version}, a worker")
        parser.add_argument("--socket", metavar="PATH", help="the Unix socket to listen on")
        given = parser.parse_args(argv)
        try:
            path = socket_of(given.socket)
            run_worker(self.server(), self.introduction, path, on_ready=self.ready)
        except SettingsError as error:
            parser.exit(2, f"{parser.prog}: {error}\n")


_Record = TypeVar("_Record")


def _given(name: str | _F | None) -> tuple[str | None, _F | None]:
    """The name of a decorator with parentheses, and the function of one without."""
    return (name, None) if name is None or isinstance(name, str) else (None, name)


def _check_text(given: object, decorator: str, example: str) -> None:
    if not isinstance(given, str):
        raise SettingsError(f"'{decorator}' needs a text: write @app.{decorator}(\"{example}\")")


def _enter(table: dict[str, _Record], kind: str, name: str, record: _Record) -> None:
    if name in table:
        raise SettingsError(f"there is a {kind} '{name}' already: choose another name")
    table[name] = record
