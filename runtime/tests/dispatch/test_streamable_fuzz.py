"""Whatever is sent in whatever order: every request is answered once, and the core goes on."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core_bench import BOB, EVENTS_FIRST, CoreClient, Running, call, modern, running
from fake_responder import FakeResponder
from longwire.settings import WireLimits
from raw_http import ACCEPT, HELLO

_IDS = st.sampled_from([0, 1, "1", 7, "a", None, True, 1.5, -3])
_CALLED = "plain echo wait waiting steps number failing refusing logging asking sent_away"
_TOOLS = st.sampled_from([*_CALLED.split(), 7])
_REQUESTED = "tools/call tools/list ping initialize resources/read no/such"
_NOTIFIED = "notifications/initialized notifications/cancelled notifications/progress"
_METHODS = st.sampled_from([*_REQUESTED.split(), *_NOTIFIED.split(), 7])
_META = st.sampled_from([{}, {"progressToken": 1}, modern(call(1))[0]["params"]["_meta"], 7])
_PARAMS = st.one_of(
    st.fixed_dictionaries({}, optional={"name": _TOOLS, "arguments": st.just({}), "_meta": _META}),
    st.just(HELLO["params"]),
    st.just({"requestId": 1}),
    st.just({"uri": "test://a"}),
    st.just([1]),
    st.none(),
)
_MESSAGES = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0")},
    optional={"id": _IDS, "method": _METHODS, "params": _PARAMS, "result": st.just({}), "error": st.just({})},
)
_BODIES = st.one_of(_MESSAGES.map(lambda message: json.dumps(message).encode()), st.binary(max_size=20))
_HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "accept": st.sampled_from([None, "*/*", "application/json", EVENTS_FIRST["Accept"], "é"]),
        "content-type": st.sampled_from([None, "text/plain", "application/json; charset=utf-8"]),
        "mcp-session-id": st.sampled_from([None, "", "0" * 32, "é"]),
        "mcp-protocol-version": st.sampled_from([None, "", "2025-06-18", "2026-07-28", "2027-01-01"]),
        "mcp-method": st.sampled_from(["tools/call", "ping", ""]),
        "mcp-name": st.sampled_from(["plain", "wait", "=?base64?!?=", ""]),
        "last-event-id": st.sampled_from(["1-1", "2-5", "", "é", "9" * 50]),
    },
)
_REQUESTS = st.tuples(
    st.sampled_from(["POST"] * 6 + ["GET", "GET", "DELETE", "PUT", "OPTIONS", "HEAD"]),
    _BODIES,
    _HEADERS,
    st.sampled_from([()] * 8 + [("mcp-name",), ("origin", "accept"), ("x",)]),
    st.sampled_from(["none", "session", "session", "session", "thief"]),
    st.sampled_from(["stays", "stays", "leaves", "stalls"]),
)
_EXAMPLES = int(os.environ.get("LONGWIRE_FUZZ_CASES", "60"))


@settings(max_examples=_EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(_REQUESTS, max_size=12), st.booleans())
def test_every_request_is_answered_once(requests: list[Any], bare: bool) -> None:
    async def main() -> None:
        async with running(WireLimits(max_sessions=3, safe_idle=0, max_pending=8), bare=bare) as served:
            session = served.client.begin(capabilities={"elicitation": {}})
            thief = CoreClient(served.core, BOB)
            thief.headers = dict(session.headers)
            clients = {"none": served.client, "session": session, "thief": thief}
            answers: list[FakeResponder] = []
            for method, body, headers, repeated, who, what in requests:
                answer = FakeResponder(reading=what != "stalls")
                clients[who].send(method, body, headers, repeated=repeated, responder=answer)
                if what == "leaves":
                    answer.drop()
                answers.append(answer)
                served.timers.fire()
            served.bench.release.set()
            served.client.begin()  # it goes on
        # The end of the server ends what was still open.
        for answer in answers:
            await answer.over()
            assert answer.status is not None or answer.dropped
            assert answer.status is None or answer.status < 500 or answer.status == 503

    asyncio.run(main())


async def test_the_corpus_has_requests_that_are_right(served: Running) -> None:
    """Or the test above would hold for a core that refuses everything."""
    assert served.client.begin().post(call(1, "plain"), {"accept": "*/*"}).status == 200
    assert served.client.post(HELLO, ACCEPT).status == 200
