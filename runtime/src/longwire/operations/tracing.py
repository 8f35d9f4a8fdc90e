"""OpenTelemetry traces: spans for jobs beside the SDK's spans for requests, and their export.

Traces are made only if OpenTelemetry's environment variables ask for them, or if a tracer provider is set
before the server starts.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.server.lowlevel import Server
from opentelemetry import trace
from opentelemetry.context import attach, detach
from opentelemetry.propagate import extract
from opentelemetry.trace import ProxyTracerProvider, Span, Status, StatusCode, Tracer

from longwire.names import attribute, own_names
from longwire.wire.http.request import Request
from longwire.wire.sdk_private import drop_request_spans
from longwire.work import Job, Jobs

logger: Final = logging.getLogger(__name__)

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_PARENT: Final = "traceparent"
_EXPORT_GRACE: Final = 2.0  # seconds to send the last spans when the server ends


def configure_tracing(environ: Mapping[str, str] = os.environ) -> Callable[[], None]:
    """Send spans to the collector that the environment names; returns a function to call at the end."""
    named = next((name for name in ENDPOINTS if environ.get(name)), None)
    if named is None or environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return lambda: None
    if is_traced():
        return lambda: None  # the embedding program has set one up already
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        text = "%s is set but traces can't be sent, '%s' is not installed: pip install '%s[otel]'"
        logger.warning(text, named, error.name, own_names().package)
        return lambda: None
    service = environ.get("OTEL_SERVICE_NAME") or f"{own_names().name}-mcp"
    resource = Resource.create({"service.name": service, "service.version": own_names().version})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    logger.info("traces are sent to %s", environ[named])

    def stop() -> None:
        # Not waited for, because a collector that doesn't answer would delay the server's end.
        last = threading.Thread(target=provider.shutdown, name="last-spans", daemon=True)
        last.start()
        last.join(_EXPORT_GRACE)

    return stop


def is_traced() -> bool:
    """Whether a tracer provider is set, here or by the embedding program."""
    return not isinstance(trace.get_tracer_provider(), ProxyTracerProvider)


def trace_requests(server: Server[Any]) -> None:
    """Let the SDK's spans of requests be part of their clients' traces.

    If nothing is traced the spans are removed: each costs about 40 µs.
    """
    if is_traced():
        server.middleware.insert(0, _HttpParents())
    else:
        drop_request_spans(server)


class _HttpParents(ServerMiddleware[Any]):
    """Takes a span's parent from the header `traceparent`, where the message's `_meta` names none."""

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        request = ctx.request
        if not isinstance(request, Request):
            return await call_next(ctx)
        request.spanned = True
        if _PARENT in (ctx.meta or ()) or _PARENT not in request.headers or _PARENT in request.repeated:
            return await call_next(ctx)
        token = attach(extract(request.headers))
        try:
            return await call_next(ctx)
        finally:
            detach(token)


class JobTracer:
    """Makes spans for jobs: `job vmaf_score`, and in it `queued` and `running`.

    The job service announces a new job during the call that asked for it, so that call's span is the parent.
    A submitted job may continue after that span has ended, which traces allow.
    """

    def __init__(self, tracer: Tracer | None = None) -> None:
        self._tracer = tracer or trace.get_tracer(own_names().name, own_names().version)
        self._open: dict[str, tuple[Span, Span]] = {}  # each with that of its phase: queued or running

    def watch(self, jobs: Jobs) -> Callable[[], None]:
        """Make spans for these jobs; returns a function that stops this."""
        return jobs.on_change(self.changed)

    def changed(self, job: Job) -> None:
        spans = self._open.get(job.id)
        if spans is None:
            if not job.over:
                self._begin(job)
        elif job.over:
            del self._open[job.id]
            _end(*spans, job)
        elif job.status == "running":
            (whole, part), at = spans, _ns(job.started)
            part.end(at)
            self._open[job.id] = whole, self._part("running", whole, at)

    def _begin(self, job: Job) -> None:
        at, about = _ns(job.created), {attribute("tool"): job.tool, attribute("job"): job.id}
        whole = self._tracer.start_span(f"job {job.tool}", start_time=at, attributes=about)
        if whole.is_recording():
            self._open[job.id] = whole, self._part(job.status, whole, at)

    def _part(self, name: str, whole: Span, at: int | None) -> Span:
        return self._tracer.start_span(name, trace.set_span_in_context(whole), start_time=at)


def _end(whole: Span, part: Span, job: Job) -> None:
    at = _ns(job.finished)
    whole.set_attribute(attribute("status"), job.status)
    if job.progress is not None:
        whole.set_attribute(attribute("frames"), job.progress.done)
        fps = job.progress.details.get("fps")
        if isinstance(fps, int | float):
            whole.set_attribute(attribute("fps"), float(fps))
    if job.status != "completed":
        whole.set_status(Status(StatusCode.ERROR, job.error or job.status))
    part.end(at)
    whole.end(at)


def _ns(seconds: float | None) -> int | None:
    """Nanoseconds, as OpenTelemetry counts; None is now."""
    return round(seconds * 1e9) if seconds is not None else None
