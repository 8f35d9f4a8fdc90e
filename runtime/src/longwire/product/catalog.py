"""Records of the tools, prompts and resources that a server offers. app.py turns them into a server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.extension import Extension
from mcp_types.methods import CacheableMethod
from pydantic import BaseModel

from longwire.product.asking import Questions, check_form, form_request
from longwire.product.results import failure
from longwire.work import JobSpec

Context: TypeAlias = ServerRequestContext[Any, Any]
# A plain document becomes structured content and its JSON text; the others are sent as they are.
Answer: TypeAlias = dict[str, Any] | types.CallToolResult | types.InputRequiredResult
_Result = TypeVar("_Result", bound=BaseModel)


class Arguments(dict[str, Any]):
    """Arguments of a call with defaults filled in; `given` has the names of those that the client wrote.

    `asked` are entries for the answer: what the client was asked about the arguments, and what it chose.
    """

    def __init__(self, given: Mapping[str, Any] | None) -> None:
        super().__init__(given or {})
        self.given = frozenset(self)
        self.asked: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool.

    A handler may ask its client with `elicit()`, `open_page()`, `sample()`, `roots()` and `ask()`. In the
    stateless era it runs again from its beginning for each answer, so before its last question it should ask
    the same questions in the same order each time, and change nothing that may not be changed twice. The
    time that a client has for an answer there is the server's, whatever `timeout` says.
    """

    tool: Tool
    arguments: Arguments  # checked against the schema
    client: str  # for the fair queue
    context: Context
    input: types.CallToolRequestParams  # as received, for answers that take several rounds
    questions: Questions

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Send progress to the client, if it gave a progress token."""
        await self.context.session.report_progress(done, total, message)

    async def elicit(
        self, message: str, schema: Mapping[str, Any], *, timeout: float | None = None
    ) -> types.ElicitResult:
        """Have a person fill in a form; `action` says whether they accepted, declined or dismissed it.

        The content of an accepted form fits the schema; AskingError if it doesn't.
        """
        result = await self.ask(form_request(message, schema), types.ElicitResult, timeout=timeout)
        return check_form(message, schema, result)

    async def open_page(
        self, message: str, url: str, elicitation_id: str, *, timeout: float | None = None
    ) -> types.ElicitResult:
        """Have a person open a page, such as one to sign in at; "accept" means that they agreed to."""
        params = types.ElicitRequestURLParams(message=message, url=url, elicitation_id=elicitation_id)
        return await self.ask(types.ElicitRequest(params=params), types.ElicitResult, timeout=timeout)

    async def sample(
        self,
        messages: str | Sequence[types.SamplingMessage],
        *,
        max_tokens: int,
        system_prompt: str | None = None,
        temperature: float | None = None,
        stop_sequences: Sequence[str] | None = None,
        model_preferences: types.ModelPreferences | None = None,
        timeout: float | None = None,
    ) -> types.CreateMessageResult:
        """Have the client's model answer; a plain text is one message of the user."""
        if isinstance(messages, str):
            words = types.TextContent(type="text", text=messages)
            messages = [types.SamplingMessage(role="user", content=words)]
        params = types.CreateMessageRequestParams(
            messages=list(messages),
            max_tokens=max_tokens,
            system_prompt=system_prompt,
            temperature=temperature,
            stop_sequences=list(stop_sequences) if stop_sequences is not None else None,
            model_preferences=model_preferences,
        )
        request = types.CreateMessageRequest(params=params)
        return await self.ask(request, types.CreateMessageResult, timeout=timeout)

    async def roots(self, *, timeout: float | None = None) -> list[types.Root]:
        """The folders that the client says it works in."""
        return (await self.ask(types.ListRootsRequest(), types.ListRootsResult, timeout=timeout)).roots

    async def ask(
        self, request: types.InputRequest, result_type: type[_Result], *, timeout: float | None = None
    ) -> _Result:
        """The client's answer to any request that a client can be sent, such as sampling with tools.

        MCPError: the client's own error, no answer in time, or (by the server's policy) a capability that it
        did not declare. AskingError: the policy left the request out, or the answer can't be read.
        """
        return await self.questions.ask(request, result_type, timeout)


# A plain function answers at once, and its call needs no task; a coroutine function may wait for something.
Handler: TypeAlias = Callable[[Call], Awaitable[Answer] | Answer]
# Returns the job that does a tool's work; raises LongwireError for unusable arguments.
Planner: TypeAlias = Callable[[Arguments], Awaitable[JobSpec]]
# Asks the client about arguments that look wrong, and returns those that count.
Settle: TypeAlias = Callable[[Call, Arguments], Awaitable[Arguments]]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: its description for agents, and the function that runs it.

    Long work has a `plan`: it can be called, submitted as a job or run as a task, with the same result.
    """

    name: str
    title: str
    description: str
    input_schema: dict[str, Any]
    run: Handler
    output_schema: dict[str, Any] | None = None
    plan: Planner | None = None
    settle: Settle | None = None  # before the plan
    # What clients may think about calling it; None: nothing is said.
    read_only: bool | None = True
    destructive: bool | None = False
    idempotent: bool | None = True
    open_world: bool | None = False
    meta: dict[str, Any] | None = None
    app: str | None = None  # the ui:// resource that shows its results in hosts with MCP Apps
    runs: str | None = None  # the argument that names another tool, whose work this one starts
    # Turns arguments that don't fit the schema into those that are meant, where that is clear.
    accept: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None
    # Sentences for arguments that don't fit the schema, by name, where a specification has them word by word.
    refusals: Mapping[str, Callable[[Any], str]] = field(default_factory=dict)

    async def job(self, call: Call, arguments: Arguments) -> JobSpec:
        """The job that does this tool's work with these arguments."""
        assert self.plan is not None
        return await self.plan(arguments if self.settle is None else await self.settle(call, arguments))

    def describe(self) -> types.Tool:
        return types.Tool(
            name=self.name,
            title=self.title,
            description=self.description or None,
            input_schema=self.input_schema,
            output_schema=self.output_schema,
            annotations=types.ToolAnnotations(
                read_only_hint=self.read_only,
                destructive_hint=self.destructive,
                idempotent_hint=None if self.read_only else self.idempotent,  # it means nothing otherwise
                open_world_hint=self.open_world,
            ),
            _meta=self.meta,
        )


Renderer: TypeAlias = Callable[
    [types.GetPromptRequestParams, Context], Awaitable[types.GetPromptResult | types.InputRequiredResult]
]


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt: its arguments, and the function that turns them into messages."""

    name: str
    title: str
    description: str
    render: Renderer
    arguments: Sequence[types.PromptArgument] = ()

    def describe(self) -> types.Prompt:
        return types.Prompt(
            name=self.name,
            title=self.title,
            description=self.description or None,
            arguments=list(self.arguments),
        )


class Resources(Protocol):
    """A family of resources."""

    async def list(self) -> Sequence[types.Resource]: ...

    def templates(self) -> Sequence[types.ResourceTemplate]: ...

    async def read(self, uri: str) -> types.ReadResourceResult | None:
        """The content, or None if the URI belongs to another family."""


Completer: TypeAlias = Callable[[types.CompleteRequestParams], Awaitable[Sequence[str]]]


@dataclass(frozen=True, slots=True)
class Method:
    """A request method beyond those of tools, prompts and resources."""

    name: str
    params: type[BaseModel]
    handler: Callable[[Context, Any], Awaitable[BaseModel | dict[str, Any] | None]]


# Serves one stream of change notifications until it ends or the client disconnects.
Listener: TypeAlias = Callable[
    [Context, types.SubscriptionsListenRequestParams], Awaitable[types.SubscriptionsListenResult]
]


@dataclass(frozen=True, slots=True)
class Catalog:
    """Everything a server offers."""

    tools: Sequence[Tool] = ()
    prompts: Sequence[Prompt] = ()
    resources: Sequence[Resources] = ()
    complete: Completer | None = None
    extensions: Sequence[Extension] = ()
    methods: Sequence[Method] = ()
    listen: Listener | None = None  # change notifications of the stateless protocol
    cache: Mapping[CacheableMethod, CacheHint] = field(default_factory=dict)  # how long lists stay valid
    # Capabilities to declare besides those that follow from the rest; unknown names are experimental ones.
    capabilities: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    instructions: str | None = None
    failed: Callable[[str], types.CallToolResult] = failure  # the result of a failed call
