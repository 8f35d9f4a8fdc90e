"""The operator's view as JSON: what is shown, filters and limits, actions and their audit."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from admin_ground import TOKEN, FakeWorkers, admin_ground
from fake_responder import FakeClock
from longwire.admin.nodes_view import FRESH, OLD, KnownNodes
from longwire.admin.runtime_view import KEPT
from longwire.guard.tokens import Tokens
from longwire.wire.tasks import RunningTasks
from raw_http import call, open_session

# What the plan of the runtime names.
PLAN_COUNTERS = {
    *("mcp_sessions_expired_total", "mcp_sessions_evicted_total", "mcp_pending_dropped_total"),
    *(f"mcp_sampling_capability_{what}_total" for what in ("warnings", "dropped", "errors")),
}
PLAN_ROW = {
    *("id", "protocol_version", "path", "started_at_unix", "last_activity_unix", "pending_count"),
    *("connected", "client_capabilities_json"),
}


async def test_the_runtime_document_has_the_names_of_the_plan() -> None:
    async with admin_ground() as ground:
        session = await open_session(ground.mcp, ground.http)
        for number in range(3):
            await session.post(call(number, text="x"))
        found = await ground.json("/admin/runtime")
        assert found["mcp_enabled"] is True
        assert found["active_mcp_sessions"] == 1
        assert found["stats"].keys() >= PLAN_COUNTERS
        assert found["stats"]["mcp_sessions_created_total"] == 1
        assert found["limits"]["max_sessions"] == 20_000
        assert [worker["id"] for worker in found["workers"]["workers"]] == ["w1", "w2"]
        echo = found["latency"]["rows"]["echo"]
        assert (echo["count"], sum(echo["counts"]), echo["outcomes"]) == (3, 3, {"ok": 3})
        assert len(echo["counts"]) == len(found["latency"]["bounds_ms"]) + 1
        assert 0 < echo["p50_ms"] <= echo["p95_ms"] <= echo["p99_ms"]
        assert found["methods"]["rows"]["tools/call"]["count"] == 3


async def test_one_node_shows_the_sessions_latencies_audit_and_history_of_all() -> None:
    async with admin_ground() as ground:
        nodes = ground.port.sources.nodes
        nodes.third = True
        session = await open_session(ground.mcp, ground.http)
        await session.post(call(1, text="x"))
        ground.begin(name="second")
        await ground.post("/admin/workers/drain", {"worker": "w1"})
        found = await ground.json("/admin/runtime/mcp?details=1&limit=3&sort=started&nodes=all")
        assert (found["active_sessions"], found["returned_sessions"]) == (4, 3)
        assert [row["node"] for row in found["sessions"]] == ["n1", "n3", "n1"]
        assert (found["max_sessions"], found["problems"]) == (40_000, [])
        audit = await ground.json("/admin/audit?nodes=all")
        assert [action["node"] for action in audit["actions"]] == ["n1", "n3"]
        ground.port.history.take()
        [point] = (await ground.json("/admin/history?nodes=all"))["points"]
        own = (await ground.json("/admin/history"))["points"][0]
        assert (own["sessions"], own["requests"], own["errors"]) == (2, 2, 0)
        assert (point["sessions"], point["p95_ms"]) == (4, own["p95_ms"])
        cluster = (await ground.json("/admin/runtime"))["cluster"]
        assert cluster["others"]["n3"]["latency"]["rows"]["echo"]["count"] == 1
        assert cluster["others"]["n3"].get("cluster") is None, "a node that is asked asks no others"
        refused = await ground.get("/admin/runtime/mcp?nodes=all&limit=1000&offset=1")
        assert "1001 together" in refused.json()["error"]


async def test_history_is_of_the_last_hour_and_of_each_period() -> None:
    async with admin_ground() as ground:
        clock = iter(range(0, 10**6, 10))
        ground.port.sources.clock = lambda: float(next(clock))
        session = await open_session(ground.mcp, ground.http)
        ground.port.history.take()
        await session.post(call(1, "no such tool"))
        for _ in range(KEPT):
            ground.port.history.take()
        points = (await ground.json("/admin/history"))["points"]
        assert len(points) == KEPT
        assert [point["at_unix"] for point in points[:2]] == [10, 20]
        assert [(point["requests"], point["errors"]) for point in points[:2]] == [(1, 1), (0, 0)]
        assert points[0]["window_calls"] == 1
        assert points[1]["p95_ms"] is None


async def test_an_old_list_of_nodes_says_nothing_about_now() -> None:
    async with admin_ground() as ground:
        sources = ground.port.sources
        nodes = sources.nodes
        clock, tasks = FakeClock(), RunningTasks()
        known = KnownNodes(sources, tasks, clock)
        first = known.document()
        assert (first["age_seconds"], [node["label"] for node in first["nodes"]]) == (None, ["n1"])
        assert _states(known) == ("Redis has not said yet which nodes live", ["alive"])
        await tasks.ended()
        assert _states(known) == (None, ["alive", "gone"])
        assert len(tasks) == 0  # that list is fresh
        clock.advance(OLD)
        assert _states(known) == ("Redis has not said yet which nodes live", ["alive", "unknown"])
        await tasks.ended()
        assert _states(known) == (None, ["alive", "gone"])
        nodes.problem = "Redis at redis://x refuses"
        assert _states(known) == (nodes.problem, ["alive", "unknown"])
        clock.advance(FRESH)
        known.document()
        await tasks.ended()
        assert _states(known) == (nodes.problem, ["alive", "unknown"])
        assert known.document()["age_seconds"] == FRESH


def _states(known: KnownNodes) -> tuple[str | None, list[str]]:
    found = known.document()
    return found["problem"], [node["state"] for node in found["nodes"]]


async def test_sessions_are_summed_up_and_shown_when_asked_for() -> None:
    async with admin_ground() as ground:
        session = ground.begin(name="claude")
        session.log.notify(b"12345")
        summary = await ground.json("/admin/runtime/mcp")
        assert (summary["active_sessions"], summary["returned_sessions"]) == (1, 0)
        assert (summary["details"], summary["sessions"]) == (False, [])
        assert summary["sampling_capability_policy"] == "error"
        assert summary["protocol_versions"] == {"2025-11-25": 1}
        found = await ground.json("/admin/runtime/mcp?details=yes")
        [row] = found["sessions"]
        assert row.keys() >= PLAN_ROW
        assert row["id"] == f"{session.id[:8]}…"
        assert session.id not in json.dumps(found)
        assert (row["client_name"], row["client_version"]) == ("claude", "1.2")
        assert (row["principal"], row["protocol_version"]) == ("token:ci", "2025-11-25")
        assert (row["pending_count"], row["pending_bytes"]) == (1, 5)
        assert (row["connected"], row["streams"], row["calls_in_flight"]) == (False, 0, 0)
        assert set(json.loads(row["client_capabilities_json"])) == {"sampling", "roots"}
        assert abs(row["started_at_unix"] - (await ground.json("/admin/runtime"))["at_unix"]) < 60


async def test_filters_paging_and_order() -> None:
    async with admin_ground() as ground:
        mine = [ground.begin("token:ci") for _ in range(5)]
        other = ground.begin("address:10.0.0.9", "2025-03-26")
        other.log.notify(b"1")

        async def ids(query: str) -> list[str]:
            rows = (await ground.json(f"/admin/runtime/mcp?details=1&{query}"))["sessions"]
            return [row["id"].removesuffix("…") for row in rows]

        assert await ids("") == [session.id[:8] for session in (*mine, other)]
        assert await ids("limit=2&offset=1") == [session.id[:8] for session in mine[1:3]]
        assert await ids("principal=token:ci&limit=1000") == [session.id[:8] for session in mine]
        assert await ids("principal=10.0.0.9") == [other.id[:8]]
        assert await ids("protocol_version=2025-03-26") == [other.id[:8]]
        for begin in (other.id, other.id[:8], f"{other.id[:8]}…"):
            assert await ids(f"session_id={begin}") == [other.id[:8]]
        assert (await ids("sort=pending&order=desc"))[0] == other.id[:8]
        assert await ids("connected=1") == []
        filtered = await ground.json("/admin/runtime/mcp?principal=ci")
        assert (filtered["active_sessions"], filtered["limit"], filtered["offset"]) == (5, 100, 0)


BAD_VALUES = [
    ("/admin/runtime/mcp?limit=0", "limit is '0': use a whole number from 1 to 1000"),
    ("/admin/runtime/mcp?limit=%D9%A3", "from 1 to 1000"),
    ("/admin/runtime/mcp?details=maybe", "use 1 or 0"),
    ("/admin/runtime/mcp?sort=colour", "use started"),
    ("/admin/runtime/mcp?session_id=", "session_id has 0 characters"),
    ("/admin/runtime/mcp?principle=x", "did you mean 'principal'?"),
    ("/admin/runtime/mcp?limit=1&limit=2", "given twice"),
    ("/admin/runtime/mcp?principal=%ff", "the query can't be read"),
    ("/admin/runtime?x=1", "'x' is unknown"),
    ("/admin/jobs?limit=x", "limit is 'x'"),
]


async def test_bad_values_are_refused_with_a_sentence() -> None:
    async with admin_ground() as ground:
        for path, sentence in BAD_VALUES:
            answer = await ground.get(path)
            assert answer.status_code == 400, path
            assert sentence in answer.json()["error"]


async def test_every_document_takes_the_token_and_wrong_ones_are_slowed() -> None:
    async with admin_ground() as ground:
        for path in ("runtime", "runtime/mcp", "workers", "streams", "jobs", "audit", "events"):
            assert (await ground.get(f"/admin/{path}", token=None)).status_code == 401
        body = {"session_id": "x" * 8}
        for token in (None, "wrong" * 5):
            assert (await ground.post("/admin/sessions/kick", body, token)).status_code == 401
        statuses = {(await ground.get("/admin/runtime", token="wrong" * 5)).status_code for _ in range(21)}
        assert statuses == {401, 429}
        assert ground.port.audit.total == 0


async def test_foreign_hosts_and_pages_get_nothing() -> None:
    async with admin_ground() as ground:
        assert (await ground.get("/admin/runtime", Host="evil.example")).status_code == 421
        for foreign in ("https://evil.example", "http://localhost:1", "null"):
            assert (await ground.get("/admin/runtime", Origin=foreign)).status_code == 403
        own = await ground.get("/admin/runtime", Origin=ground.base)
        assert own.status_code == 200
        assert not any(name.startswith("access-control") for name in own.headers)
        site = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
        assert (await ground.get("/admin/static/admin.js", **site)).status_code == 403
        link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
        assert (await ground.get("/admin", **link)).status_code == 200


async def test_a_kick_ends_streams_and_calls_and_the_client_gets_404_next() -> None:
    async with admin_ground() as ground:
        session = await open_session(ground.mcp, ground.http)
        session_id = session.headers["Mcp-Session-Id"]
        async with (
            session.http.stream("GET", session.url, headers=session.headers) as get,
            session.stream(call(1, "wait")) as events,
        ):
            await ground.bench.started.reaches(1)
            row = (await ground.json("/admin/runtime/mcp?details=1"))["sessions"][0]
            assert (row["connected"], row["streams"], row["calls_in_flight"]) == (True, 2, 1)
            whole = await ground.json("/admin/runtime")
            assert (whole["open_streams"], whole["open_get_streams"]) == (2, 1)
            open_now = await ground.json("/admin/streams")
            assert (open_now["open_streams"], len(open_now["streams"])) == (2, 2)
            assert {(each["kind"], each["session_id"]) for each in open_now["streams"]} == {
                ("get", row["id"]),
                ("request", row["id"]),
            }
            kicked = await ground.post("/admin/sessions/kick", {"session_id": row["id"]})
            said = "ended the session with 1 call in flight and 1 open GET"
            assert kicked.json() == {"ok": True, "action": "kick", "target": row["id"], "said": said}
            await ground.bench.cancelled.reaches(1)
            assert "result" not in "".join([line async for line in get.aiter_lines()])
            assert [event async for event in events if event.message] == []
        assert (await session.post(call(2))).status_code == 404
        found = await ground.json("/admin/runtime")
        assert (found["active_mcp_sessions"], found["stats"]["mcp_sessions_kicked_total"]) == (0, 1)
        again = await ground.post("/admin/sessions/kick", {"session_id": session_id})
        assert again.status_code == 404
        assert session_id not in again.text + (await ground.get("/admin/audit")).text


async def test_an_ambiguous_beginning_kicks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    async with admin_ground() as ground:
        ids = iter(["ab" * 15 + "01", "ab" * 15 + "02"])
        monkeypatch.setattr("secrets.token_hex", lambda size=16: next(ids))
        one, other = ground.begin(), ground.begin()
        monkeypatch.undo()
        shown = (await ground.json("/admin/runtime/mcp?details=1"))["sessions"][0]["id"]
        refused = await ground.post("/admin/sessions/kick", {"session_id": shown})
        assert refused.status_code == 409
        assert "2 sessions begin with" in refused.json()["error"]
        assert (await ground.post("/admin/sessions/kick", {"session_id": other.id})).status_code == 200
        assert [session.ended for session in (one, other)] == [None, "kicked"]


BAD_ACTIONS: list[tuple[str, Any, int, str]] = [
    ("/admin/sessions/kick", b"[" * 2000, 400, "the body is no JSON"),
    ("/admin/sessions/kick", '{"session_id": "abcdefgh"}'.encode("utf-8-sig"), 400, "no JSON in UTF-8"),
    ("/admin/sessions/kick", b'{"session_id": "a", "session_id": "abcdefgh"}', 400, "each field once"),
    ("/admin/sessions/kick", [], 400, "other fields than session_id"),
    ("/admin/sessions/kick", {"session_id": "ab\n" * 4}, 400, "use 1 to 128 characters"),
    ("/admin/sessions/kick", b" " * 5000, 413, "the body has 5000 bytes"),
    ("/admin/sessions/kick", {"session_id": "abcdefgh"}, 404, "no session of this server begins with"),
    ("/admin/workers/drain", {"worker": "w2"}, 409, "the worker w2 is waiting: wait until it is ready"),
    ("/admin/workers/drain", {"worker": "w9"}, 404, "there is no worker 'w9'"),
]


async def test_bad_actions_are_refused_and_audited() -> None:
    async with admin_ground() as ground:
        for path, body, status, sentence in BAD_ACTIONS:
            answer = await ground.post(path, body)
            assert answer.status_code == status, body
            assert sentence in answer.json()["error"]
            [action] = (await ground.json("/admin/audit?limit=1"))["actions"]
            assert (action["outcome"], action["said"]) == ("refused", answer.json()["error"])
        for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
            good = {"session_id": "abcdefgh"}
            answer = await ground.post("/admin/sessions/kick", good, **{"Content-Type": kind})
            assert answer.status_code == 415
        assert (await ground.get("/admin/sessions/kick")).status_code == 405


async def test_workers_are_drained_and_restarted_and_all_is_audited(caplog: pytest.LogCaptureFixture) -> None:
    tokens = Tokens({TOKEN: "ops", "second-secret-12345": "anna"})
    async with admin_ground(tokens=tokens) as ground:
        workers = ground.port.sources.workers
        with caplog.at_level(logging.INFO, "longwire.admin"):
            drained = await ground.post("/admin/workers/drain", {"worker": "w1"})
            assert drained.status_code == 200
            body = {"worker": "w2"}
            again = await ground.post("/admin/workers/restart", body, token="second-secret-12345")
            assert again.status_code == 200
        assert (workers.drained, workers.restarted) == (["w1"], ["w2"])
        shown = await ground.json("/admin/workers")
        assert (shown["queued"], shown["can_restart"]) == (2, True)
        assert [worker["state"] for worker in shown["workers"]] == ["draining", "waiting"]
        found = await ground.json("/admin/audit")
        fields = ("who", "action", "target", "outcome", "address")
        assert found["total"] == 2
        assert [tuple(action[name] for name in fields) for action in found["actions"]] == [
            ("anna", "restart", "w2", "done", "127.0.0.1"),
            ("ops", "drain", "w1", "done", "127.0.0.1"),
        ]
        logged = [record for record in caplog.records if record.__dict__.get("event") == "admin_action"]
        assert [record.__dict__["who"] for record in logged] == ["ops", "anna"]
        assert "secret" not in caplog.text


async def test_an_action_that_fails_is_audited_and_tells_no_more_than_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> bool:
        raise RuntimeError("a secret of the inside")

    async with admin_ground() as ground:
        monkeypatch.setattr(FakeWorkers, "drain", fail)
        answer = await ground.post("/admin/workers/drain", {"worker": "w1"})
        assert answer.status_code == 500
        assert "secret" not in answer.text
        [action] = (await ground.json("/admin/audit"))["actions"]
        assert (action["outcome"], action["target"]) == ("failed", "w1")


async def test_a_server_without_http_has_jobs_and_no_sessions() -> None:
    async with admin_ground() as ground:
        ground.port.sources.runtime = None
        found = await ground.json("/admin/runtime")
        assert (found["mcp_enabled"], found["active_mcp_sessions"], found["cluster"]) == (False, 0, None)
        for path in ("runtime/mcp?details=1", "streams", "workers"):
            assert isinstance(await ground.json(f"/admin/{path}"), dict)
        body = {"session_id": "0" * 8}
        assert (await ground.post("/admin/sessions/kick", body)).status_code == 404
        found = await ground.json("/admin/jobs")
        assert [job["status"] for job in found["jobs"]] == ["queued", "running", "failed"]
        assert found["jobs"][0]["client"] == "session:bbbbbbbb…"
        assert "a" * 32 not in json.dumps(found)  # a job's id
        few = await ground.json("/admin/jobs?limit=1")
        assert (few["returned_jobs"], few["more"]) == (1, True)


async def test_sessions_of_other_nodes_are_ended_there() -> None:
    async with admin_ground() as ground:
        nodes = ground.port.sources.nodes
        nodes.third = True
        refused = await ground.post("/admin/sessions/kick", {"session_id": "n3-0123abcd…"})
        assert refused.status_code == 404
        assert refused.json() == {
            "error": "'n3-0123abcd' is a session of the node 'n3' at http://10.0.0.3:9001: end it there"
        }
        gone = await ground.post("/admin/sessions/kick", {"session_id": "n2-0123abcd"})
        assert "no session of this server begins with 'n2-0123abcd'" in gone.json()["error"]
        nodes.problem = "Redis at redis://x doesn't answer"
        unknown = await ground.post("/admin/sessions/kick", {"session_id": "n3-0123abcd"})
        assert unknown.status_code == 503
        assert [row["outcome"] for row in (await ground.json("/admin/audit"))["actions"]] == ["refused"] * 3
