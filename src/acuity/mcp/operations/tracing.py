"""Traces: spans for jobs beside those the SDK makes for requests, and where they are sent.

Nothing is made or sent unless somebody asked for it: by OpenTelemetry's own environment variables, or by
setting a tracer provider before the server starts.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from mcp.server.lowlevel import Server
from opentelemetry import trace
from opentelemetry.trace import ProxyTracerProvider, Span, Status, StatusCode, Tracer

from acuity import __version__
from acuity.jobs.job import Job
from acuity.mcp.wire.sdk_private import drop_request_spans

logger: Final = logging.getLogger(__name__)

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_SERVICE: Final = "acuity-mcp"
_LAST_WORDS: Final = 2.0  # seconds that spans may take to be sent when the server ends


class TracedJobs(Protocol):
    """What traces want of the job service."""

    def on_change(self, listener: Callable[[Job], None]) -> Callable[[], None]: ...


def configure_tracing(environ: Mapping[str, str] = os.environ) -> Callable[[], None]:
    """Send spans to the collector the environment names; returns what to call in the end."""
    named = next((name for name in ENDPOINTS if environ.get(name)), None)
    if named is None or environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return _nothing
    if is_traced():
        return _nothing  # whoever embeds the server has set one up already
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        logger.warning(
            "%s is set but traces can't be sent, '%s' is not installed: pip install 'acuity[otel]'",
            named,
            error.name,
        )
        return _nothing
    resource = Resource.create(
        {"service.name": environ.get("OTEL_SERVICE_NAME") or _SERVICE, "service.version": __version__}
    )
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    logger.info("traces are sent to %s", environ[named])

    def stop() -> None:
        # A collector that doesn't answer would hold the server's end up, so this is not waited for.
        last = threading.Thread(target=provider.shutdown, name="last-spans", daemon=True)
        last.start()
        last.join(_LAST_WORDS)

    return stop


def _nothing() -> None:
    """No tracing was set up, so there is none to end."""


def is_traced() -> bool:
    """Whether somebody may look at spans: a provider was set, here or by whoever embeds the server."""
    return not isinstance(trace.get_tracer_provider(), ProxyTracerProvider)


def drop_unused(server: Server[Any]) -> None:
    """Take the SDK's request spans out where nobody would see them: each costs about 40 µs."""
    if not is_traced():
        drop_request_spans(server)


@dataclass(slots=True)
class _JobSpans:
    """A job's span, and the one of what it does at present: wait or run."""

    whole: Span
    part: Span


class JobTracer:
    """Spans for jobs: `job vmaf_score`, and in it `queued` and `running`.

    The job service tells of a new job while the call that asked for it is under way, so that call's span is
    the parent. A submitted job goes on when that span has ended; traces may look like that.
    """

    def __init__(self, tracer: Tracer | None = None) -> None:
        self._tracer = tracer or trace.get_tracer("acuity", __version__)
        self._open: dict[str, _JobSpans] = {}

    def watch(self, jobs: TracedJobs) -> Callable[[], None]:
        """Make spans of these jobs until the function returned is called."""
        return jobs.on_change(self.changed)

    def changed(self, job: Job) -> None:
        """A job was taken in, began or ended."""
        spans = self._open.get(job.id)
        if spans is None:
            if not job.over and (spans := self._begin(job)) is not None:
                self._open[job.id] = spans
        elif job.over:
            del self._open[job.id]
            _end(spans, job)
        elif job.status == "running":
            at = _ns(job.started)
            spans.part.end(at)
            spans.part = self._part("running", spans.whole, at)

    def _begin(self, job: Job) -> _JobSpans | None:
        at = _ns(job.created)
        whole = self._tracer.start_span(
            f"job {job.tool}", start_time=at, attributes={"acuity.tool": job.tool, "acuity.job": job.id}
        )
        if not whole.is_recording():
            return None
        return _JobSpans(whole, self._part(job.status, whole, at))

    def _part(self, name: str, whole: Span, at: int | None) -> Span:
        return self._tracer.start_span(name, trace.set_span_in_context(whole), start_time=at)


def _end(spans: _JobSpans, job: Job) -> None:
    at = _ns(job.finished)
    whole = spans.whole
    whole.set_attribute("acuity.status", job.status)
    if job.progress is not None:
        whole.set_attribute("acuity.frames", job.progress.done)
        fps = job.progress.details.get("fps")
        if isinstance(fps, int | float):
            whole.set_attribute("acuity.fps", float(fps))
    if job.status != "completed":
        whole.set_status(Status(StatusCode.ERROR, job.error or job.status))
    spans.part.end(at)
    whole.end(at)


def _ns(seconds: float | None) -> int | None:
    """As OpenTelemetry counts; None is now."""
    return round(seconds * 1e9) if seconds is not None else None
