"""Tools whose calls become tasks."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import mcp_types as types
from mcp.shared.exceptions import MCPError

from fixture_making import arguments, filled, form, needed, responses, text, tool
from local_tasks import Ask, LocalTasks, LocalWork, Work
from longwire.errors import LongwireError
from longwire.product.catalog import Answer, Call, Handler, Tool

_WORDS: Final[dict[str, Any]] = {"type": "string"}
_CONFIRM: Final = {"confirm": {"type": "boolean"}}
_NAME: Final = form("What is your name?", ("name",), name=_WORDS)


def task_tools() -> list[Tool]:
    seconds = {"type": "number", "minimum": 0, "default": 0}
    return [
        tool("greet", _greet, arguments(("name",), name=_WORDS)),
        tool("slow_compute", _called(_slow_compute), arguments(seconds=seconds, label=_WORDS)),
        tool("failing_job", _called(_failing)),
        tool("protocol_error_job", _called(_protocol_error)),
        tool("confirm_delete", _called(_confirm_delete), arguments(("filename",), filename=_WORDS)),
        tool("multi_input", _called(_multi_input)),
        tool("test_tool_with_task", _called(_greet_by_name)),
    ]


def task_backend() -> LocalTasks:
    return LocalTasks(
        {
            "slow_compute": LocalWork(_slow_compute),
            "failing_job": LocalWork(_failing, required=True),
            "protocol_error_job": LocalWork(_protocol_error, required=True),
            "confirm_delete": LocalWork(_confirm_delete, required=True),
            "multi_input": LocalWork(_multi_input, required=True),
            "test_tool_with_task": LocalWork(_greet_by_name, required=True, first=_name_first),
        }
    )


async def _greet(call: Call) -> types.CallToolResult:
    return text(f"Hello, {call.arguments['name']}!")


async def _slow_compute(call: Call, _: Ask) -> types.CallToolResult:
    await asyncio.sleep(call.arguments["seconds"])
    return text(f"computed {call.arguments.get('label', 'something')}")


async def _failing(_: Call, __: Ask) -> types.CallToolResult:
    await asyncio.sleep(1)
    raise LongwireError("this job fails, and says so in its result")


async def _protocol_error(_: Call, __: Ask) -> types.CallToolResult:
    raise MCPError(types.INTERNAL_ERROR, "this job fails below its result")


async def _confirm_delete(call: Call, ask: Ask) -> types.CallToolResult:
    name = call.arguments["filename"]
    given = await ask({"confirm": form(f"Delete {name}?", ("confirm",), **_CONFIRM)})
    return text(f"{name} is {'deleted' if filled(given['confirm'], 'confirm') else 'still there'}")


async def _multi_input(_: Call, ask: Ask) -> types.CallToolResult:
    given = await ask({"name": _NAME, "sure": form("Are you sure?", ("confirm",), **_CONFIRM)})
    return text(f"{filled(given['name'], 'name')}: {filled(given['sure'], 'confirm')}")


def _name_first(call: Call) -> Answer | None:
    """The name is asked for in the rounds of the call, before there is a task."""
    return needed(user_name=_NAME) if filled(responses(call).get("user_name"), "name") is None else None


async def _greet_by_name(call: Call, _: Ask) -> types.CallToolResult:
    return text(f"Hello, {filled(responses(call).get('user_name'), 'name')}!")


def _called(work: Work) -> Handler:
    """The same work for clients that know nothing of tasks."""

    async def nobody_to_ask(_: object) -> dict[str, types.InputResponse]:
        raise LongwireError("this needs input, which only tasks can ask for")

    async def run(call: Call) -> Answer:
        return await work(call, nobody_to_ask)

    return run
