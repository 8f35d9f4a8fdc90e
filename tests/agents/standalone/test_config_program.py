"""The program with a configuration file: what is written there holds."""

from __future__ import annotations

import http.client
import json
from pathlib import Path
from urllib.parse import urlsplit

from product_server import SECONDS, product_server

CONFIGURATION = """
[server]
http = 0

[mcp]
max_sessions = 1
session_safe_seconds = 0

[limits]
rate = "4/hour"

[store]
sessions = "sqlite:sessions.db"
"""
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def post(
    where: str, message: dict[str, object], session_id: str | None = None
) -> tuple[int, http.client.HTTPMessage]:
    there = urlsplit(where)
    connection = http.client.HTTPConnection(there.netloc, timeout=SECONDS)
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if session_id is not None:
        headers["Mcp-Session-Id"] = session_id
    try:
        connection.request("POST", there.path, json.dumps(message), headers)
        response = connection.getresponse()
        response.read()
        return response.status, response.headers
    finally:
        connection.close()


def test_sessions_rates_and_the_store_are_as_written(tmp_path: Path) -> None:
    (tmp_path / "acuity.toml").write_text(CONFIGURATION)
    with product_server(tmp_path, "--config", str(tmp_path / "acuity.toml")) as server:
        where = server.where("http").where
        sessions = []
        for _ in range(2):
            status, headers = post(where, INITIALIZE)
            assert status == 200
            sessions.append(headers["mcp-session-id"])
        listing: dict[str, object] = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        assert post(where, listing, sessions[0])[0] == 404, "it made room for the second one"
        answers = [post(where, listing, sessions[1]) for _ in range(4)]
        assert answers[0][0] == 200
        assert answers[-1][0] == 429
        assert int(answers[-1][1]["retry-after"]) > 60
    with product_server(tmp_path, "--config", str(tmp_path / "acuity.toml")) as server:
        server.where("http")
    said = {line["event"]: line for line in server.lines if "event" in line}
    assert (said["store"]["store"], said["store"]["sessions"]) == (f"sqlite:{tmp_path}/sessions.db", 1)
    server.line(lambda line: line.get("event") == "ended")
    assert server.lines[-2]["event"] == "stopped"
    assert (tmp_path / "sessions.db").stat().st_mode & 0o777 == 0o600
