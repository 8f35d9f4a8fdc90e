"""The program as an OAuth resource server: the official client, both eras, keys that change."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from acuity.cli.serve import main as program
from oauth_ground import ISSUER, key_set, private_key, public_jwk, token
from product_server import product_server
from raw_http import ACCEPT, HELLO, call, http_client, modern, open_session
from transport_bench import ERAS

RESOURCE = "http://127.0.0.1:8080/mcp"
OLD = key_set(public_jwk(private_key("ES256"), "ES256", "one"))
NEW = key_set(public_jwk(private_key("ES256", 1), "ES256", "two"))
SCOPES = ("--scope", "read=list_*", "--scope", "score=vmaf_score*")


def bearer(given: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {given}"}


def options(jwks: str) -> tuple[str, ...]:
    return (
        *("--http", "0", "--log-level", "debug", *SCOPES),
        *("--oauth-issuer", ISSUER, "--oauth-jwks", jwks, "--oauth-resource", RESOURCE),
    )


def good(**others: Any) -> str:
    return token(aud=RESOURCE, **{"scope": "read", **others})


async def test_the_whole_way(tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    keys.write_bytes(OLD)
    used = [good(), good(sub="bob"), good(exp=1), good(key=private_key("ES256", 1), key_id="two")]
    alices, bobs, expired, second = used
    with product_server(tmp_path, *options(str(keys))) as server:
        url = server.where("http").where
        for era in ERAS:
            async with http_client(**bearer(alices)) as http:
                transport = streamable_http_client(url, http_client=http)
                async with Client(transport, mode=era) as client:
                    names = [tool.name for tool in (await client.list_tools()).tools]
                    assert names
                    assert all(name.startswith("list_") for name in names)
                    answer = await client.call_tool("list_models")
                    assert not answer.is_error

        async with http_client() as http:
            # Without a token a client finds its way.
            refused = await http.post(url, json=HELLO, headers=ACCEPT)
            assert refused.status_code == 401
            named = 'resource_metadata="http://127.0.0.1:8080/.well-known/oauth-protected-resource/mcp"'
            assert named in refused.headers["www-authenticate"]
            found = await http.get(url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp"))
            assert found.json()["authorization_servers"] == [ISSUER]
            assert found.json()["resource"] == RESOURCE
            refused = await http.post(url, json=HELLO, headers={**ACCEPT, **bearer(expired)})
            assert refused.status_code == 401
            assert "the token has expired" in refused.headers["www-authenticate"]

        async with http_client(**bearer(alices)) as http, http_client(**bearer(bobs)) as others:
            session = await open_session(url, http)
            # A tool that another scope opens: 403, with what to ask for.
            refused = await session.post(call(1, "vmaf_score"))
            assert refused.status_code == 403
            challenge = refused.headers["www-authenticate"]
            assert 'error="insufficient_scope"' in challenge
            assert 'scope="read score"' in challenge
            assert refused.json()["id"] == 1
            body, headers = modern(call(2, "vmaf_score"))
            refused = await http.post(url, json=body, headers=headers)
            assert refused.status_code == 403
            assert 'scope="score"' in refused.headers["www-authenticate"]
            # One that no scope opens doesn't exist.
            assert "unknown tool" in (await session.post(call(3, "describe_worst_frames"))).text
            # Sessions are their principal's, whichever token it sends.
            stolen = await others.post(url, json=call(4, "list_models"), headers=session.headers)
            assert stolen.status_code == 404
            headers = {**session.headers, **bearer(good(jti="another"))}
            assert (await http.post(url, json=call(5, "list_models"), headers=headers)).status_code == 200

            # Keys that change, with and without a signal.
            keys.write_bytes(NEW)
            server.process.send_signal(signal.SIGHUP)
            server.line(lambda line: line.get("message") == "read the key set again")
            assert (await session.post(call(6, "list_models"))).status_code == 401
            headers = {**session.headers, **bearer(second)}
            assert (await http.post(url, json=call(7, "list_models"), headers=headers)).status_code == 200
    written = json.dumps(server.lines)
    assert not any(part in written for one in used for part in one.split(".")[1:])


def test_check_shows_the_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "keys.json").write_bytes(OLD)
    config = tmp_path / "acuity.toml"
    config.write_text(
        f'[server]\nhttp = "0.0.0.0:0"\n[auth]\noauth_issuer = "{ISSUER}"\noauth_jwks = "keys.json"\n'
        f'oauth_resource = "{RESOURCE}"\noauth_audience = ["a", "b"]\n'
    )
    assert program(["--config", str(config), "--check"]) == 0
    shown = capsys.readouterr().out
    assert f'oauth_jwks = "{tmp_path}/keys.json"' in shown
    assert 'oauth_audience = ["a", "b"]' in shown
