"""The program with a token file that changes, an auth hook and allowed origins, asked over HTTP."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import httpx2
import pytest

from product_server import ProductServer, product_server
from raw_http import ACCEPT, HELLO, RawSession, call, events, http_client, modern, open_session

ALICE = "alice-correct-horse"
BOB = "bob-battery-staple!"
CAROL = "carol-and-her-token"


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def write(path: Path, **tables: str) -> None:
    path.write_text("\n".join(f"[tokens.{name}]\n{table}\n" for name, table in tables.items()))


def reload(server: ProductServer, message: str) -> dict[str, Any]:
    """Send SIGHUP and return the line of the log about it."""
    server.process.send_signal(signal.SIGHUP)
    return server.line(lambda line: message in line.get("message", ""))


def listing(number: int = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "tools/list", "params": {}}


async def tools(session: RawSession) -> list[str]:
    found = (await session.post(listing())).json()["result"]["tools"]
    return [tool["name"] for tool in found]


def error_of(answer: httpx2.Response) -> str:
    return str(json.loads(answer.json()["result"]["content"][0]["text"])["error"])


async def test_a_token_file_and_its_changes(tmp_path: Path) -> None:
    path = tmp_path / "tokens.toml"
    # Those of the first and the second set are different in every way that a table has.
    limited = 'tools = ["list_models", "submit_job", "vmaf_score"]'
    write(path, alice=f'token = "{ALICE}"\n{limited}', bob=f'token = "{BOB}"\nrate = "6/min"')
    options = ("--http", "0", "--token-file", str(path), "--log-level", "debug")
    with product_server(tmp_path, *options) as server:
        url = server.where("http").where
        async with (
            http_client(**bearer(ALICE)) as alices,
            http_client(**bearer(BOB)) as bobs,
            http_client(**bearer(CAROL)) as carols,
        ):
            alice, bob = await open_session(url, alices), await open_session(url, bobs)
            assert await tools(alice) == ["vmaf_score", "list_models", "submit_job"]
            assert len(await tools(bob)) > 10
            assert "vmaf_v0.6.1" in (await alice.post(call(1, "list_models"))).text
            assert error_of(await alice.post(call(1, "list_jobs"))).startswith("unknown tool: list_jobs")
            # Nor can it be submitted or run as a task.
            refused = await alice.post(call(1, "submit_job", tool="vmaf_score_encoded", arguments={}))
            assert error_of(refused) == "invalid tool 'vmaf_score_encoded': use one of 'vmaf_score'"
            body, headers = modern(call(1, "vmaf_score_encoded"))
            extensions = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
            body["params"]["_meta"] |= {"io.modelcontextprotocol/clientCapabilities": extensions}
            refused = await alices.post(url, json=body, headers=headers)
            assert error_of(refused).startswith("unknown tool: vmaf_score_encoded; there are vmaf_score,")
            assert (await carols.post(url, json=HELLO, headers=ACCEPT)).status_code == 401

            path.write_text("[tokens.alice]\ntoken = ")
            assert "is no TOML" in reload(server, "the tokens stay as they were")["message"]
            assert await tools(bob)

            async with bobs.stream("GET", url, headers=bob.headers) as stream:
                write(path, alice=f'token = "{ALICE}"\ntools = ["list_*"]', carol=f'token = "{CAROL}"')
                assert reload(server, "read the token file '")["gone"] == "bob"
                assert [event async for event in events(stream) if event.message] == []  # it ends
            assert (await bob.post(call(1))).status_code == 401
            assert "list_jobs" in await tools(alice)  # the session goes on, with other tools
            assert await tools(await open_session(url, carols))
    written = json.dumps(server.lines)
    assert not any(token in written for token in (ALICE, BOB, CAROL))


async def test_the_hook_and_origins_of_a_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_hook.py").write_text(
        "async def who(token, headers, address):\n"
        "    if token == 'broken-broken-broken':\n"
        "        raise RuntimeError('the directory is down')\n"
        "    if token and token.startswith('staff-'):\n"
        "        return {'name': token.removeprefix('staff-'), 'scopes': ['read']}\n"
    )
    config = tmp_path / "acuity.toml"
    config.write_text(
        '[server]\nhttp = "0"\n[auth]\nhook = "my_hook:who"\n[auth.scopes]\nread = ["list_*"]\n'
        '[mcp]\nallowed_origins = ["https://studio.example"]\n[limits.tools]\nlist_models = "2/min"\n'
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    with product_server(tmp_path, "--config", str(config)) as server:
        url = server.where("http").where
        async with http_client(**bearer("staff-dana")) as http:
            session = await open_session(url, http)
            names = await tools(session)
            assert "list_models" in names
            assert all(name.startswith("list_") for name in names)
            statuses = [(await session.post(call(n, "list_models"))).status_code for n in range(3)]
            assert statuses == [200, 200, 429]
            for origin, status in (("https://studio.example", 200), ("http://localhost", 403)):
                headers = {**session.headers, "Origin": origin}
                answer = await http.post(url, json=listing(), headers=headers)
                assert answer.status_code == status
        for token, status in (("nobody-at-all-here", 401), ("broken-broken-broken", 503)):
            async with http_client(**bearer(token)) as http:
                answer = await http.post(url, json=HELLO, headers=ACCEPT)
                assert answer.status_code == status
                assert "directory" not in answer.text
        assert (
            "RuntimeError: the directory is down"
            in server.line(lambda line: "auth hook failed" in line.get("message", ""))["message"]
        )
