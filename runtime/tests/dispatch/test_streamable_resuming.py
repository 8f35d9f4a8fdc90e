"""Calls within sessions: resuming, messages outside of calls, and questions to the client."""

from __future__ import annotations

import json

import pytest

from core_bench import EVENTS_FIRST, CoreClient, Running, call, reply_of, result_of, running
from longwire.settings import WireLimits
from waiting import until


async def test_a_lost_connection_is_resumed_and_nothing_is_lost(served: Running) -> None:
    client = served.client.begin()
    answer = client.post(call(7, "wait"), EVENTS_FIRST)
    await served.bench.started.reaches()
    answer.drop()
    assert served.bench.cancelled.count == 0  # the client is gone, its work isn't: it may come back
    served.bench.release.set()
    await served.limits.idle()
    again = client.get(last_event_id=answer.last_id)
    assert (again.gone, reply_of(again)["id"]) == (True, 7)  # it ends, as there is no more to come


async def test_one_session_is_never_sent_what_another_was(served: Running) -> None:
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
    answer = client.post(call(1, "logging"))
    await until(lambda: answer.gone)
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
        await until(lambda: post.gone)
        assert len(get.text) == before


async def test_questions_cannot_be_asked_without_a_session(served: Running) -> None:
    answer = served.client.stateless(call(1, "asking"))
    await until(lambda: answer.gone)
    assert "back-channel" in reply_of(answer)["error"]["message"]
