"""Calls within sessions: the form of an answer, ids, cancelling, resuming, and messages outside of calls."""

from __future__ import annotations

import json

import pytest

from core_bench import EVENTS_FIRST, CoreClient, Running, call, cancel, reply_of, result_of, running
from longwire.settings import WireLimits
from waiting import until


@pytest.mark.parametrize("tool", ["plain", "echo", "waiting"])
async def test_a_quick_answer_is_json_and_leaves_nothing_to_resume(client: CoreClient, tool: str) -> None:
    answer = await client.post(call(1, tool)).over()
    assert (answer.kind, answer.began) == (b"application/json", False)
    assert answer.headers[b"mcp-session-id"].decode() == client.headers["mcp-session-id"]
    assert client.get(last_event_id="1-1").status == 400


async def test_a_client_that_names_events_first_gets_them(client: CoreClient) -> None:
    for tool in ("plain", "waiting"):
        answer = await client.post(call(1, tool), EVENTS_FIRST).over()
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
    await answer.over()
    first, last = answer.events
    assert json.loads(last.data)["result"]["structuredContent"] == {"waited": True}
    assert int(last.id.partition("-")[2]) > int(first.id.partition("-")[2])


async def test_older_clients_get_no_empty_event(served: Running) -> None:
    client = served.client.begin("2025-06-18")
    answer = client.post(call(1, "plain"), EVENTS_FIRST)
    assert [json.loads(event.data)["id"] for event in answer.events] == [1]


@pytest.mark.parametrize("first", [{}, EVENTS_FIRST])
async def test_a_tool_may_send_its_client_away_at_once(served: Running, first: dict[str, str]) -> None:
    client = served.client.begin()
    answer = await client.post(call(1, "sent_away"), first).over()
    (only,) = answer.events
    assert only.data == ""
    again = client.get(last_event_id=only.id)
    await served.bench.started.reaches()
    served.bench.release.set()
    await again.over()
    assert reply_of(again)["id"] == 1


async def test_a_handler_that_is_cancelled_and_goes_on_all_the_same_is_not_answered_for(
    served: Running,
) -> None:
    client = served.client.begin()
    answer = client.post(call(7, "stubborn"))
    await served.bench.started.reaches()
    assert client.post(cancel(7)).status == 202
    await answer.over()
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
    answers = [{"jsonrpc": "2.0", "id": name, "result": {}} for name in ("mine", "s-1")]
    assert [other.post(message).status for message in (cancel("mine"), *answers)] == [202] * 3
    served.bench.release.set()
    await answer.over()
    assert (result_of(answer), served.bench.cancelled.count) == ({"waited": True}, 0)


async def test_cancelling_frees_the_id_and_ends_the_stream(served: Running) -> None:
    client = served.client.begin()
    answer = client.post(call(7, "wait"), EVENTS_FIRST)
    await served.bench.started.reaches()
    assert client.post(cancel("7")).status == 202  # is another
    assert client.post(cancel(7)).status == 202
    await served.bench.cancelled.reaches()
    await answer.over()
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


# ---- resuming, and messages outside of calls ------------------------------------------------------


async def test_a_lost_connection_is_resumed_with_what_is_its_sessions_alone(served: Running) -> None:
    a, b = served.client.begin(), served.client.begin()
    of_a = a.post(call(7, "wait", text="of A"), EVENTS_FIRST)
    of_b = b.post(call(7, "wait", text="of B"), EVENTS_FIRST)
    await served.bench.started.reaches(2)
    of_b.drop()
    assert served.bench.cancelled.count == 0  # the client is gone, its work isn't: it may come back
    served.bench.release.set()
    await of_a.over()
    again = b.get(last_event_id=of_b.last_id)
    assert (again.gone, result_of(again)) == (
        True,
        {"waited": "of B"},
    )  # it ends, as there is no more to come
    assert a.get(last_event_id="99-1").status == 400


@pytest.mark.parametrize("tool", ["wait", "asking"])
async def test_a_client_that_leaves_without_an_id_to_come_back_with_leaves_nothing(
    served: Running, tool: str
) -> None:
    client = served.client.begin(capabilities={"elicitation": {}})
    session = next(iter(served.sessions))
    answer = client.post(call(7, tool))
    answer.drop()
    assert served.timers.fire() == [0.1]
    served.bench.release.set()
    await until(lambda: not session.calls)
    assert served.bench.cancelled.count == 0
    assert (answer.began, session.log.kept, session.pending) == (False, 0, 0)


async def test_messages_outside_of_calls_wait_for_a_get(client: CoreClient) -> None:
    answer = await client.post(call(1, "logging")).over()
    assert len(answer.messages) == 2  # the one that belongs to the call, and the reply
    get = client.get()
    assert [json.loads(text)["method"] for text in get.messages] == ["notifications/message"]
    second = client.get()
    assert (second.status, second.messages, get.gone) == (200, [], False)


async def test_a_get_needs_a_client_that_takes_events(client: CoreClient) -> None:
    assert client.get(accept="application/json").status == 406
    assert client.get(accept="text/event-stream").status == 200
    assert client.get(mcp_session_id=None).status == 400
    assert client.get(mcp_session_id="0" * 32).status == 404


async def test_open_streams_are_shown_signs_of_life() -> None:
    async with running(WireLimits(heartbeat=0.001)) as served:
        client = served.client.begin()
        get, post = client.get(), client.post(call(1, "wait"), EVENTS_FIRST)
        await until(lambda: get.text.count(b": ping\n\n") > 1 and post.text.count(b": ping\n\n") > 1)
        get.drop()
        before = len(get.text)
        served.bench.release.set()
        await post.over()
        assert len(get.text) == before


async def test_questions_cannot_be_asked_without_a_session(served: Running) -> None:
    answer = await served.client.stateless(call(1, "asking")).over()
    assert "back-channel" in reply_of(answer)["error"]["message"]
