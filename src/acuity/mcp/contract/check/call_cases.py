"""Cases about calls: their ids, their order, progress, questions, cancellation and sessions."""

from __future__ import annotations

from typing import Any, Final

from acuity.mcp.contract import writing
from acuity.mcp.contract.check.bench import Bench, Case, require, texts
from acuity.mcp.contract.check.probe import Failed

_MANY: Final = 48
_SILENCE: Final = 0.3  # seconds after which nothing more is expected of a call


async def _ids(bench: Bench) -> None:
    connection = await bench.connect()
    for request_id in (7, "7", 0, "ü-\U0001f600", 2**53 - 1):
        reply = (await connection.call("ping", request_id=request_id)).reply
        found = reply.get("id")
        same = found == request_id and type(found) is type(request_id)
        require(same, f"a request with the id {request_id!r} was answered under {found!r}")


async def _interleaved(bench: Bench) -> None:
    connection = await bench.connect()
    hello = connection.probe.hello or {}
    most = min(_MANY, int(hello.get("max_in_flight", _MANY)))
    has_echo = "echo" in bench.offer.tools
    calls = {}
    for number in range(most):
        if has_echo:
            call = connection.begin_tool("echo", {"text": f"text {number}"}, request_id=number)
        else:
            call = connection.begin("ping", request_id=number)
        calls[call] = number
    for call, number in calls.items():
        answer = await connection.probe.answer(call)
        require(answer.reply.get("id") == number, f"call {call} was answered with another call's reply")
        if has_echo:
            require(f"text {number}" in texts(answer.result), f"call {call} has another call's text")
    require(not any(connection.probe.left(call) for call in calls), "a call was answered twice")


async def _progress(bench: Bench) -> None:
    bench.need_tool("count")
    connection = await bench.connect()
    call = connection.begin_tool("count", {"n": 5}, meta={"progressToken": "token-1"})
    answer = await connection.probe.answer(call)
    notes = [note for note in answer.messages if note.get("method") == "notifications/progress"]
    require(len(notes) == 5, f"{len(notes)} progress notifications came before the reply instead of 5")
    params: list[dict[str, Any]] = [note.get("params", {}) for note in notes]
    wrong = [one for one in params if one.get("progressToken") != "token-1"]
    require(not wrong, "a progress notification has another token than the request")
    steps = [one.get("progress") for one in params]
    require(steps == [1, 2, 3, 4, 5], f"the progress is {steps} instead of 1 to 5")
    await connection.ping()
    require(not connection.probe.left(call), "frames of a call came after its last one")


async def _no_token(bench: Bench) -> None:
    bench.need_tool("count")
    connection = await bench.connect()
    answer = await connection.tool("count", {"n": 2})
    sent = [note for note in answer.messages if note.get("method") == "notifications/progress"]
    require(not sent, "progress was sent for a request without a progress token")


async def _cancel(bench: Bench) -> None:
    bench.need_tool("wait")
    connection = await bench.connect()
    call = connection.begin_tool("wait", {"seconds": 60})
    await connection.ping()
    require(not connection.probe.left(call), "the tool 'wait' ended at once")
    connection.probe.send(writing.cancel(call, "the client has gone"))
    await connection.ping()
    await connection.call("ping")
    late = [found for found in connection.probe.left(call) if found["event"] in ("result", "error")]
    require(len(late) <= 1, "a cancelled call was answered more than once")


async def _cancel_unknown(bench: Bench) -> None:
    connection = await bench.connect()
    connection.probe.send(writing.cancel("no-such-call", ""))
    reply = b'{"jsonrpc":"2.0","id":"x","result":{}}'
    connection.probe.send(writing.response("no-such-call", reply))
    await connection.ping()


async def _ask(bench: Bench) -> None:
    bench.need_tool("ask")
    connection = await bench.connect()
    call = connection.begin_tool("ask", {"question": "Your name?"})
    sent = await connection.probe.wait_for("messages", "result", "error", call=call)
    asked = [entry["data"] for entry in sent.get("messages", ()) if "id" in entry["data"]]
    require(asked, "the tool 'ask' sent no request to the client")
    request = asked[0]
    require(isinstance(request["id"], str), "the worker's own request has an id that is no string")
    content = {"action": "accept", "content": {"answer": "Ada"}}
    sampled = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "Ada"}}
    result = content if request["method"] == "elicitation/create" else sampled
    reply = {"jsonrpc": "2.0", "id": request["id"], "result": result}
    connection.probe.send(writing.response(call, writing.json_text(reply)))
    answer = await connection.probe.answer(call)
    require("Ada" in texts(answer.result), "the tool's answer doesn't have what the client said")


async def _ask_refused(bench: Bench) -> None:
    bench.need_tool("ask")
    connection = await bench.connect()
    call = connection.begin_tool("ask", {"question": "Your name?"})
    sent = await connection.probe.wait_for("messages", call=call)
    asked = [entry["data"] for entry in sent["messages"] if "id" in entry["data"]]
    require(asked, "the tool 'ask' sent no request to the client")
    error = {"code": -32000, "message": "nobody is there"}
    reply = {"jsonrpc": "2.0", "id": asked[0]["id"], "error": error}
    connection.probe.send(writing.response(call, writing.json_text(reply)))
    found = (await connection.probe.answer(call)).reply
    failed = isinstance(found.get("result"), dict) and found["result"].get("isError") is True
    require("error" in found or failed, "the call succeeded although its client refused")


async def _state(bench: Bench) -> None:
    bench.need_tool("remember")
    bench.need_tool("recall")
    connection = await bench.connect()
    session = {"state": {"kept": 1}, "initialized": True}
    told = (await connection.tool("remember", {"text": "blue"}, session=session)).last.get("session")
    if not isinstance(told, dict) or not isinstance(told.get("state"), dict):
        raise Failed("the result of 'remember' has no 'session.state'")
    require(told["state"].get("kept") == 1, "'session.state' lost what was in it before")
    # Another connection: what a worker remembers itself doesn't count.
    other = await bench.connect()
    again = {"state": told["state"], "initialized": True}
    answer = await other.tool("recall", session=again, session_id="another-session")
    require("blue" in texts(answer.result), "'recall' doesn't know the state that came with its call")


async def _session_end(bench: Bench) -> None:
    connection = await bench.connect()
    await connection.call("ping", session_id="ending")
    connection.probe.send(
        writing.session_end("ending", "deleted"), writing.session_end("never-seen", "expired")
    )
    await connection.ping()
    await connection.call("ping", session_id="another")


async def _drain(bench: Bench) -> None:
    connection = await bench.connect()
    if "count" in bench.offer.tools:
        call = connection.begin_tool("count", {"n": 3})
    else:
        call = connection.begin("ping")
    connection.probe.send(writing.drain())
    answer = await connection.probe.answer(call)
    require(answer.last["event"] == "result", "a call that ran when `drain` came was not finished")
    connection.probe.close()
    await bench.prove_alive()


async def _left(bench: Bench) -> None:
    connection = await bench.connect()
    name = "wait" if "wait" in bench.offer.tools else "echo"
    for _ in range(3):
        connection.begin_tool(name, {"seconds": 60} if name == "wait" else {"text": "x"})
    connection.probe.close()
    await bench.prove_alive()


async def _two(bench: Bench) -> None:
    first, second = await bench.connect(), await bench.connect()
    one, two = first.begin("ping", request_id="first"), second.begin("ping", request_id="second")
    require((await second.probe.answer(two)).reply.get("id") == "second", "the second got another's reply")
    require((await first.probe.answer(one)).reply.get("id") == "first", "the first got another's reply")


CASES: Final = (
    Case("ids", "A reply has the id of its request: same value, same type.", _ids),
    Case("interleaved", "Many calls at once are each answered once, with their own reply.", _interleaved),
    Case(
        "progress",
        "Progress has the request's token, comes in order, and all of it before the reply.",
        _progress,
        "count",
    ),
    Case("no-progress", "Without a progress token no progress is sent.", _no_token, "count"),
    Case("cancel", "After cancel the worker goes on; one late answer at most.", _cancel, "wait"),
    Case("cancel-unknown", "cancel and response for unknown calls are ignored.", _cancel_unknown),
    Case("ask", "A request to the client is answered by response, and the call goes on.", _ask, "ask"),
    Case("ask-refused", "A client's error ends the question, and the call fails.", _ask_refused, "ask"),
    Case(
        "session-state",
        "A call sees the state that came with it, and what it changes is in its result.",
        _state,
        "remember, recall",
    ),
    Case("session-end", "session_end of known and unknown sessions needs no answer.", _session_end),
    Case("drain", "After drain what runs is finished; a new connection is served.", _drain),
    Case("left", "A connection that closes in the middle of calls harms no other.", _left),
    Case("two-connections", "Two connections at once are served apart.", _two),
)
