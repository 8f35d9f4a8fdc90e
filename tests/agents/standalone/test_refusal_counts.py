"""Refused requests are counted by reason, and neither figures nor logs tell a token or a session id."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from product_server import SECONDS, ProductServer, product_server

TOKEN = "correct-horse-battery"
SLOW = "slow-horse-without-battery"  # may send one request a day
LOST = "lost-horse-without-battery"  # may send six
TOKENS = f"""
[tokens.encoder-farm-7]
token = "{TOKEN}"
[tokens.slow]
token = "{SLOW}"
rate = "1/day"
[tokens.lost]
token = "{LOST}"
rate = "6/day"
"""
HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "Authorization": f"Bearer {TOKEN}",
}
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


class Asker:
    """Sends single requests to a running server."""

    def __init__(self, server: ProductServer) -> None:
        self.server = server
        self._there = urlsplit(server.where("http").where)

    def post(
        self, method: str = "ping", *, verb: str = "POST", body: bytes | None = None, **headers: str
    ) -> tuple[int, dict[str, str]]:
        """The status and the headers of an answer; header names are written with underscores."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": INITIALIZE}
        sent = {**HEADERS, **{name.replace("_", "-"): value for name, value in headers.items()}}
        connection = http.client.HTTPConnection(self._there.netloc, timeout=SECONDS)
        try:
            connection.request(verb, "/mcp", json.dumps(message).encode() if body is None else body, sent)
            response = connection.getresponse()
            response.read()
            return response.status, {name.lower(): value for name, value in response.getheaders()}
        finally:
            connection.close()

    def send(self, data: bytes) -> int:
        """The status of the answer to these bytes."""
        with socket.create_connection((self._there.hostname, self._there.port), SECONDS) as connection:
            connection.sendall(data)
            return int(connection.recv(64).split()[1])

    def metrics(self) -> str:
        asked = Request(self.server.where("metrics").where, headers=HEADERS)
        text: bytes = urlopen(asked, timeout=SECONDS).read()
        return text.decode()

    def refused(self) -> dict[str, float]:
        families = text_string_to_metric_families(self.metrics())
        return {
            sample.labels["reason"]: sample.value
            for family in families
            for sample in family.samples
            if sample.name == "acuity_mcp_requests_refused_total"
        }


@pytest.fixture(scope="module")
def asker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    folder = tmp_path_factory.mktemp("refusals")
    (folder / "tokens").write_text(TOKENS)
    limits = ["--max-head-bytes", "4000", "--max-message-bytes", "4000", "--log-level", "debug"]
    with product_server(
        folder, "--http", "0", "--metrics", "0", "--token-file", str(folder / "tokens"), *limits
    ) as server:
        yield Asker(server)


def test_each_refusal_is_counted_with_its_reason(asker: Asker) -> None:
    cases = {
        "token": (401, lambda: asker.post(Authorization="Bearer wrong-wrong-wrong")[0]),
        "host": (421, lambda: asker.post(Host="elsewhere.example")[0]),
        "origin": (403, lambda: asker.post(Origin="https://elsewhere.example")[0]),
        "body": (400, lambda: asker.post(body=b"{")[0]),
        "session": (404, lambda: asker.post(Mcp_Session_Id="0" * 32)[0]),
        "version": (400, lambda: asker.post(MCP_Protocol_Version="2027-01-01")[0]),
        "accept": (406, lambda: asker.post("initialize", Accept="text/html")[0]),
        "type": (415, lambda: asker.post("initialize", Content_Type="application/json-seq")[0]),
        "headers": (431, lambda: asker.post(X="x" * 5000)[0]),
        "size": (413, lambda: asker.post(body=b"x" * 5000)[0]),
        "http": (505, lambda: asker.send(b"GET / HTTP/3.0\r\nHost: x\r\n\r\n")),
    }
    for reason, (status, ask) in cases.items():
        before = asker.refused().get(reason, 0)
        assert ask() == status, reason
        assert asker.refused()[reason] == before + 1, reason


def test_requests_over_a_rate_are_counted_whatever_their_method(asker: Asker) -> None:
    slow = f"Bearer {SLOW}"
    assert asker.post("initialize", Authorization=slow)[0] == 200
    before = asker.refused().get("rate", 0)
    status, headers = asker.post("initialize", Authorization=slow)
    assert status == 429
    assert int(headers["retry-after"]) > 80_000
    assert asker.refused()["rate"] == before + 1


def test_requests_that_are_refused_before_they_are_calls_count_for_the_rate_once(asker: Asker) -> None:
    lost, nowhere = f"Bearer {LOST}", "0" * 32

    def ask(verb: str, **given: Any) -> tuple[int, dict[str, str]]:
        return asker.post(verb=verb, Authorization=lost, **given)

    status, headers = ask("POST", method="initialize")
    assert status == 200
    session_id = headers["mcp-session-id"]
    assert ask("POST", method="no/such", Mcp_Session_Id=session_id)[0] == 200
    assert [ask(verb, Mcp_Session_Id=nowhere)[0] for verb in ("POST", "GET", "DELETE")] == [404] * 3
    assert ask("POST", body=b"{")[0] == 400
    before = asker.refused().get("rate", 0)
    for verb in ("POST", "GET", "DELETE"):
        status, headers = ask(verb, Mcp_Session_Id=nowhere)
        assert status == 429, "six were sent"
        assert int(headers["retry-after"]) > 10_000
    assert ask("POST", body=b"{")[0] == 429
    assert asker.refused()["rate"] == before + 4
    assert ask("POST", Mcp_Session_Id=session_id)[0] == 200, "a ping is free"


def test_log_lines_say_who_it_was_and_where(asker: Asker) -> None:
    _, headers = asker.post("initialize")
    asker.post("tools/call", Mcp_Session_Id=headers["mcp-session-id"])
    line = asker.server.line(lambda line: line.get("logger") == "longwire.product.calls")
    assert line["client"] == "token:encoder-farm-7"
    asker.post(Authorization="Bearer some-wrong-token-or-other")
    line = asker.server.line(lambda line: "unknown or has expired" in line["message"])
    assert (line["status"], line["address"], line["path"]) == (401, "127.0.0.1", "/mcp")


def test_requests_have_an_id_in_answers_and_logs(asker: Asker) -> None:
    _, headers = asker.post(Mcp_Session_Id="0" * 32, X_Request_Id="proxy-42")
    assert headers["x-request-id"] == "proxy-42"
    line = asker.server.line(lambda line: line.get("status") == 404)  # the first of a minute
    assert line["request_id"]
    assert line["session"] == "00000000…"
    assert line["message"] == "refused a request: Session not found"
    _, headers = asker.post("initialize", X_Request_Id='no id"of" ours')
    made = headers["x-request-id"]
    assert made.replace("-", "").isalnum()
    asker.post("tools/call", Mcp_Session_Id=headers["mcp-session-id"], X_Request_Id="call-1")
    asker.server.line(lambda line: line.get("request_id") == "call-1" and "tool" in line)


def test_neither_figures_nor_logs_tell_a_secret(asker: Asker) -> None:
    status, headers = asker.post("initialize")
    assert status == 200
    session_id = headers["mcp-session-id"]
    assert asker.post("tools/call", Mcp_Session_Id=session_id)[0] == 200
    asker.post(Mcp_Session_Id=f"{session_id}0")
    asker.post(Authorization=f"Bearer {TOKEN}0")
    asker.server.line(lambda line: line.get("logger") == "longwire.requests")
    told = asker.metrics() + json.dumps(asker.server.lines)
    assert TOKEN not in told
    assert session_id not in told
    assert session_id[:12] not in told
