"""A small server with the operator's view beside it, in this process."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import anyio
import httpx2

from longwire.admin.port import AdminPort
from longwire.admin.sources import Sources
from longwire.cluster.forwarding import Outcome
from longwire.cluster.nodes import NodeStatus
from longwire.endpoints import Http, Open
from longwire.errors import ClusterUnavailable
from longwire.guard.tokens import Tokens
from longwire.http_runtime import HttpRuntime
from longwire.operations.metrics import Metrics
from longwire.operations.observe import Observer
from longwire.principals.limits import CallLimits
from longwire.product.app import build_server
from longwire.server.serve import Stop, serve
from longwire.sessions.session import Session
from longwire.settings import Settings
from longwire.wire.http.request import Request, Responder
from longwire.wire.listeners import Address
from longwire.work import Job, JobsStats, Progress, Status
from longwire.workers.worker import WorkerStatus
from raw_http import http_client
from transport_bench import LOCAL, Bench

TOKEN = "operators-secret-1234"
EVIL = "<script>alert(1)</script>"
CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {"sampling": {}, "roots": {}}}


class FakeWorkers:
    """Two workers, which remember what was done to them."""

    def __init__(self) -> None:
        self.drained: list[str] = []
        self.restarted: list[str] = []
        self.queued = 2
        ready = WorkerStatus("w1", "ready", "/run/w1.sock", 101, "echo-php", 3, 1200, 0, 1_700_000_000.0)
        told = WorkerStatus("w2", "waiting", "/run/w2.sock", None, EVIL, 0, 7, 4, 1_700_000_100.0, "it ended")
        self._statuses = {"w1": ready, "w2": told}

    def statuses(self) -> Sequence[WorkerStatus]:
        return list(self._statuses.values())

    def drain(self, worker_id: str) -> bool:
        if worker_id != "w1":
            return False
        self.drained.append(worker_id)
        self._statuses[worker_id] = replace(self._statuses[worker_id], state="draining")
        return True

    def restart(self, worker_id: str) -> bool:
        self.restarted.append(worker_id)
        return True


class FakeNodes:
    """A cluster of two nodes, one of which is gone; or one without Redis."""

    label = "n1"
    problem: str | None = None
    third = False

    async def statuses(self) -> list[NodeStatus]:
        if self.problem is not None:
            raise ClusterUnavailable("try again")
        return [
            NodeStatus("n1", True, "http://127.0.0.1:1"),
            NodeStatus("n2", False),
            *([NodeStatus("n3", True, "http://10.0.0.3:9001")] if self.third else []),
        ]


class FakeForwarder:
    """Has the node n3 answer, which says the same as this one."""

    def __init__(self, ground: AdminGround) -> None:
        self._ground = ground

    async def pass_on(self, request: Request, responder: Responder, place: NodeStatus) -> Outcome:
        assert place.label == "n3"
        self._ground.port.peers(request, responder)
        return Outcome.ANSWERED


class FewJobs:
    """Jobs in several states."""

    def stats(self) -> JobsStats:
        return JobsStats(queued=1, running=1, workers=2, submitted=5, completed=2, failed=1)

    async def list(
        self, statuses: Collection[Status] = (), limit: int = 100, client: str | None = None
    ) -> tuple[list[Job], bool]:
        begin, done = 1_700_000_000.0, Progress(40, 100, "probe 3")
        ci = partial(Job, client="token:ci", created=begin)
        jobs = [
            Job("a" * 32, "vmaf_score", EVIL, f"session:{'b' * 32}", "queued", begin, queue_position=1),
            ci("c" * 32, "run_search", "film.mkv", status="running", started=begin + 2, progress=done),
            ci("d" * 32, "vmaf_score", "clip.mp4", status="failed", finished=begin + 9, error="no"),
        ]
        return jobs[:limit], len(jobs) > limit


class AdminGround:
    """Where the server and its operator's view are."""

    def __init__(self, port: AdminPort, bench: Bench, http: httpx2.AsyncClient) -> None:
        self.port = port
        self.bench = bench
        self.http = http
        self.mcp = self.base = ""

    @property
    def runtime(self) -> HttpRuntime:
        return self.port.sources.runtime

    def begin(self, principal: str = "token:ci", version: str = "2025-11-25", name: str = "t") -> Session:
        """A session as if its client had made the handshake."""
        client = {**CLIENT, "clientInfo": {"name": name, "version": "1.2"}}
        return self.runtime.sessions.begin(principal, version, client)

    async def get(self, path: str, token: str | None = TOKEN, **headers: str) -> httpx2.Response:
        return await self.http.get(f"{self.base}{path}", headers={**_proof(token), **headers})

    async def json(self, path: str) -> Any:
        answer = await self.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def post(self, path: str, body: Any, token: str | None = TOKEN, **headers: str) -> httpx2.Response:
        sent = {"Content-Type": "application/json", **_proof(token), **headers}
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.http.post(f"{self.base}{path}", content=content, headers=sent)


def _proof(token: str | None) -> dict[str, str]:
    return {} if token is None else {"Authorization": f"Bearer {token}"}


@asynccontextmanager
async def admin_ground(
    *, address: Address = LOCAL, tokens: Tokens | None = None, settings: Settings | None = None
) -> AsyncIterator[AdminGround]:
    """Serve until the block ends."""
    settings = settings or Settings(grace=0.1, max_sessions=20_000, max_sessions_each=20_000)
    bench = Bench()
    limits = CallLimits(settings)
    metrics = Metrics(["echo", "wait", "steps"])
    server = build_server(bench.catalog(), name="bench", version="1", middleware=[Observer(metrics), limits])
    sources = Sources(settings, metrics, limits, FewJobs())
    port = AdminPort(address, sources, tokens or Tokens({TOKEN: "ops"}))
    stop, ready = Stop(), anyio.Event()

    def watch(runtime: HttpRuntime) -> Callable[[], None]:
        forwarder = FakeForwarder(ground)
        sources.runtime = replace(runtime, workers=FakeWorkers(), nodes=FakeNodes(), forwarder=forwarder)
        return lambda: None

    async with http_client() as http, anyio.create_task_group() as tasks:
        ground = AdminGround(port, bench, http)

        def on_ready(opened: Sequence[Open]) -> None:
            where = {found.transport: found.where for found in opened}
            ground.mcp, ground.base = where["http"], where["admin"].removesuffix("/admin")
            ready.set()

        async def go() -> None:
            await serve(
                server,
                [Http(LOCAL), port.page],
                settings,
                limits=limits,
                on_ready=on_ready,
                on_runtime=watch,
                presence=metrics.connections,
                stop=stop,
            )

        tasks.start_soon(go)
        await ready.wait()
        try:
            yield ground
        finally:
            stop.request()
            await port.close()
