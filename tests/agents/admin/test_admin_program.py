"""The operator's view of the real program: where its token is, and who is let in."""

from __future__ import annotations

import json
import signal
import stat
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from product_server import ProductServer, product_server
from raw_http import ACCEPT, HELLO

FIRST, SECOND = "first-token-of-anna", "second-token-of-bert"


def ask(url: str, token: str, body: Any = None, **headers: str) -> Any:
    data = None if body is None else json.dumps(body).encode()
    sent = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", **headers}
    with urlopen(Request(url, data, sent)) as response:
        return json.load(response)


def admin_at(server: ProductServer) -> str:
    return server.where("admin").where


def test_the_server_makes_a_token_and_says_where_it_is(tmp_path: Path) -> None:
    with product_server(tmp_path, "--http", "0", "--admin", "0") as server:
        admin = admin_at(server)
        path = Path(server.line(lambda line: line.get("event") == "admin_token")["path"])
        assert path == tmp_path / "data" / "admin-token"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        token = path.read_text().strip()
        with urlopen(Request(server.where("http").where, json.dumps(HELLO).encode(), ACCEPT)) as began:
            session_id = began.headers["mcp-session-id"]
        found = ask(f"{admin}/runtime", token)
        assert (found["active_mcp_sessions"], found["ready"], found["cluster"]) == (1, True, None)
        assert found["jobs"]["workers"] >= 1
        shown = f"{session_id[:8]}…"
        assert ask(f"{admin}/sessions/kick", token, {"session_id": shown})["ok"] is True
        assert ask(f"{admin}/jobs", token) == {"returned_jobs": 0, "more": False, "jobs": []}
        line = server.line(lambda line: line.get("event") == "admin_action")
        found = [line[name] for name in ("who", "action", "target", "outcome")]
        assert found == ["admin", "kick", shown, "done"]
        assert token not in json.dumps(server.lines)
        assert session_id not in json.dumps(server.lines)


def test_a_file_names_operators_and_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "operators"
    file.write_text(f"anna {FIRST}\n")
    with product_server(tmp_path, "--http", "0", "--admin", "0", "--admin-token-file", str(file)) as server:
        runtime = f"{admin_at(server)}/runtime"
        assert not (tmp_path / "data" / "admin-token").exists()
        events = Request(f"{admin_at(server)}/events", headers={"Authorization": f"Bearer {FIRST}"})
        with urlopen(events) as feed:
            assert feed.readline() == b"event: state\n"
            file.write_text(f"bert {SECOND}\n")
            server.process.send_signal(signal.SIGHUP)
            assert server.line(lambda line: line.get("event") == "token_file")["gone"] == "anna"
            feed.read()  # it ends
        assert ask(runtime, SECOND)["mcp_enabled"] is True
        with pytest.raises(HTTPError) as refused:
            ask(runtime, FIRST)
        assert refused.value.code == 401
