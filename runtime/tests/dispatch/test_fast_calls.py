"""Plain calls: the same bytes as by the SDK's runner, and the same middleware."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from mcp.server.runner import ServerRunner, modern_error_data
from mcp_types import ListToolsResult, PaginatedRequestParams, Tool
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS

from core_bench import ALICE, BOB, CoreBench, Running, Timers, build_server, modern
from effort import examples
from fake_responder import FakeResponder
from longwire.dispatch.connections import EnvelopeConnection
from longwire.dispatch.core import OpenResponses
from longwire.dispatch.fast_calls import FastCalls
from longwire.dispatch.stateless import SingleExchange
from longwire.principals.principal import PRINCIPAL, Principal
from longwire.wire.http.request import Request
from longwire.wire.messages import PlainRequest
from longwire.wire.replies import error_payload, result_payload

_ENVELOPE = modern({"method": "tools/call", "params": {}})[0]["params"]["_meta"]
_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.floats(allow_nan=False), st.text(max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)
_KEYS = ("progressToken", "progress_token", "traceparent", *_ENVELOPE, "io.modelcontextprotocol/logLevel")
_META = st.one_of(
    st.just(_ENVELOPE),
    st.dictionaries(st.sampled_from(_KEYS), _JSON, max_size=4),
    st.dictionaries(st.sampled_from(_KEYS), _JSON, max_size=2).map(lambda more: {**_ENVELOPE, **more}),
    _JSON,
)
_PARAMS = st.fixed_dictionaries(
    {},
    optional={
        "name": st.one_of(st.sampled_from(["plain", "number", "odd", "failing", "contents", "none"]), _JSON),
        "arguments": st.one_of(
            st.dictionaries(st.sampled_from(["n", "text", "m"]), _JSON, max_size=2), _JSON
        ),
        "_meta": _META,
        "task": _JSON,
        "requestState": _JSON,
    },
)


def _exchange(params: Any) -> SingleExchange:
    core: Any = SimpleNamespace(later=Timers().later, open_responses=OpenResponses(15))
    message = PlainRequest(1, "tools/call", params)
    return SingleExchange(core, message, Request("POST", "/mcp"), FakeResponder())


async def _answered(work: Any) -> bytes:
    try:
        return result_payload(1, await work)
    except Exception as problem:
        error = modern_error_data(problem)
        return error_payload(1, error.code, error.message, error.data)


@pytest.mark.parametrize("version", KNOWN_PROTOCOL_VERSIONS)
def test_a_fast_answer_has_the_bytes_of_the_long_way(version: str) -> None:
    server = build_server(CoreBench().catalog(), name="bench", version="1")
    fast = FastCalls(server, {})
    ways: set[bool] = set()

    @settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(_PARAMS)
    @example({"name": "plain", "arguments": {"text": "a"}, "_meta": _ENVELOPE})
    @example({})
    def compare(params: Any) -> None:
        async def main() -> None:
            # As it comes from a wire.
            read = json.loads(json.dumps(params))
            work = fast.begin(_exchange(read), EnvelopeConnection(version), read)
            ways.add(work is not None)
            if work is not None:
                runner = ServerRunner(server, EnvelopeConnection(version), {})
                slow = runner.on_request(_exchange(read), "tools/call", read)
                assert await _answered(work) == await _answered(slow)

        asyncio.run(main())

    compare()
    assert ways == ({True, False} if version >= "2025-06-18" else {False})


async def test_middleware_sees_what_the_handler_sees_and_what_is_sent(served: Running) -> None:
    seen: list[Any] = []

    async def watching(context: Any, call_next: Any) -> Any:
        result = await call_next(context)
        if context.method == "tools/call":
            seen.append((context.request_id, context.meta, dict(context.params), result))
        return result

    client = served.behind(watching)
    params = {"name": "plain", "arguments": {"text": "a"}, "_meta": {"progressToken": 3, "own": 1}}
    answer = client.post({"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": params})
    ((request_id, meta, given_params, result),) = seen
    assert (request_id, given_params) == ("x", params)
    assert meta == {"progress_token": 3, "own": 1}
    assert json.loads(answer.body)["result"] == result


async def test_middleware_may_change_parameters_and_answer_by_itself(served: Running) -> None:
    async def changing(context: Any, call_next: Any) -> Any:
        if context.method != "tools/call":
            return await call_next(context)
        if context.params["name"] == "own":
            return {"content": [], "isError": True}
        params = {**context.params, "arguments": {"text": "changed"}}
        return await call_next(replace(context, params=params))

    client = served.behind(changing)
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "plain"}}
    result = json.loads(client.post(call).body)["result"]
    assert result["structuredContent"]["text"] == "changed"
    answer = await client.post({**call, "params": {"name": "own"}}).over()
    assert json.loads(answer.body)["result"] == {"content": [], "isError": True}


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("method", ["tools/list", "prompts/list"])
async def test_a_list_is_kept_for_those_who_may_see_the_same(version: str, method: str) -> None:
    server = build_server(CoreBench().catalog(), name="bench", version="1")
    fast, params = FastCalls(server, {}), {"_meta": _ENVELOPE}
    few = Principal.of_token("bob", tools=frozenset({"plain"}))
    firsts = {}
    for principal in (Principal.of_address("::1"), ALICE, BOB, few):
        PRINCIPAL.set(principal)

        def listed() -> Any:
            return fast.begin_list(_exchange(params), EnvelopeConnection(version), method, params)

        first, second = await listed(), await listed()
        assert second is first
        runner = ServerRunner(server, EnvelopeConnection(version), {})
        slow = runner.on_request(_exchange(params), method, params)
        assert result_payload(1, second) == result_payload(1, await slow)
        firsts[principal.key] = first
    assert firsts[ALICE.key] is not firsts[few.key] or method == "prompts/list"


async def test_a_list_that_has_changed_is_made_again() -> None:
    server = build_server(CoreBench().catalog(), name="bench", version="1")
    present = ListToolsResult(tools=[])

    async def listed(*_: Any) -> Any:
        return present

    server.add_request_handler("tools/list", PaginatedRequestParams, listed)
    server.lists = {"tools/list": lambda _: present}
    fast, sizes = FastCalls(server, {}), []
    for _ in range(2):
        for _ in range(2):
            work = fast.begin_list(_exchange({}), EnvelopeConnection("2025-11-25"), "tools/list", {})
            assert work is not None
            sizes.append(len((await work)["tools"]))
        present = ListToolsResult(tools=[Tool(name="new", input_schema={"type": "object"})])
    assert sizes == [0, 0, 1, 1]


def test_a_list_with_a_cursor_or_a_bad_envelope_goes_the_long_way() -> None:
    fast = FastCalls(build_server(CoreBench().catalog(), name="bench", version="1"), {})
    for version, params in (
        ("2025-11-25", {"cursor": "x"}),
        ("2026-07-28", {}),
        ("2026-07-28", {"_meta": 1}),
    ):
        assert fast.begin_list(_exchange(params), EnvelopeConnection(version), "tools/list", params) is None
