"""Calls that workers run: what they are sent, and what becomes of their answers."""

from __future__ import annotations

import gc
import json
from typing import Any

import pytest

from core_bench import call, reply_of
from longwire.guard.grants import Scopes, granted
from longwire.principals.principal import Holders, Principal
from longwire.product.allowlists import Allowlists
from longwire.workers.running_call import RunningCall
from raw_http import HELLO
from scripted_worker import (
    Frame,
    ScriptedWorker,
    Wire,
    WorkerClient,
    WorkerCore,
    fronting,
    holding,
    message,
    on_calls,
    replied,
    result,
    sent,
)
from waiting import until

QUESTION = {"id": "mine", "method": "elicitation/create", "params": {"message": "who?"}}


async def test_an_envelope_says_who_calls_and_what(worker: ScriptedWorker, front: WorkerCore) -> None:
    client = await front.client.connected(capabilities={"roots": {}})
    answer = await client.answered(
        call(7, "echo", text="ü"),
        {
            "Authorization": "Bearer x",
            "Cookie": "y",
            "X-Api-Key": "z",
            "X-Forwarded-Access-Token": "z",
            "Traceparent": "00-1",
        },
    )
    assert (answer.status, answer.kind) == (200, b"application/json")
    assert reply_of(answer)["result"]["structuredContent"] == {"name": "echo"}
    (frame,) = worker.calls()
    assert frame["session_id"] == client.headers["mcp-session-id"]
    assert frame["protocol_version"] == "2025-11-25"
    assert frame["principal"] == {"key": "token:alice", "scopes": [], "tools": None}
    assert frame["client"]["capabilities"] == {"roots": {}}
    assert frame["session"] == {"state": {}, "initialized": True}
    assert frame["jsonrpc"]["params"]["arguments"] == {"text": "ü"}
    seen = {"accept", "content-type", "mcp-protocol-version", "traceparent", "x-request-id"}
    assert frame["headers"].keys() == seen
    assert [f["jsonrpc"]["method"] for f in worker.frames if f["event"] == "message"] == [
        "initialize",
        "notifications/initialized",
        "tools/call",
    ]


@pytest.mark.parametrize(
    ("grants", "read"),
    [
        ({"tools": ["echo", "count"]}, []),  # of a foreign program, what isn't named is not open
        ({"tools": ["echo"], "resources": ["x://open/*"], "methods": ["resources/*"]}, ["x://open/1"]),
        ({"scopes": ["reader"]}, ["x://open/1"]),
        ({}, ["x://open/1", "x://secret"]),
    ],
)
async def test_a_principal_is_held_to_its_resources_and_methods(
    front: WorkerCore, grants: dict[str, Any], read: list[str]
) -> None:
    scopes = Scopes.parse({"reader": ["echo", "resource:x://open/*"]}, strict=True)
    bob = granted("bob", grants, scopes, "t.toml")

    def request(number: int, method: str, **params: Any) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}

    front.server.middleware.append(Allowlists())
    client = await WorkerClient(front.core, bob).connected()
    listed = reply_of(await client.answered(request(1, "resources/list")))
    assert [entry["uri"] for entry in listed["result"]["resources"]] == read
    found = []
    asked = ["x://open/1", "x://secret", *(["x://open/%2E./secret"] if grants else [])]
    for number, uri in enumerate(asked, start=2):
        reply = reply_of(await client.answered(request(number, "resources/read", uri=uri)))
        assert reply.get("error", {"code": -32002})["code"] == -32002
        found += [uri] * ("result" in reply)
    assert found == read
    own = reply_of(await client.answered(request(9, "acme/add")))
    assert ("error" in own) == bool(grants)
    assert [frame["jsonrpc"]["params"]["uri"] for frame in front.worker.calls("resources/read")] == read


async def test_a_failure_that_a_worker_reports_is_quoted_and_many_are_summed_up_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    failure = {"mode": "mcp", "event": "error", "error": "no disk", "error_class": "x"}
    worker = ScriptedWorker(on_calls(lambda wire, frame: wire.send({"id": frame["id"], **failure})))
    async with fronting(worker) as front:
        client = await front.client.connected()
        for number in range(50):
            error = reply_of(await client.answered(call(number, "echo")))["error"]
        assert (error["code"], error["message"]) == (-32603, "no disk")
        assert front.counters.worker_failures["worker_runtime_error"] == 50
    [line] = [record for record in caplog.records if record.levelname == "WARNING"]
    assert line.getMessage() == "tools/call failed in a worker: no disk"
    assert vars(line)["worker"] == "s1"


async def test_a_handshake_that_fails_begins_no_session(worker: ScriptedWorker, front: WorkerCore) -> None:
    def refusing(wire: Wire, frame: Frame) -> None:
        error = {"code": -32000, "message": "not today"}
        wire.send(result(frame["id"], {"jsonrpc": "2.0", "id": frame["jsonrpc"]["id"], "error": error}))

    worker.script = refusing
    hello = {**HELLO, "params": {**HELLO["params"], "protocolVersion": "2099-01-01"}}
    answer = await front.client.answered(hello)
    assert reply_of(answer)["error"]["message"] == "not today"
    other = {"protocolVersion": "1999-01-01", "capabilities": {}}
    worker.script = lambda wire, frame: wire.send(replied(frame, other))
    broken = reply_of(await front.client.answered(hello))["error"]
    assert broken["data"]["errorClass"] == "app_contract_error"
    worker.script = lambda wire, frame: wire.send(replied(frame, session={"create": False}))
    answer = await front.client.answered(hello)
    assert "result" in reply_of(answer)
    assert b"mcp-session-id" not in answer.headers
    assert worker.calls("initialize")[0]["protocol_version"] == "2025-11-25"
    bad = {**hello, "params": {"capabilities": {}}}
    assert reply_of(await front.client.answered(bad))["error"]["code"] == -32602
    assert not len(front.sessions)


async def test_a_client_that_leaves_during_its_handshake_begins_no_session(front: WorkerCore) -> None:
    front.worker.script = holding
    answer = front.client.post(HELLO)
    await until(lambda: front.worker.calls("initialize"))
    answer.drop()
    await until(lambda: front.worker.events("cancel"))
    assert not len(front.sessions)
    other = front.client.post(HELLO)
    await until(lambda: len(front.worker.calls("initialize")) == 2)
    for running in list(front.dispatch.running):
        running.cancel()
    assert reply_of(other)["error"]["message"]


async def test_progress_flows_while_the_worker_works(worker: ScriptedWorker, front: WorkerCore) -> None:
    progress = {"method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}
    worker.script = on_calls(lambda wire, frame: wire.send(sent(frame, progress)))
    client = await front.client.connected()
    answer = client.post(call(1, "echo"))
    await until(lambda: len(answer.events) > 1)
    assert json.loads(answer.messages[0])["method"] == "notifications/progress"
    assert not answer.gone
    note = {"method": "notifications/message", "params": {"level": "info", "data": "words"}}
    worker.wire.send(replied(worker.calls()[0], messages=[message(note)]))
    await until(lambda: answer.gone)
    kinds = [json.loads(text).get("method") for text in answer.messages]
    assert kinds == ["notifications/progress", "notifications/message", None]


async def test_a_worker_may_ask_the_client(worker: ScriptedWorker, front: WorkerCore) -> None:
    def told(wire: Wire, frame: Frame) -> None:
        said = frame["jsonrpc"]
        assert said["id"] == "mine"
        wire.send(replied(worker.calls()[0], {"content": [], "structuredContent": said["result"]}))

    worker.script = on_calls(lambda wire, frame: wire.send(sent(frame, QUESTION)), response=told)
    client = await front.client.connected(capabilities={"elicitation": {}})
    answer = client.post(call(1, "echo"))
    await until(lambda: answer.messages)
    question = json.loads(answer.messages[0])
    assert question["method"] == "elicitation/create"
    assert question["id"] != "mine"
    given = {"action": "accept", "content": {"name": "x"}}
    client.post({"jsonrpc": "2.0", "id": question["id"], "result": given})
    await until(lambda: answer.gone)
    assert reply_of(answer)["result"]["structuredContent"] == given


async def test_a_question_that_the_client_can_not_answer_is_an_error_for_the_worker(
    front: WorkerCore,
) -> None:
    def told(wire: Wire, frame: Frame) -> None:
        outcome = {"content": [], "structuredContent": frame["jsonrpc"]["error"]}
        wire.send(replied(front.worker.calls()[0], outcome))

    question = {"id": 1, "method": "sampling/createMessage", "params": {}}
    front.worker.script = on_calls(lambda wire, frame: wire.send(sent(frame, question)), response=told)
    client = await front.client.connected()
    answer = await client.answered(call(1, "echo"))
    assert "sampling" in reply_of(answer)["result"]["structuredContent"]["message"]


async def test_a_cancelled_call_is_cancelled_in_the_worker_and_a_late_answer_is_dropped(
    front: WorkerCore,
) -> None:
    worker = front.worker

    worker.script = on_calls(holding, cancel=lambda wire, _: wire.send(replied(worker.calls()[0])))
    client = await front.client.connected()
    answer = client.post(call(5, "echo"))
    await until(worker.calls)
    client.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}})
    await until(lambda: answer.gone)
    assert reply_of(answer)["error"]["code"] == -32800
    await until(lambda: front.counters.worker_events["late"])
    assert worker.events("cancel")[0]["id"] == worker.calls()[0]["id"]
    assert not worker.calls("notifications/cancelled")


async def test_session_state_is_kept_and_sent_again_and_the_end_is_told(front: WorkerCore) -> None:
    def counting(wire: Wire, frame: Frame) -> None:
        if frame["event"] == "message":
            number = ((frame["session"] or {}).get("state") or {}).get("n", 0) + 1
            wire.send(replied(frame, session={"state": {"n": number}}))

    front.worker.script = counting
    client = await front.client.connected()
    await client.answered(call(1, "echo"))
    await client.answered(call(2, "echo"))
    assert [frame["session"]["state"]["n"] for frame in front.worker.calls()] == [1, 2]
    client.send("DELETE")
    await until(lambda: front.worker.events("session_end"))
    (end,) = front.worker.events("session_end")
    assert (end["session_id"], end["reason"]) == (client.headers["mcp-session-id"], "deleted")


async def test_messages_outside_of_calls_go_to_open_streams(front: WorkerCore) -> None:
    worker = front.worker

    def notify(session_id: str | None) -> Frame:
        note = {"method": "notifications/tools/list_changed"}
        sent = {"mode": "mcp", "event": "notify", "session_id": session_id, "messages": [message(note)]}
        return sent if session_id is None else {**sent, "id": f"n-{session_id}"}

    one, other = await front.client.connected(), await front.client.connected()
    streams = [client.get(accept="text/event-stream") for client in (one, other)]
    await until(lambda: worker.frames)
    worker.wire.send(notify(one.headers["mcp-session-id"]))
    await until(lambda: streams[0].messages)
    assert not streams[1].messages
    worker.wire.send(notify(None))
    await until(lambda: streams[1].messages)
    worker.wire.send(notify("unknown"))
    await until(lambda: front.counters.worker_events["unknown_id"])
    await until(lambda: len(worker.events("notified")) == 2)
    told = [(frame["id"], frame["outcome"]) for frame in worker.events("notified")]
    assert told == [(f"n-{one.headers['mcp-session-id']}", "delivered"), ("n-unknown", "unknown")]


async def test_a_principal_calls_and_sees_its_own_tools_alone(front: WorkerCore) -> None:
    alice = Principal.of_token("alice", tools=frozenset({"echo"}))
    client = await WorkerClient(front.core, alice).connected()
    answer = await client.answered(call(1, "secret"))
    assert "unknown tool: secret" in str(reply_of(answer)["result"])
    assert not front.worker.calls()
    assert (await client.answered(call(2, "echo"))).status == 200
    listed = await client.answered({"jsonrpc": "2.0", "id": 3, "method": "tools/list"})
    assert [tool["name"] for tool in reply_of(listed)["result"]["tools"]] == ["echo"]
    assert front.worker.calls()[0]["principal"]["tools"] == ["echo"]


async def test_request_states_are_sealed_in_front_of_workers(front: WorkerCore) -> None:
    def asking(wire: Wire, frame: Frame) -> None:
        if "requestState" in frame["jsonrpc"]["params"]:
            wire.send(replied(frame))
        else:
            wire.send(
                replied(frame, {"resultType": "input_required", "inputRequests": {}, "requestState": "open"})
            )

    front.worker.script = asking
    answer = await front.client.alone(call(1, "echo"))
    state = reply_of(answer)["result"]["requestState"]
    assert state != "open"
    again = call(2, "echo")
    again["params"]["requestState"] = state
    answer = await front.client.alone(again)
    assert front.worker.calls()[1]["jsonrpc"]["params"]["requestState"] == "open"
    forged = call(3, "echo")
    forged["params"]["requestState"] = state[:-2] + "xx"
    answer = await front.client.alone(forged)
    assert reply_of(answer)["error"]["code"] == -32602
    assert len(front.worker.calls()) == 2


async def test_a_worker_without_the_method_says_so(worker: ScriptedWorker, front: WorkerCore) -> None:
    client = await front.client.connected()
    worker.script = lambda wire, frame: wire.send(result(frame["id"], None, handled=False))
    answer = await client.answered({"jsonrpc": "2.0", "id": 1, "method": "no/such"})
    assert reply_of(answer)["error"]["code"] == -32601


async def test_tokens_that_are_gone_end_the_calls_of_their_principals(front: WorkerCore) -> None:
    client = await WorkerClient(front.core, Principal.of_token("bob")).connected()
    front.worker.script = holding
    answer = client.post(call(1, "echo"))
    await until(front.worker.calls)
    front.dispatch.end_gone(Holders(frozenset({"token:bob"})))
    await until(lambda: answer.gone)


async def test_a_call_whose_client_left_is_freed_without_the_garbage_collector() -> None:
    worker = ScriptedWorker(holding)
    gc.collect()
    gc.disable()
    try:
        async with fronting(worker) as front:
            answer = front.client.stateless(call(1, "echo"))
            await until(worker.calls)
            answer.drop()
            await until(lambda: worker.events("cancel"))
            assert not any(type(found) is RunningCall for found in gc.get_objects())
    finally:
        gc.enable()


async def test_a_worker_may_send_the_client_away_while_its_call_goes_on(front: WorkerCore) -> None:
    closing = {"mode": "mcp", "event": "close_stream"}
    front.worker.script = on_calls(lambda wire, frame: wire.send({**closing, "id": frame["id"]}))
    client = await front.client.connected()
    answer = client.post(call(1, "echo"))
    await until(lambda: answer.gone)
    (only,) = answer.events
    again = client.get(last_event_id=only.id)
    front.worker.wire.send(replied(front.worker.calls()[0]))
    await until(lambda: again.gone)
    assert reply_of(again)["id"] == 1


async def test_a_worker_may_take_a_question_back() -> None:
    def asking(wire: Wire, frame: Frame) -> None:
        wire.send(sent(frame, QUESTION))
        wire.send(sent(frame, {"method": "notifications/cancelled", "params": {"requestId": "mine"}}))
        wire.send(replied(frame))

    async with fronting(ScriptedWorker(on_calls(asking))) as front:
        client = await front.client.connected(capabilities={"elicitation": {}})
        answer = await client.answered(call(1, "echo"))
        question, taken_back, reply = (json.loads(text) for text in answer.messages)
        assert taken_back["method"] == "notifications/cancelled"
        assert taken_back["params"]["requestId"] == question["id"] != "mine"
        assert reply["id"] == 1
