"""What runs in place and what gets a task, and that a handler notices no difference."""

from __future__ import annotations

import asyncio
import json
from contextvars import ContextVar, copy_context
from typing import Any

import pytest

from core_bench import ALICE, CoreClient, Running, call, cancel, reply_of, result_of
from longwire.dispatch.dispatcher import TurnsEnd
from longwire.principals.principal import PRINCIPAL
from waiting import until

WORD: ContextVar[str] = ContextVar("word", default="")


def _asked(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


@pytest.mark.parametrize(
    "message",
    [
        *(call(1, tool) for tool in ("plain", "failing", "refusing")),
        *map(_asked, ("ping", "tools/list", "prompts/list", "resources/templates/list", "no/such")),
    ],
)
async def test_what_ends_at_once_needs_no_task(client: CoreClient, message: dict[str, Any]) -> None:
    before = asyncio.all_tasks()
    assert client.post(message).gone
    assert asyncio.all_tasks() == before


@pytest.mark.parametrize("message", [call(1, "echo"), _asked("resources/read", uri="test://a")])
async def test_what_may_wait_gets_one_task(client: CoreClient, message: dict[str, Any]) -> None:
    before = len(asyncio.all_tasks())
    answer = client.post(message)
    assert (answer.gone, len(asyncio.all_tasks())) == (False, before + 1)
    await answer.over()
    assert "result" in reply_of(answer)


async def test_a_call_that_waits_after_all_goes_on_in_a_task_where_it_was(served: Running) -> None:
    admitted, seen = asyncio.Event(), list[Any]()

    async def pacing(context: Any, call_next: Any) -> Any:
        WORD.set("mine")
        await admitted.wait()
        seen.append((WORD.get(), PRINCIPAL.get(), asyncio.current_task() is not None))
        return await call_next(context)

    admitted.set()
    session = served.behind(pacing)  # its handshake waits too
    admitted.clear()
    answer = session.post(call(1, "plain", text="a"))
    assert not answer.gone
    admitted.set()
    await answer.over()
    assert result_of(answer)["text"] == "a"
    assert seen[-1] == ("mine", ALICE, True)
    assert WORD.get() == ""  # nor does a call leave anything to the next


async def test_a_call_that_waits_can_be_cancelled_before_its_task_has_begun(served: Running) -> None:
    ended: list[str] = []

    async def pacing(context: Any, call_next: Any) -> Any:
        try:
            if context.method == "tools/call":
                await asyncio.Event().wait()
            return await call_next(context)
        finally:
            ended.append(context.method)

    client = served.behind(pacing)
    for tool in ("plain", "echo"):
        answer = client.post(call(1, tool))
        client.post(cancel(1))
        await answer.over()
        assert reply_of(answer)["error"]["code"] == -32800
    assert ended.count("tools/call") == 1  # the other never began


async def test_a_call_in_place_that_is_cancelled_is_an_answer_and_not_an_exception(served: Running) -> None:
    async def cancelling(context: Any, call_next: Any) -> Any:
        if context.method == "tools/call":
            raise asyncio.CancelledError
        return await call_next(context)

    client = served.behind(cancelling)
    assert reply_of(client.post(call(1, "plain")))["error"]["message"] == "Request cancelled"
    assert served.client.stateless(call(1, "plain")).gone
    assert client.post(_asked("ping")).status == 200


async def test_errors_that_nobody_foresaw_are_for_the_log_alone(
    client: CoreClient, caplog: pytest.LogCaptureFixture
) -> None:
    """The SDK would tell the client of a session what the exception says."""
    answer = await client.post(_asked("resources/read", uri="test://broken")).over()
    assert (answer.status, reply_of(answer)["error"]["code"]) == (200, -32603)
    assert b"secret" not in answer.body
    assert "a secret" in caplog.text


async def test_a_result_that_json_cannot_hold_is_an_error_and_not_a_hang(served: Running) -> None:
    async def answering(context: Any, call_next: Any) -> Any:
        return {"what": object()} if context.method == "ping" else await call_next(context)

    client = served.behind(answering)
    assert reply_of(client.post(_asked("ping")))["error"]["code"] == -32603
    assert json.loads(client.post(call(1, "plain")).body)["id"] == 1


async def test_notifications_go_through_the_middleware_and_fail_alone(served: Running) -> None:
    seen: list[str] = []

    async def watching(context: Any, call_next: Any) -> Any:
        if context.request_id is None:
            seen.append(context.method)
            raise ZeroDivisionError
        return await call_next(context)

    client = served.behind(watching)
    assert client.post({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}).status == 202
    assert seen == ["notifications/initialized", "notifications/roots/list_changed"]
    assert client.post(call(1, "plain")).status == 200


async def test_the_first_request_of_a_turn_runs_at_once_and_the_others_together_at_its_end(
    served: Running,
) -> None:
    client = served.client.begin()
    served.dispatcher.turn.gathers = True
    seen: list[Any] = []

    async def noting(context: Any, call_next: Any) -> Any:
        seen.append((context.request_id, WORD.get(), PRINCIPAL.get()))
        WORD.set("used")
        return await call_next(context)

    served.server.middleware.append(noting)
    answers = [client.post(call(number, "plain")) for number in (1, 2, 3)]
    assert [answer.gone for answer in answers] == [True, False, False]
    await asyncio.sleep(0)
    assert [reply_of(answer)["id"] for answer in answers] == [1, 2, 3]
    assert seen == [(number, "", ALICE) for number in (1, 2, 3)]  # each with its own variables


async def test_a_call_that_is_cancelled_before_its_turn_is_answered_as_such(served: Running) -> None:
    async def pacing(context: Any, call_next: Any) -> Any:
        if context.request_id == 3:
            await asyncio.Event().wait()
        return await call_next(context)

    client = served.behind(pacing)
    served.dispatcher.turn.gathers = True
    answers = [client.post(call(number, "plain")) for number in (1, 2, 3)]
    for number in (2, 3):
        client.post(cancel(number))
    await until(lambda: all(answer.gone for answer in answers))
    assert ["error" in reply_of(answer) for answer in answers] == [False, True, True]


async def test_a_request_that_fails_at_the_end_of_a_turn_leaves_the_others_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Waiting:
        request_id, is_over = 7, False

        def cancelled(self) -> None:
            self.is_over = True

    turn, waiting, ran = TurnsEnd(), Waiting(), []
    turn.gathers = True
    for work in (lambda: None, lambda: 1 / 0, lambda: ran.append("last")):
        turn.run(waiting, copy_context(), work)  # type: ignore[arg-type]
    await asyncio.sleep(0)
    assert (ran, waiting.is_over) == (["last"], True)
    assert "the request 7 could not be answered" in caplog.text
