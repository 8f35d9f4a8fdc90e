"""Builds the SDK's server object from a catalog. Every transport serves this object."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import mcp_types as types
from mcp.server.context import ServerMiddleware
from mcp.server.extension import Extension, MethodBinding, RequestHandler, compose_tool_call_handler
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from longwire.product.allowlists import no_resource
from longwire.product.asking import AskingRules
from longwire.product.calls import NamesBadParams, perform
from longwire.product.catalog import Answer, Catalog, Context, Prompt
from longwire.product.offered_tools import ToolOffers
from longwire.product.results import answer
from longwire.text import quoted

_MOST_COMPLETIONS: Final = 100  # the protocol's own limit

# The protocol's own, by their names on the wire.
_CAPABILITIES: Final = frozenset(
    field.alias or name for name, field in types.ServerCapabilities.model_fields.items()
)
_Page: TypeAlias = types.PaginatedRequestParams | None


class CatalogServer(Server[Any]):
    """The SDK's server, with the catalog that it offers."""

    def __init__(self, catalog: Catalog, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        self.catalog = catalog
        # By method: the results that stay the same while the server runs, by who asks.
        self.lists: Mapping[str, Callable[[Context], types.Result]] = {}

    def get_capabilities(self, *args: Any, **options: Any) -> types.ServerCapabilities:
        """The capabilities that follow from the handlers, and those that the catalog declares besides."""
        found = super().get_capabilities(*args, **options)
        if not self.catalog.capabilities:
            return found
        document = found.model_dump(by_alias=True, mode="json", exclude_none=True)
        for name, definition in self.catalog.capabilities.items():
            place = document if name in _CAPABILITIES else document.setdefault("experimental", {})
            place[name] = {**place.get(name, {}), **definition}
        return types.ServerCapabilities.model_validate(document, by_name=False)


def build_server(
    catalog: Catalog,
    *,
    name: str,
    version: str,
    middleware: Sequence[ServerMiddleware[Any]] = (),
    asking: AskingRules | None = None,
) -> CatalogServer:
    """The SDK server that offers what the catalog lists."""
    rules = asking or AskingRules()
    tools = ToolOffers(catalog.tools)
    offer, calls = _Offer(catalog, tools), CatalogCalls(catalog, tools, rules)
    server = CatalogServer(
        catalog,
        name,
        version=version,
        instructions=catalog.instructions,
        cache_hints=catalog.cache,
        get_tool_input_schema=offer.input_schema,
        on_list_tools=offer.list_tools,
        on_call_tool=calls,
        on_list_prompts=offer.list_prompts if catalog.prompts else None,
        on_get_prompt=offer.get_prompt if catalog.prompts else None,
        on_list_resources=offer.list_resources if catalog.resources else None,
        on_list_resource_templates=offer.list_templates if catalog.resources else None,
        on_read_resource=offer.read_resource if catalog.resources else None,
        on_completion=offer.complete if catalog.complete else None,
        on_subscriptions_listen=catalog.listen,
    )
    server.lists = {"tools/list": tools.list, "prompts/list": lambda _: offer.prompts}
    for method in catalog.methods:
        server.add_request_handler(method.name, method.params, method.handler)
    for extension in catalog.extensions:
        _add_extension(server, extension)
    if catalog.extensions:
        wrapped = calls.allowed(compose_tool_call_handler(catalog.extensions, calls))
        server.add_request_handler("tools/call", types.CallToolRequestParams, wrapped)
    sealing = [rules.boundary(name)] if rules.seals else []
    server.middleware.extend([*middleware, *sealing, NamesBadParams()])
    return server


class CatalogCalls:
    """The handler of calls of a catalog's tools."""

    def __init__(self, catalog: Catalog, tools: ToolOffers, asking: AskingRules) -> None:
        self._catalog = catalog
        self._tools = tools
        self._asking = asking

    async def __call__(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        found = await self.run(context, params)
        return answer(found) if isinstance(found, dict) else found

    async def run(self, context: Context, params: types.CallToolRequestParams) -> Answer:
        """The answer of the tool; a document is not yet a result."""
        offered = self._tools.current()
        tool = offered.by_name.get(params.name)
        if tool is None:
            return self._catalog.failed(offered.unknown(params.name))
        return await perform(tool, tool.run, context, params, self._asking, self._catalog.failed)

    def allowed(self, call_tool: RequestHandler) -> RequestHandler:
        """The handler for the tools that the principal may call; other calls are answered as unknown."""

        async def handler(context: Context, params: types.CallToolRequestParams) -> Any:
            known = params.name in self._tools.current().by_name
            return await (call_tool if known else self)(context, params)

        return handler


class _Offer:
    """Handlers of the protocol's other methods for a catalog's tools, prompts and resources."""

    def __init__(self, catalog: Catalog, tools: ToolOffers) -> None:
        self._catalog = catalog
        self._tools = tools
        self._prompts: dict[str, Prompt] = {prompt.name: prompt for prompt in catalog.prompts}
        self.prompts = types.ListPromptsResult(prompts=[prompt.describe() for prompt in catalog.prompts])

    def input_schema(self, name: str) -> dict[str, Any] | None:
        tool = self._tools.current().by_name.get(name)
        return tool.input_schema if tool is not None else None

    async def list_tools(self, context: Context, params: _Page) -> types.ListToolsResult:
        _check_cursor(params)
        return self._tools.list(context)

    async def list_prompts(self, _: Context, params: _Page) -> types.ListPromptsResult:
        _check_cursor(params)
        return self.prompts

    async def get_prompt(
        self, context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        prompt = self._prompts.get(params.name)
        if prompt is None:
            known = ", ".join(self._prompts)
            raise MCPError(types.INVALID_PARAMS, f"unknown prompt {quoted(params.name)}: use one of {known}")
        given = params.arguments or {}
        for argument in prompt.arguments:
            if argument.required and argument.name not in given:
                raise MCPError(
                    types.INVALID_PARAMS, f"prompt '{prompt.name}' needs the argument '{argument.name}'"
                )
        return await prompt.render(params, context)

    async def list_resources(self, _: Context, params: _Page) -> types.ListResourcesResult:
        _check_cursor(params)
        listed = [resource for family in self._catalog.resources for resource in await family.list()]
        return types.ListResourcesResult(resources=listed)

    async def list_templates(self, _: Context, params: _Page) -> types.ListResourceTemplatesResult:
        _check_cursor(params)
        listed = [template for family in self._catalog.resources for template in family.templates()]
        return types.ListResourceTemplatesResult(resource_templates=listed)

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        for family in self._catalog.resources:
            if (content := await family.read(uri)) is not None:
                return content
        raise no_resource(uri, context.protocol_version)

    async def complete(self, _: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        assert self._catalog.complete is not None
        values = list(await self._catalog.complete(params))
        shown = values[:_MOST_COMPLETIONS]
        return types.CompleteResult(
            completion=types.Completion(values=shown, total=len(values), has_more=len(shown) < len(values))
        )


def _check_cursor(params: _Page) -> None:
    """Refuse a cursor: every list is sent whole, so none was ever handed out."""
    if params is not None and params.cursor:
        raise MCPError(
            types.INVALID_PARAMS,
            f"unknown cursor {quoted(params.cursor)}: leave it out, the list has one page",
        )


def _add_extension(server: Server[Any], extension: Extension) -> None:
    for method in extension.methods():
        server.add_request_handler(method.method, method.params_type, _gated(method))
    server.extensions[extension.identifier] = extension.settings()


def _gated(method: MethodBinding) -> RequestHandler:
    """The handler, limited to the protocol versions that the extension names."""

    async def handler(context: Context, params: Any) -> Any:
        if method.protocol_versions is not None and context.protocol_version not in method.protocol_versions:
            raise MCPError(types.METHOD_NOT_FOUND, "Method not found", method.method)
        return await method.handler(context, params)

    return handler
