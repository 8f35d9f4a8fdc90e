"""Records of the tools, prompts and resources that a server offers. app.py turns them into a server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.extension import Extension
from mcp_types.methods import CacheableMethod
from pydantic import BaseModel

from acuity.jobs.job import JobSpec

if TYPE_CHECKING:  # both load much, and a server inside a measurement has no Services
    from acuity.access.paths import AllowedPaths
    from acuity.jobs.service import Jobs
    from acuity.mcp.settings import Settings

Context: TypeAlias = ServerRequestContext[Any, Any]
# A plain document becomes structured content and its JSON text; the others are sent as they are.
Answer: TypeAlias = dict[str, Any] | types.CallToolResult | types.InputRequiredResult


@dataclass(frozen=True, slots=True)
class Services:
    """The services that the standalone server's tools use, created once and shared by all connections."""

    settings: Settings
    paths: AllowedPaths
    jobs: Jobs


class Arguments(dict[str, Any]):
    """Arguments of a call with defaults filled in; `given` has the names of those that the client wrote."""

    def __init__(self, given: Mapping[str, Any] | None) -> None:
        super().__init__(given or {})
        self.given = frozenset(self)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool."""

    tool: Tool
    arguments: Arguments  # checked against the schema
    client: str  # for the fair queue
    context: Context
    input: types.CallToolRequestParams  # as received, for answers that take several rounds

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Send progress to the client, if it gave a progress token."""
        await self.context.session.report_progress(done, total, message)


Handler: TypeAlias = Callable[[Call], Awaitable[Answer]]
# Returns the job that does a tool's work; raises AcuityError for unusable arguments.
Planner: TypeAlias = Callable[[Arguments], Awaitable[JobSpec]]


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
    read_only: bool = True
    destructive: bool = False
    idempotent: bool = True
    meta: dict[str, Any] | None = None
    runs: str | None = None  # the argument that names another tool, whose work this one starts
    # Sentences for arguments that don't fit the schema, by name, where a specification has them word by word.
    refusals: Mapping[str, Callable[[Any], str]] = field(default_factory=dict)

    def describe(self) -> types.Tool:
        return types.Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=self.input_schema,
            output_schema=self.output_schema,
            annotations=types.ToolAnnotations(
                title=self.title,
                read_only_hint=self.read_only,
                destructive_hint=self.destructive,
                idempotent_hint=self.idempotent,
                open_world_hint=False,
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
            name=self.name, title=self.title, description=self.description, arguments=list(self.arguments)
        )


class Resources(Protocol):
    """A family of resources."""

    async def list(self) -> Sequence[types.Resource]: ...

    def templates(self) -> Sequence[types.ResourceTemplate]: ...

    async def read(self, uri: str) -> types.ReadResourceResult | None:
        """The content, or None if the URI belongs to another family."""
        ...


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
    instructions: str | None = None
