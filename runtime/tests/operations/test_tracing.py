"""Spans of requests and jobs, and where they go."""

from __future__ import annotations

import asyncio
import builtins
import json
import logging
import os
import subprocess
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from mcp import Client
from mcp.server._otel import OpenTelemetryMiddleware
from mcp.server.request_state import RequestStateBoundary
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import ProxyTracerProvider, StatusCode

from log_lines import logging_to_lines
from longwire.guard.refusal_lines import RefusalLines
from longwire.operations import tracing
from longwire.operations.metrics import Metrics
from longwire.operations.observe import Observer
from longwire.operations.tracing import JobTracer, configure_tracing, trace_requests
from longwire.product.app import build_server
from longwire.product.calls import NamesBadParams
from longwire.product.catalog import Answer, Call, Catalog, Tool
from longwire.settings import WireLimits
from longwire.wire.http.port import Port
from longwire.wire.http.request import Request, Responder
from longwire.wire.http.server import serve_http
from longwire.wire.listeners import LOOPBACK, Address
from longwire.work import Job, Progress
from prepared_programs import starter
from pretend_jobs import PretendJobs
from raw_http import call
from scripted_worker import ScriptedWorker, fronting

OBJECT = {"type": "object", "properties": {}, "additionalProperties": False}
JOB = Job("7", "vmaf_score", "a against b", "local", "queued", created=100.0)


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """Spans of this test, the SDK's own included. The process's provider can be set only once."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr("mcp.shared._otel._tracer", provider.get_tracer("mcp"))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    return exporter


def spans(exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in exporter.get_finished_spans()}


def finished(job: Job = JOB, **changes: Any) -> Job:
    return replace(job, **{"status": "completed", "started": 101.0, "finished": 105.0, **changes})


async def test_a_job_is_a_child_of_the_call_that_asked_for_it(exporter: InMemorySpanExporter) -> None:
    jobs = PretendJobs()

    async def score(_: Call) -> Answer:
        jobs.tell(JOB)
        jobs.tell(replace(JOB, status="running", started=101.0))
        jobs.tell(finished(progress=Progress(48, 48, "48 of 48", {"fps": 12.0})))
        return {"score": 95.0}

    tool = Tool("vmaf_score", "Score", "score", OBJECT, score)
    server = build_server(
        Catalog(tools=[tool]), name="t", version="1", middleware=[Observer(Metrics(["vmaf_score"]))]
    )
    trace_requests(server)
    JobTracer(trace.get_tracer_provider().get_tracer("longwire")).watch(jobs)
    async with Client(server, mode="legacy") as client:
        await client.call_tool("vmaf_score", {})
    found = spans(exporter)
    call, job = found["tools/call vmaf_score"], found["job vmaf_score"]
    assert call.attributes["longwire.outcome"] == "ok"
    assert call.attributes["longwire.client"] == "local"
    assert job.parent.span_id == call.context.span_id
    for name, begin, end in (("queued", 100, 101), ("running", 101, 105)):
        part = found[name]
        assert part.parent.span_id == job.context.span_id
        assert (part.start_time, part.end_time) == (begin * 10**9, end * 10**9)
    assert (job.start_time, job.end_time) == (100 * 10**9, 105 * 10**9)
    assert job.attributes == {
        "longwire.tool": "vmaf_score",
        "longwire.job": "7",
        "longwire.status": "completed",
        "longwire.frames": 48,
        "longwire.fps": 12.0,
    }
    assert job.status.status_code is StatusCode.UNSET


TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SENT = {"traceparent": f"00-{TRACE}-{PARENT}-01", "tracestate": "congo=t61", "x-request-id": "proxy-7"}


async def test_a_trace_goes_on_through_the_gateway_to_the_worker(exporter: InMemorySpanExporter) -> None:
    worker = ScriptedWorker()
    with logging_to_lines() as lines:
        async with fronting(worker) as front:
            observer = Observer(Metrics(["echo"]))
            front.server.middleware[:0] = [OpenTelemetryMiddleware(), observer]
            trace_requests(front.server)
            client = await front.client.connected()
            await client.answered(call(7, "echo"), SENT)
            observer.flush()
            [line] = [record for record in lines.records() if record["logger"] == "longwire.product.calls"]
            assert (line["request_id"], line["worker"], line["trace_id"]) == ("proxy-7", "s1", TRACE)
            assert line["session"] == f"{client.headers['mcp-session-id'][:8]}…"
            named = call(8, "echo")
            named["params"]["_meta"] = {"traceparent": f"00-{'1' * 32}-{'2' * 16}-01"}
            await client.answered(named, SENT)
    by_header, by_meta = (span for span in exporter.get_finished_spans() if "echo" in span.name)
    frame, other = worker.calls()
    assert (by_header.context.trace_id, by_header.parent.span_id) == (int(TRACE, 16), int(PARENT, 16))
    own = f"00-{TRACE}-{by_header.context.span_id:016x}-01"
    assert {name: frame["headers"][name] for name in SENT} == {**SENT, "traceparent": own}
    told = {
        name: by_header.attributes.get(f"longwire.{name}") for name in ("request_id", "worker", "outcome")
    }
    assert told == {"request_id": "proxy-7", "worker": "s1", "outcome": "ok"}
    assert by_meta.context.trace_id == int("1" * 32, 16)
    own = f"00-{'1' * 32}-{by_meta.context.span_id:016x}-01"
    assert other["headers"]["traceparent"] == other["jsonrpc"]["params"]["_meta"]["traceparent"] == own


def test_a_refused_request_is_a_span_of_its_clients_trace(exporter: InMemorySpanExporter) -> None:
    request = Request("POST", "/mcp", headers=SENT)
    body = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Session not found"}}'
    RefusalLines().answered(request, 404, body)
    [span] = exporter.get_finished_spans()
    assert (span.name, span.parent.span_id) == ("POST /mcp", int(PARENT, 16))
    assert span.status.description == "Session not found"
    assert span.attributes["http.response.status_code"] == 404


def test_a_job_that_did_not_complete_is_an_error(exporter: InMemorySpanExporter) -> None:
    tracer = JobTracer(trace.get_tracer_provider().get_tracer("longwire"))
    tracer.changed(JOB)
    tracer.changed(finished(status="interrupted", started=None, error="it took too long"))
    found = spans(exporter)
    assert set(found) == {"job vmaf_score", "queued"}
    job = found["job vmaf_score"]
    assert (job.status.status_code, job.status.description) == (StatusCode.ERROR, "it took too long")
    assert job.attributes["longwire.status"] == "interrupted"


def test_the_sdk_spans_are_dropped_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "get_tracer_provider", ProxyTracerProvider)
    server = build_server(Catalog(), name="t", version="1", middleware=[Observer(Metrics([]))])
    assert any(isinstance(one, OpenTelemetryMiddleware) for one in server.middleware)
    trace_requests(server)
    kinds = [type(middleware) for middleware in server.middleware]
    assert kinds == [Observer, RequestStateBoundary, NamesBadParams]


def test_nothing_is_set_up_unasked(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(trace, "set_tracer_provider", lambda _: pytest.fail("set up"))
    for endpoint, disabled in (("", ""), ("x", "TRUE")):
        configure_tracing({"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_SDK_DISABLED": disabled})()
    assert caplog.records == []


def test_a_missing_package_is_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("opentelemetry.exporter"):
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)
        return real(name, *rest)

    monkeypatch.setattr(trace, "get_tracer_provider", ProxyTracerProvider)
    monkeypatch.setattr(trace, "set_tracer_provider", lambda _: pytest.fail("set up"))
    monkeypatch.setattr(builtins, "__import__", without)
    with caplog.at_level(logging.INFO, tracing.logger.name):
        configure_tracing({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"})()
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "OTEL_EXPORTER_OTLP_ENDPOINT is set" in record.getMessage()
    assert "pip install 'longwire[otel]'" in record.getMessage()


PROGRAM = """
from dataclasses import replace
from longwire.work import Job
from longwire.operations.logs import configure_logging
from longwire.operations.tracing import JobTracer, configure_tracing
configure_logging()
stop = configure_tracing()
tracer = JobTracer()
job = Job("7", "vmaf_score", "a against b", "local", "queued", created=100.0)
tracer.changed(job)
tracer.changed(replace(job, status="completed", started=101.0, finished=105.0))
stop()
"""


@pytest.mark.parametrize("is_there", [True, False])
async def test_spans_reach_a_collector_and_one_that_is_not_there_holds_nothing_up(is_there: bool) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    bodies: list[bytes] = []

    def collect(request: Request, responder: Responder) -> None:
        bodies.append(request.body)
        responder.answer(200)

    async with serve_http(Port(collect, WireLimits()), Address(LOOPBACK, 0)) as port:
        endpoint = f"http://{port.address if is_there else '127.0.0.1:1'}"
        environ = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}
        run = partial(subprocess.run, env=environ, capture_output=True, text=True, timeout=60, check=True)
        done = await asyncio.to_thread(run, [*starter(), "-c", PROGRAM])
    assert done.stdout == ""
    first, *others = [json.loads(line)["message"] for line in done.stderr.splitlines()]
    assert first == f"traces are sent to {endpoint}"
    if is_there:
        assert others == []
        sent = b"".join(bodies)
        assert b"job vmaf_score" in sent
        assert b"longwire-mcp" in sent
