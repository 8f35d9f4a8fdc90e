"""Tools that ask, on every transport in both eras, and what a raw HTTP client sees of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import MCPError

from asking_client import ASKED, NAME, TOLD, Person, interview
from longwire.product.catalog import Answer, Call, Catalog, Tool
from longwire.settings import Settings
from raw_http import RawSession, http_client, modern, open_session
from transport_bench import ENDPOINTS, ERAS, Bench, Running, Signal, serving

NOTHING = {"type": "object", "properties": {}}
ABLE = {"elicitation": {"form": {}}, "sampling": {}, "roots": {}}
TIMEOUT = -32001


class Asking(Bench):
    """A bench whose tools ask."""

    def __init__(self) -> None:
        super().__init__()
        self.ended = Signal()

    def catalog(self) -> Catalog:
        tools = {"interview": interview, "sample": self._sample, "name": self._name}
        return Catalog(tools=[Tool(name, name, "Asks.", NOTHING, run) for name, run in tools.items()])

    async def _sample(self, call: Call) -> Answer:
        told = await call.sample("Sum up", max_tokens=128, system_prompt="Be brief")
        return {"told": told.model}

    async def _name(self, call: Call) -> Answer:
        try:
            return {"name": (await call.elicit("Name?", NAME)).content}
        finally:
            self.ended.add()


@pytest.mark.parametrize("transport", list(ENDPOINTS))
@pytest.mark.parametrize("era", ERAS)
async def test_a_tool_asks_its_client(transport: str, era: str, tmp_path: Path) -> None:
    person = Person()
    async with (
        serving(ENDPOINTS[transport](tmp_path), bench=Asking()) as server,
        server.client(era, **person.callbacks) as client,
    ):
        result = await client.call_tool("interview", {})
        assert result.structured_content == TOLD
    assert person.asked == ASKED


@pytest.mark.parametrize("transport", list(ENDPOINTS))
async def test_a_client_has_a_time_to_answer(transport: str, tmp_path: Path) -> None:
    class Silent(Person):
        async def fill_in(self, context: Any, params: Any) -> Any:
            await anyio.sleep_forever()

    settings = Settings(grace=0.2, client_timeout=0.05)
    async with (
        serving(ENDPOINTS[transport](tmp_path), bench=Asking(), settings=settings) as server,
        server.client("legacy", **Silent().callbacks) as client,
    ):
        with pytest.raises(MCPError) as caught:
            await client.call_tool("name", {})
        assert caught.value.code == TIMEOUT


def message(method: str, number: Any = None, **params: Any) -> dict[str, Any]:
    given = {} if number is None else {"id": number}
    return {"jsonrpc": "2.0", **given, "method": method, "params": params}


def calling(tool: str, number: Any = 1) -> dict[str, Any]:
    return message("tools/call", number, name=tool, arguments={})


@asynccontextmanager
async def http_server(**settings: Any) -> AsyncIterator[Running]:
    made = Settings(grace=0.2, **settings)
    async with serving(ENDPOINTS["http"](Path()), bench=Asking(), settings=made) as server:
        yield server


async def began(server: Running, http: httpx2.AsyncClient, capabilities: dict[str, Any] = ABLE) -> RawSession:
    """A session whose client declared these capabilities."""
    session = await open_session(server.where, http, capabilities=capabilities)
    assert (await session.post(message("notifications/initialized"))).status_code == 202
    return session


ADA = {"action": "accept", "content": {"name": "Ada"}}


@pytest.mark.parametrize("era", ERAS)
async def test_an_undeclared_capability_is_refused_in_the_answer(era: str) -> None:
    async with http_server() as server, http_client() as http:
        if era == "legacy":
            answer = await (await began(server, http, {})).post(calling("sample"))
            assert answer.status_code == 200
        else:
            request, headers = modern(calling("sample"))
            answer = await http.post(server.where, json=request, headers=headers)
            assert answer.status_code == 400
        error = answer.json()["error"]
        assert error["code"] == -32021
        assert error["data"] == {"requiredCapabilities": {"sampling": {}}}


async def test_rounds_without_a_session() -> None:
    async with http_server() as server, http_client() as http:
        request, headers = modern(calling("name"))
        able = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
        request["params"]["_meta"] = {**request["params"]["_meta"], **able}
        asked = await http.post(server.where, json=request, headers=headers)
        assert asked.status_code == 200
        result = asked.json()["result"]
        assert result["resultType"] == "input_required"
        (key,) = result["inputRequests"]
        assert result["inputRequests"][key]["method"] == "elicitation/create"
        again = {**request["params"], "inputResponses": {key: ADA}}
        tampered = {**again, "requestState": result["requestState"][:-2] + "AA"}
        refused = await http.post(server.where, json={**request, "params": tampered}, headers=headers)
        assert refused.json()["error"]["code"] == -32602
        complete = {**again, "requestState": result["requestState"]}
        done = await http.post(server.where, json={**request, "params": complete}, headers=headers)
        assert done.json()["result"]["structuredContent"] == {"name": {"name": "Ada"}}
