"""Calls within sessions: the form of an answer, ids and cancelling."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core_bench import EVENTS_FIRST, CoreClient, Running, call, reply_of, result_of
from waiting import until


def cancel(number: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}


@pytest.mark.parametrize("tool", ["plain", "echo", "waiting"])
async def test_a_quick_answer_is_json_and_leaves_nothing_to_resume(client: CoreClient, tool: str) -> None:
    answer = client.post(call(1, tool))
    await until(lambda: answer.gone)
    assert (answer.kind, answer.began) == (b"application/json", False)
    assert answer.headers[b"mcp-session-id"].decode() == client.headers["mcp-session-id"]
    assert client.get(last_event_id="1-1").status == 400


async def test_a_client_that_names_events_first_gets_them(client: CoreClient) -> None:
    for tool in ("plain", "waiting"):
        answer = client.post(call(1, tool), EVENTS_FIRST)
        await until(lambda answer=answer: answer.gone)  # type: ignore[misc]
        first, last = answer.events
        assert (first.data, first.retry) == ("", 1000)
        assert json.loads(last.data)["id"] == 1


async def test_what_takes_longer_is_a_stream_with_an_id_to_come_back_with(served: Running) -> None:
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


async def test_older_clients_get_no_empty_event(served: Running) -> None:
    client = served.client.begin("2025-06-18")
    answer = client.post(call(1, "plain"), EVENTS_FIRST)
    assert [json.loads(event.data)["id"] for event in answer.events] == [1]


async def test_progress_comes_before_the_answer(client: CoreClient) -> None:
    request = call(1, "steps")
    request["params"]["_meta"] = {"progressToken": "t"}
    answer = client.post(request)
    await until(lambda: answer.gone)
    messages = [json.loads(text) for text in answer.messages]
    assert [m.get("method") for m in messages] == ["notifications/progress"] * 3 + [None]
    assert messages[0]["params"] == {"progressToken": "t", "progress": 1, "total": 3, "message": "step 1"}


@pytest.mark.parametrize("first", [{}, EVENTS_FIRST])
async def test_a_tool_may_send_its_client_away_at_once(served: Running, first: dict[str, str]) -> None:
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


async def test_a_handler_that_is_cancelled_and_goes_on_all_the_same_is_not_answered_for(
    served: Running,
) -> None:
    client = served.client.begin()
    answer = client.post(call(7, "stubborn"))
    await served.bench.started.reaches()
    assert client.post(cancel(7)).status == 202
    await until(lambda: answer.gone)
    assert reply_of(answer)["error"]["code"] == -32800


async def test_an_id_in_flight_is_refused_within_a_session_only(served: Running) -> None:
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


async def test_a_call_cannot_be_cancelled_or_answered_from_another_session(served: Running) -> None:
    client, other = served.client.begin(), served.client.begin()
    answer = client.post(call("mine", "wait"))
    await served.bench.started.reaches()
    for message in (
        cancel("mine"),
        *({"jsonrpc": "2.0", "id": name, "result": {}} for name in ("mine", "s-1")),
    ):
        assert other.post(message).status == 202
    served.bench.release.set()
    await until(lambda: answer.gone)
    assert (result_of(answer), served.bench.cancelled.count) == ({"waited": True}, 0)


async def test_cancelling_frees_the_id_and_ends_the_stream(served: Running) -> None:
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


async def test_an_id_that_is_used_again_is_another_stream(client: CoreClient) -> None:
    ids = []
    for text in ("first", "second"):
        answer = client.post(call(7, "plain", text=text), EVENTS_FIRST)
        ids.append(answer.events[0].id)
    found = [result_of(client.get(last_event_id=event_id))["text"] for event_id in ids]
    assert found == ["first", "second"]
