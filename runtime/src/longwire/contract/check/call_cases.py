"""Cases about calls: their ids, their order, progress, questions, cancellation and sessions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from longwire.contract import writing
from longwire.contract.check.probe import LAST, Answer, Bench, Case, Failed, Probe, require, texts
from longwire.contract.envelopes import Cancel, Drain, Notified, SessionEnd

_MANY: Final = 48
_ENDLESS: Final = {"to": 1000, "pause": 1}
_PROGRESS: Final = "notifications/progress"
_SAID: Final = "Ada"  # what the client says to every question


async def _ids(bench: Bench, connection: Probe) -> None:
    for request_id in (7, "7", 0, "ü-\U0001f600", 2**53 - 1):
        reply = (await connection.call("ping", request_id=request_id)).reply
        found = reply.get("id")
        same = found == request_id and type(found) is type(request_id)
        require(same, f"a request with the id {request_id!r} was answered under {found!r}")


async def _interleaved(bench: Bench, connection: Probe) -> None:
    most = min(_MANY, int(connection.hello.get("max_in_flight", _MANY)))
    has_echo = "echo" in bench.tools
    calls = {}
    for number in range(most):
        if has_echo:
            call = connection.begin_tool("echo", {"text": f"text {number}"}, request_id=number)
        else:
            call = connection.begin("ping", request_id=number)
        calls[call] = number
    for call, number in calls.items():
        answer = await connection.answer(call)
        require(answer.reply.get("id") == number, f"call {call} was answered with another call's reply")
        if has_echo:
            require(f"text {number}" in texts(answer.result), f"call {call} has another call's text")
    require(not any(connection.left(call) for call in calls), "a call was answered twice")


async def _progress(bench: Bench, connection: Probe) -> None:
    call = connection.begin_tool("count", {"to": 5, "pause": 0}, meta={"progressToken": "token-1"})
    answer = await connection.answer(call)
    notes = [note for note in answer.messages if note.get("method") == _PROGRESS]
    require(len(notes) == 5, f"{len(notes)} progress notifications came before the reply instead of 5")
    params: list[dict[str, Any]] = [note.get("params", {}) for note in notes]
    wrong = [one for one in params if one.get("progressToken") != "token-1"]
    require(not wrong, "a progress notification has another token than the request")
    steps = [one.get("progress") for one in params]
    require(steps == [1, 2, 3, 4, 5], f"the progress is {steps} instead of 1 to 5")
    await connection.ping()
    require(not connection.left(call), "frames of a call came after its last one")


async def _flows(bench: Bench, connection: Probe) -> None:
    call = connection.begin_tool("count", {"to": 1000, "pause": 0.05}, meta={"progressToken": 1})
    await connection.wait_for("messages", call=call)  # and its last frame is a minute away
    connection.send(writing.envelope(Cancel(call, "that is enough")))
    await connection.ping()


async def _no_token(bench: Bench, connection: Probe) -> None:
    answer = await connection.tool("count", {"to": 2, "pause": 0})
    sent = [note for note in answer.messages if note.get("method") == _PROGRESS]
    require(not sent, "progress was sent for a request without a progress token")


async def _cancel(bench: Bench, connection: Probe) -> None:
    call = connection.begin_tool("count", _ENDLESS)
    await connection.ping()
    require(not connection.left(call), "the tool 'count' doesn't wait between its numbers")
    connection.send(writing.envelope(Cancel(call, "the client has gone")))
    await connection.ping()
    await connection.call("ping")
    late = [found for found in connection.left(call) if found["event"] in LAST]
    require(len(late) <= 1, "a cancelled call was answered more than once")


async def _cancel_unknown(bench: Bench, connection: Probe) -> None:
    connection.send(writing.envelope(Cancel("no-such-call", "")))
    connection.respond("no-such-call", {"id": "x", "result": {}})
    connection.send(writing.envelope(Notified("never-sent", "unknown")))
    await connection.ping()


async def _ask(bench: Bench, connection: Probe) -> None:
    call = connection.begin_tool("ask", {})
    asked = 0
    while True:
        found = await connection.wait_for("messages", *LAST, call=call)
        for request in (entry["data"] for entry in found.get("messages", ()) if "id" in entry["data"]):
            asked += 1
            require(isinstance(request["id"], str), "the worker's own request has an id that is no string")
            connection.respond(call, {"id": request["id"], "result": _client_s_answer(request)})
        if found["event"] != "messages":
            break
    require(asked, "the tool 'ask' sent no request to the client")
    answer = texts(Answer([], found).result)
    require(_SAID in answer, f"the tool's answer doesn't have what the client said: {answer[:80]!r}")


def _client_s_answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """The answer of a client: one word for every field of a form, or for its model."""
    params = request.get("params", {})
    if request["method"] == "elicitation/create":
        fields = params.get("requestedSchema", {}).get("properties", {})
        return {"action": "accept", "content": dict.fromkeys(fields, _SAID)}
    return {"role": "assistant", "model": "m", "content": {"type": "text", "text": _SAID}}


async def _ask_refused(bench: Bench, connection: Probe) -> None:
    call = connection.begin_tool("ask", {})
    asked = await connection.asked(call)
    require("id" in asked, "the tool 'ask' sent no request to the client")
    error = {"code": -32000, "message": "nobody is there"}
    connection.respond(call, {"id": asked["id"], "error": error})
    found = (await connection.answer(call)).reply
    failed = isinstance(found.get("result"), dict) and found["result"].get("isError") is True
    require("error" in found or failed, "the call succeeded although its client refused")


async def _state(bench: Bench, connection: Probe) -> None:
    session = {"state": {"kept": 1}, "initialized": True}
    first = await connection.tool("visits", session=session)
    told = first.last.get("session")
    if not isinstance(told, dict) or not isinstance(told.get("state"), dict):
        raise Failed("the result of 'visits' has no 'session.state'")
    require(told["state"].get("kept") == 1, "'session.state' lost what was in it before")
    require("1" in texts(first.result), "the first call of 'visits' doesn't answer with 1")
    # Another connection: what a worker remembers itself doesn't count.
    other = await bench.connect()
    again = {"state": told["state"], "initialized": True}
    second = await other.tool("visits", session=again, session_id="another-session")
    require("2" in texts(second.result), "'visits' doesn't know the state that came with its second call")


async def _announce(bench: Bench, connection: Probe) -> None:
    await connection.tool("announce", {"text": "to everybody"})
    sent = await connection.wait_for("notify")
    require(sent.get("session_id") is None, "the notification of 'announce' is for one session only")
    require("to everybody" in str(sent["messages"]), "the notification of 'announce' lacks its text")


async def _session_end(bench: Bench, connection: Probe) -> None:
    await connection.call("ping", session_id="ending")
    connection.send(
        writing.envelope(SessionEnd("ending", "deleted")),
        writing.envelope(SessionEnd("never-seen", "expired")),
    )
    await connection.ping()
    await connection.call("ping", session_id="another")


async def _drain(bench: Bench, connection: Probe) -> None:
    if "count" in bench.tools:
        call = connection.begin_tool("count", {"to": 3, "pause": 0})
    else:
        call = connection.begin("ping")
    connection.send(writing.envelope(Drain()))
    answer = await connection.answer(call)
    require(answer.last["event"] == "result", "a call that ran when `drain` came was not finished")
    connection.close()
    await bench.prove_alive()


async def _left(bench: Bench, connection: Probe) -> None:
    for _ in range(3):
        connection.begin_tool("count", _ENDLESS)  # where there is none, the call fails at once
    connection.close()
    await bench.prove_alive()


async def _two(bench: Bench, connection: Probe) -> None:
    first, second = connection, await bench.connect()
    one, two = first.begin("ping", request_id="first"), second.begin("ping", request_id="second")
    require((await second.answer(two)).reply.get("id") == "second", "the second got another's reply")
    require((await first.answer(one)).reply.get("id") == "first", "the first got another's reply")


# fmt: off
CASES: Final = (
    Case("ids", "A reply has the id of its request: same value, same type.", _ids),
    Case("interleaved", "Many calls at once are each answered once, with their own reply.", _interleaved),
    Case("progress", "Progress has the request's token, comes in order, and all of it before the reply.",
        _progress, "count"),
    Case("no-progress", "Without a progress token no progress is sent.", _no_token, "count"),
    Case("progress-flows", "Progress is sent while the call runs, not at its end.", _flows, "count"),
    Case("cancel", "After cancel the worker goes on; one late answer at most.", _cancel, "count"),
    Case("cancel-unknown", "cancel, response and notified for unknown ids are ignored.", _cancel_unknown),
    Case("ask", "A request to the client is answered by response, and the call goes on.", _ask, "ask"),
    Case("ask-refused", "A client's error ends the question, and the call fails.", _ask_refused, "ask"),
    Case("session-state", "A call sees the state that came with it, and what it changes is in its result.",
        _state, "visits"),
    Case("announce", "notify without a session is for all sessions.", _announce, "announce"),
    Case("session-end", "session_end of known and unknown sessions needs no answer.", _session_end),
    Case("drain", "After drain what runs is finished; a new connection is served.", _drain),
    Case("left", "A connection that closes in the middle of calls harms no other.", _left),
    Case("two-connections", "Two connections at once are served apart.", _two),
)
# fmt: on
