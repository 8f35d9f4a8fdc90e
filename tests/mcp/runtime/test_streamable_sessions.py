"""Calls within sessions: the form of an answer, ids, cancelling, resuming, and what belongs to whom."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acuity.mcp.settings import Settings, WireLimits
from core_bench import BOB, CoreClient, call, modern, reply_of, result_of, run, running, until
from raw_http import HELLO

EVENTS_FIRST = {"Accept": "text/event-stream, application/json"}


def cancel(number: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}


# ---- the form of an answer --------------------------------------------------------------------


@pytest.mark.parametrize("tool", ["plain", "echo", "waiting"])
def test_a_quick_answer_is_json_and_leaves_nothing_to_resume(tool: str) -> None:
    async def main() -> None:
        async with running() as served:
            client = served.client.begin()
            answer = client.post(call(1, tool))
            await until(lambda: answer.gone)
            assert (answer.kind, answer.began) == (b"application/json", False)
            assert answer.headers[b"mcp-session-id"].decode() == client.headers["mcp-session-id"]
            assert client.get(last_event_id="1-1").status == 400

    run(main)


def test_a_client_that_names_events_first_gets_them() -> None:
    async def main() -> None:
        async with running() as served:
            client = served.client.begin()
            for tool in ("plain", "waiting"):
                answer = client.post(call(1, tool), EVENTS_FIRST)
                await until(lambda answer=answer: answer.gone)  # type: ignore[misc]
                first, last = answer.events
                assert (first.data, first.retry) == ("", 1000)
                assert json.loads(last.data)["id"] == 1

    run(main)


def test_what_takes_longer_is_a_stream_with_an_id_to_come_back_with() -> None:
    async def main() -> None:
        async with running() as served:
            client = served.client.begin()
            answer = client.post(call(1, "wait"))
            await served.bench.started.reaches()
            assert answer.status is None  # not decided yet
            assert served.timers.fire() == [0.1]
            assert [(event.data, event.retry) for event in answer.events] == [("", 1000)]
            served.bench.release.set()
            await until(lambda: answer.gone)
            first, last = answer.events
            assert json.loads(last.data)["result"]["structuredContent"] == {"waited": True}
            assert int(last.id.partition("-")[2]) > int(first.id.partition("-")[2])

    run(main)


def test_older_clients_get_no_empty_event() -> None:
    async def main() -> None:
        async with running() as served:
            client = served.client.begin("2025-06-18")
            answer = client.post(call(1, "plain"), EVENTS_FIRST)
            assert [json.loads(event.data)["id"] for event in answer.events] == [1]

    run(main)


def test_progress_comes_before_the_answer() -> None:
    async def main() -> None:
        async with running() as served:
            client = served.client.begin()
            request = call(1, "steps")
            request["params"]["_meta"] = {"progressToken": "t"}
            answer = client.post(request)
            await until(lambda: answer.gone)
            messages = [json.loads(text) for text in answer.messages]
            assert [m.get("method") for m in messages] == ["notifications/progress"] * 3 + [None]
            assert messages[0]["params"] == {
                "progressToken": "t",
                "progress": 1,
                "total": 3,
                "message": "step 1",
            }

    run(main)


@pytest.mark.parametrize("first", [{}, EVENTS_FIRST])
def test_a_tool_may_send_its_client_away_at_once(first: dict[str, str]) -> None:
    async def main() -> None:
        async with running() as served:
            client = served.client.begin()
            answer = client.post(call(1, "sent_away"), first)
            await until(lambda: answer.gone)
            (only,) = answer.events
            assert only.data == ""
            again = client.get(last_event_id=only.id)
            await served.bench.started.reaches()
            served.bench.release.set()
            await until(lambda: again.gone)
            assert reply_of(again)["id"] == 1

    run(main)


def test_a_handler_that_is_cancelled_and_goes_on_all_the_same_is_not_answered_for() -> None:
    async def main() -> None:
        async with running() as served:
            client = served.client.begin()
            answer = client.post(call(7, "stubborn"))
            await served.bench.started.reaches()
            assert client.post(cancel(7)).status == 202
            await until(lambda: answer.gone)
            assert reply_of(answer)["error"]["code"] == -32800

    run(main)


# ---- ids and cancelling -----------------------------------------------------------------------


def test_an_id_in_flight_is_refused_within_a_session_only() -> None:
    async def main() -> None:
        async with running() as served:
            client, other = served.client.begin(), served.client.begin()
            first = client.post(call(7, "wait"))
            await served.bench.started.reaches()
            refused = client.post(call(7, "plain"))
            assert refused.status == 400
            assert reply_of(refused)["id"] is None
            assert "still in flight" in reply_of(refused)["error"]["message"]
            assert reply_of(client.post(call("7", "plain")))["id"] == "7"
            second = other.post(call(7, "wait"))
            await served.bench.started.reaches(2)
            served.bench.release.set()
            await until(lambda: first.gone and second.gone)
            assert result_of(first) == result_of(second) == {"waited": True}
            assert client.post(call(7, "plain")).status == 200  # free again

    run(main)


def test_cancelling_frees_the_id_and_ends_the_stream() -> None:
    async def main() -> None:
        async with running() as served:
            client = served.client.begin()
            answer = client.post(call(7, "wait"), EVENTS_FIRST)
            await served.bench.started.reaches()
            assert client.post(cancel("7")).status == 202  # is another
            assert client.post(cancel(7)).status == 202
            await served.bench.cancelled.reaches()
            await until(lambda: answer.gone)
            assert answer.messages == []
            again = client.get(last_event_id=answer.last_id)
            assert (again.status, again.messages, again.gone) == (200, [], True)
            assert client.post(call(7, "plain")).status == 200

    run(main)


def test_cancelling_what_never_was_is_nothing() -> None:
    async def main() -> None:
        async with running() as served:
            client = served.client.begin()
            odd = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [1]}}
            for message in (
                cancel(8),
                cancel(True),
                odd,
                {"jsonrpc": "2.0", "method": "notifications/cancelled"},
            ):
                assert client.post(message).status == 202
            assert client.post(call(7, "plain")).status == 200

    run(main)


def test_an_id_that_is_used_again_is_another_stream() -> None:
    async def main() -> None:
        async with running() as served:
            client = served.client.begin()
            ids = []
            for text in ("first", "second"):
                answer = client.post(call(7, "plain", text=text), EVENTS_FIRST)
                ids.append(answer.events[0].id)
            found = [result_of(client.get(last_event_id=event_id))["text"] for event_id in ids]
            assert found == ["first", "second"]

    run(main)


# ---- resuming ---------------------------------------------------------------------------------


def test_a_lost_connection_is_resumed_and_nothing_is_lost() -> None:
    async def main() -> None:
        async with running() as served:
            client = served.client.begin()
            answer = client.post(call(7, "wait"), EVENTS_FIRST)
            await served.bench.started.reaches()
            answer.drop()
            assert served.bench.cancelled.count == 0  # the client is gone, its work isn't: it may come back
            served.bench.release.set()
            await served.limits.idle()
            again = client.get(last_event_id=answer.last_id)
            assert (again.gone, reply_of(again)["id"]) == (True, 7)  # it ends, as there is no more to come

    run(main)


def test_one_session_is_never_sent_what_another_was() -> None:
    async def main() -> None:
        async with running() as served:
            a, b = served.client.begin(), served.client.begin()
            of_a = a.post(call(7, "wait", text="of A"), EVENTS_FIRST)
            of_b = b.post(call(7, "wait", text="of B"), EVENTS_FIRST)
            await served.bench.started.reaches(2)
            of_b.drop()
            served.bench.release.set()
            await until(lambda: of_a.gone)
            again = b.get(last_event_id=of_b.last_id)
            assert result_of(again) == {"waited": "of B"}
            assert a.get(last_event_id="99-1").status == 400

    run(main)


@pytest.mark.parametrize("event_id", ["1-1-1", "9999-1", "x", "-1-0", "1." + "9" * 5000, "0-0"])
def test_event_ids_that_never_were(event_id: str) -> None:
    async def main() -> None:
        async with running() as served:
            client = served.client.begin()
            answer = client.get(last_event_id=event_id)
            assert (answer.status, reply_of(answer)["error"]["code"]) == (400, -32600)
            assert len(answer.body) < 300
            assert client.post(call(1, "plain")).status == 200

    run(main)


@pytest.mark.parametrize("tool", ["wait", "asking"])
def test_a_client_that_leaves_without_an_id_to_come_back_with_leaves_nothing(tool: str) -> None:
    async def main() -> None:
        async with running() as served:
            client = served.client.begin(capabilities={"elicitation": {}})
            session = next(iter(served.sessions))
            answer = client.post(call(7, tool))
            answer.drop()
            assert served.timers.fire() == [0.1]
            served.bench.release.set()
            await until(lambda: not session.calls)
            assert served.bench.cancelled.count == 0
            assert (answer.began, session.log.kept, session.pending) == (False, 0, 0)

    run(main)


def test_messages_outside_of_calls_wait_for_a_get() -> None:
    async def main() -> None:
        async with running() as served:
            client = served.client.begin()
            answer = client.post(call(1, "logging"))
            await until(lambda: answer.gone)
            assert len(answer.messages) == 2  # the one that belongs to the call, and the reply
            get = client.get()
            assert [json.loads(text)["method"] for text in get.messages] == ["notifications/message"]
            second = client.get()
            assert (second.status, second.messages, get.gone) == (200, [], False)

    run(main)


def test_a_get_needs_a_client_that_takes_events() -> None:
    async def main() -> None:
        async with running() as served:
            client = served.client.begin()
            assert client.get(accept="application/json").status == 406
            assert client.get(accept="text/event-stream").status == 200
            assert client.get(mcp_session_id=None).status == 400
            assert client.get(mcp_session_id="0" * 32).status == 404

    run(main)


def test_open_streams_are_shown_signs_of_life() -> None:
    async def main() -> None:
        async with running(WireLimits(heartbeat=0.001)) as served:
            client = served.client.begin()
            get, post = client.get(), client.post(call(1, "wait"), EVENTS_FIRST)
            await until(lambda: get.text.count(b": ping\n\n") > 1 and post.text.count(b": ping\n\n") > 1)
            get.drop()
            before = len(get.text)
            served.bench.release.set()
            await until(lambda: post.gone)
            assert len(get.text) == before

    run(main)


# ---- the client asks back ---------------------------------------------------------------------


def test_a_question_goes_to_the_stream_of_its_call_and_its_answer_comes_by_post() -> None:
    async def main() -> None:
        async with running() as served:
            client = served.client.begin(capabilities={"elicitation": {}})
            answer = client.post(call(1, "asking"))
            await until(lambda: answer.messages)
            question = json.loads(answer.messages[0])
            assert (question["method"], question["params"]["message"]) == ("elicitation/create", "who?")
            reply = {"action": "accept", "content": {"name": "me"}}
            posted = client.post({"jsonrpc": "2.0", "id": question["id"], "result": reply})
            assert posted.status == 202
            await until(lambda: answer.gone)
            assert result_of(answer) == {"action": "accept", "name": "me"}

    run(main)


def test_questions_cannot_be_asked_without_a_session() -> None:
    async def main() -> None:
        async with running() as served:
            answer = served.client.stateless(call(1, "asking"))
            await until(lambda: answer.gone)
            assert "back-channel" in reply_of(answer)["error"]["message"]

    run(main)


def test_answers_to_questions_that_were_not_asked_are_ignored() -> None:
    async def main() -> None:
        async with running() as served:
            client = served.client.begin()
            for message in (
                {"jsonrpc": "2.0", "id": "s-1", "result": {}},
                {"jsonrpc": "2.0", "id": 5, "error": {"code": 1, "message": "x"}},
            ):
                assert client.post(message).status == 202
            assert client.post(call(1, "plain")).status == 200

    run(main)


# ---- the life of a session --------------------------------------------------------------------


def test_a_session_is_only_for_who_began_it() -> None:
    async def main() -> None:
        async with running() as served:
            client = served.client.begin()
            thief = CoreClient(served.core, BOB)
            thief.headers = dict(client.headers)
            for answer in (thief.post(call(1, "plain")), thief.get(), thief.send("DELETE")):
                assert (answer.status, reply_of(answer)["error"]["message"]) == (404, "Session not found")
            assert client.post(call(1, "plain")).status == 200

    run(main)


def test_the_header_names_the_version_that_was_agreed_on() -> None:
    async def main() -> None:
        async with running() as served:
            client = served.client.begin("2025-06-18")
            wrong = {"MCP-Protocol-Version": "2025-11-25"}
            for answer in (client.post(call(1), wrong), client.send("GET", headers=wrong)):
                assert answer.status == 400
                sentence = reply_of(answer)["error"]["message"]
                assert "2025-06-18" in sentence
                assert "2025-11-25" in sentence
            assert client.post(call(1, "plain"), {"MCP-Protocol-Version": None}).status == 200

    run(main)


def test_a_session_begins_only_once() -> None:
    async def main() -> None:
        async with running() as served:
            client = served.client.begin()
            assert client.post(HELLO).status == 400
            assert client.post(HELLO, {"Mcp-Session-Id": "0" * 32}).status == 404
            assert len(served.sessions) == 1

    run(main)


@pytest.mark.parametrize(
    "message",
    [
        call(1),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
    ],
)
def test_nothing_but_a_handshake_begins_one(message: dict[str, Any]) -> None:
    async def main() -> None:
        async with running() as served:
            answer = served.client.post(message)
            assert (answer.status, answer.headers) == (400, {})
            assert reply_of(answer)["error"]["message"] == "Bad Request: Missing session ID"
            assert len(served.sessions) == served.counters.sessions_created == 0

    run(main)


def test_ending_a_session_stops_its_work() -> None:
    async def main() -> None:
        async with running() as served:
            client = served.client.begin()
            streaming, waiting = client.post(call(7, "wait"), EVENTS_FIRST), client.post(call(8, "wait"))
            get = client.get()
            await served.bench.started.reaches(2)
            assert client.send("DELETE").status == 200
            await served.bench.cancelled.reaches(2)
            await until(lambda: waiting.gone)
            assert (streaming.gone, get.gone, waiting.status) == (True, True, 404)
            assert "the session ended before the request did" in waiting.body.decode()
            assert client.send("DELETE").status == client.post(call(9)).status == 404

    run(main)


def test_a_session_that_nobody_uses_ends_with_its_work() -> None:
    async def main() -> None:
        async with running(WireLimits(idle_timeout=10)) as served:
            client = served.client.begin()
            answer = client.post(call(7, "wait"), EVENTS_FIRST)
            await served.bench.started.reaches()
            served.now += 9
            answer.drop()
            served.now += 9
            served.sessions.sweep()
            assert len(served.sessions) == 1
            served.now += 1
            served.sessions.sweep()
            assert len(served.sessions) == 0
            await served.bench.cancelled.reaches()
            assert client.post(call(8)).status == 404

    run(main)


def test_a_full_table_makes_room_by_ending_an_idle_session() -> None:
    async def main() -> None:
        async with running(WireLimits(max_sessions=2)) as served:
            idle, busy = served.client.begin(), served.client.begin()
            first = busy.post(call(1, "wait"), EVENTS_FIRST)
            new = served.client.begin()
            assert idle.post(call(1)).status == 404
            second = new.post(call(1, "wait"), EVENTS_FIRST)
            full = served.client.post(HELLO)
            assert (full.status, full.headers[b"retry-after"]) == (503, b"5")
            assert (reply_of(full)["id"], reply_of(full)["error"]["code"]) == (0, -32010)
            served.bench.release.set()
            await until(lambda: first.gone and second.gone)

    run(main)


def test_what_handlers_leave_for_the_end_of_a_session_is_done() -> None:
    async def main() -> None:
        async with running() as served:
            done: list[str] = []

            async def leaving(context: Any, call_next: Any) -> Any:
                connection = context.session  # the SDK's own way to a connection is private
                done.append(connection.protocol_version)
                return await call_next(context)

            served.server.middleware.append(leaving)
            client = served.client.begin()
            session = next(iter(served.sessions))
            client.post(call(1, "plain"))
            session.connection.exit_stack.callback(done.append, "cleaned up")
            client.send("DELETE")
            await until(lambda: "cleaned up" in done)
            assert session.connection is None

    run(main)


# ---- limits -----------------------------------------------------------------------------------


def test_a_client_over_its_limit_is_told_when_to_come_back() -> None:
    async def main() -> None:
        async with running(settings=Settings(calls_each=1)) as served:
            client = served.client.begin()
            first = client.post(call(1, "wait"))
            await served.bench.started.reaches()
            refused = [
                client.post(call(2, "plain")),
                client.post(call(2, "plain"), EVENTS_FIRST),  # events have no status to say it by
                served.client.stateless(call(2, "plain")),
            ]
            for answer in refused:
                assert (answer.status, answer.headers[b"retry-after"]) == (429, b"1")
                assert (reply_of(answer)["id"], reply_of(answer)["error"]["code"]) == (2, -32010)
            served.limits.stop()
            for answer in (client.post(call(3, "plain")), served.client.stateless(call(3, "plain"))):
                assert (answer.status, answer.headers[b"retry-after"]) == (503, b"1")
            served.bench.release.set()
            await until(lambda: first.gone)

    run(main)


# ---- requests that are wrong in some way ------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["mcp-session-id", "mcp-protocol-version", "mcp-name", "mcp-param-a", "origin", "host", "authorization",
     "content-type", "last-event-id"],
)  # fmt: skip
def test_headers_that_may_come_once_only(name: str) -> None:
    async def main() -> None:
        async with running() as served:
            client = served.client.begin()
            for method in ("POST", "GET", "DELETE"):
                answer = client.send(method, json.dumps(call(1)).encode(), repeated=(name,))
                assert answer.status == 400
                assert reply_of(answer)["error"]["message"] == f"{name} header appears more than once"
            assert (
                client.send("POST", json.dumps(call(1, "plain")).encode(), repeated=("accept",)).status == 200
            )

    run(main)


def test_a_doubled_routing_header_is_refused_with_the_id_of_the_request() -> None:
    async def main() -> None:
        async with running() as served:
            body, headers = modern(call(5))
            answer = served.client.post(body, headers, repeated=("mcp-name",))
            assert (answer.status, reply_of(answer)["id"]) == (400, 5)
            assert reply_of(answer)["error"]["code"] == -32020
            broken = served.client.post(b"{", headers, repeated=("mcp-name",))
            assert reply_of(broken)["error"]["code"] == -32700

    run(main)


BAD_BODIES: list[tuple[bytes, int]] = [
    (b"{", -32700),
    (b"", -32700),
    (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', -32700),
    (b"[" * 5000 + b"]" * 5000, -32600),
    (b" \n" * 100 + b"[", -32600),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}', -32700),
    (json.dumps([call(1)]).encode(), -32600),
    (b"[]", -32600),
    (b'"text"', -32600),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
    (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
    (b'{"id":1,"method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600),
    (b'{"jsonrpc":"2.0","id":1}', -32600),
]


@pytest.mark.parametrize(("body", "code"), BAD_BODIES)
def test_bad_bodies_are_answered_in_both_eras(body: bytes, code: int) -> None:
    async def main() -> None:
        async with running() as served:
            client = served.client.begin()
            for answer in (client.post(body), served.client.post(body, modern(call(1))[1])):
                assert (answer.status, reply_of(answer)["error"]["code"]) == (400, code)
            assert client.post(call(1, "plain")).status == 200

    run(main)


def test_an_unknown_version_is_refused_with_those_that_are_known() -> None:
    async def main() -> None:
        async with running() as served:
            for message in (call(1), {"jsonrpc": "2.0", "method": "notifications/x"}):
                answer = served.client.post(message, {"MCP-Protocol-Version": "2027-01-01"})
                assert answer.status == 400
                error = reply_of(answer)["error"]
                assert (error["code"], error["data"]["requested"]) == (-32022, "2027-01-01")
                assert error["data"]["supported"] == ["2026-07-28"]  # as server/discover lists them
            agreed = served.client.begin().post(call(1), {"MCP-Protocol-Version": "2027-01-01"})
            assert "agreed on 2025-11-25" in reply_of(agreed)["error"]["message"]

    run(main)


# ---- bounds -----------------------------------------------------------------------------------


def _listed(params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": params}


EXCESSES: dict[str, tuple[dict[str, Any], int | None]] = {
    "256 are the most": ({**call(3), "method": "m" * 257}, 3),
    "1024 characters": (call("i" * 1025), None),
    "64 bits": (call(1 << 63), None),
    "'name' has 1025": (call(3, "n" * 1025), 3),
    "'cursor' has 2000": (_listed({"cursor": "c" * 2000}), 3),
    "'uri' has 9000": ({**_listed({"uri": "u" * 9000}), "method": "resources/read"}, 3),
    "1001 arguments": (call(3, "plain", **{f"a{n}": 1 for n in range(1001)}), 3),
    "10001 members": (call(3, "plain", text=[0] * 10_001), 3),
    "100000 values": (call(3, "plain", text=[[0] * 10_000] * 11), 3),
}


@pytest.mark.parametrize(("words", "message", "number"), [(name, *case) for name, case in EXCESSES.items()])
def test_messages_with_too_much_are_refused(words: str, message: dict[str, Any], number: int | None) -> None:
    async def main() -> None:
        async with running() as served:
            answer = served.client.begin().post(message)
            assert (answer.status, reply_of(answer)["id"]) == (400, number)
            assert words in reply_of(answer)["error"]["message"]
            assert len(answer.body) < 300

    run(main)


def test_a_handshake_that_a_session_would_keep_is_bounded() -> None:
    async def main() -> None:
        async with running() as served:
            hello = {**HELLO, "params": {**HELLO["params"], "more": "x" * 17_000}}
            answer = served.client.post(hello)
            assert (answer.status, reply_of(answer)["error"]["code"]) == (400, -32602)
            assert len(served.sessions) == 0

    run(main)


def test_a_session_has_sixteen_event_streams_at_most() -> None:
    async def main() -> None:
        async with running() as served:
            client = served.client.begin()
            streams = [client.get() for _ in range(18)]
            assert [stream.gone for stream in streams] == [True, True] + [False] * 16

    run(main)


def test_a_principal_has_a_number_of_event_streams() -> None:
    async def main() -> None:
        async with running(limits=WireLimits(max_connections_each=2)) as served:
            clients = [served.client.begin() for _ in range(3)]
            first = [client.get() for client in clients]
            assert [stream.status for stream in first] == [200, 200, 429]
            assert first[2].headers[b"retry-after"] == b"5"
            assert clients[0].get().status == 200  # in the place of its own
            assert first[0].gone
            first[1].drop()
            assert clients[2].get().status == 200

    run(main)


@pytest.mark.parametrize(
    "method", ["tools/list", "prompts/list", "resources/list", "resources/templates/list"]
)
def test_a_cursor_that_was_never_handed_out_is_refused(method: str) -> None:
    async def main() -> None:
        async with running() as served:
            client = served.client.begin()
            answer = client.post({**_listed({"cursor": "x"}), "method": method})
            await until(lambda: answer.gone)
            assert reply_of(answer)["error"]["code"] == -32602
            assert "unknown cursor 'x'" in reply_of(answer)["error"]["message"]

    run(main)


def test_an_unknown_resource_has_the_code_of_its_version() -> None:
    async def main() -> None:
        async with running() as served:
            message = {**_listed({"uri": "test://nothing"}), "method": "resources/read"}
            body, headers = modern(message)
            for answer, code in (
                (served.client.begin().post(message), -32002),
                (served.client.post(body, {**headers, "Mcp-Name": "test://nothing"}), -32602),
            ):
                await until(lambda answer=answer: answer.gone)  # type: ignore[misc]
                assert reply_of(answer)["error"]["code"] == code

    run(main)


def test_a_request_of_the_other_era_without_its_header_is_told_of_it() -> None:
    async def main() -> None:
        async with running() as served:
            body, _ = modern(call(4))
            answer = served.client.post(body)
            assert (answer.status, reply_of(answer)["id"]) == (400, 4)
            assert "no mcp-protocol-version header" in reply_of(answer)["error"]["message"]

    run(main)
