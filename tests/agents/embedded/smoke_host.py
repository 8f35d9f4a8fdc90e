"""A server over every transport, beside a measurement that goes on until the test has seen enough."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acuity.access.paths import AllowedPaths
from acuity.agents.embedded import EmbeddedServer
from acuity.measure import Measurement
from embedded_client import feeding
from longwire.wire.framing import FramingName

LIST = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
TOOLS = {
    "list_features",
    "list_models",
    "describe_model",
    "compute_vmaf",
    "vmaf.status",
    "vmaf.features",
    "vmaf.score",
    "vmaf.curve",
    "vmaf.request_model_swap",
    "vmaf.pause",
    "vmaf.resume",
    "vmaf.stop",
    "vmaf.stop_after",
    "vmaf.set_subsample",
    "vmaf.worst_frames",
    "vmaf.report",
    "vmaf.watch",
}


@dataclass(frozen=True)
class Smoke:
    """Where its clients find it."""

    measurement: Measurement
    sse: str
    http: str
    socket: Path
    read: int  # what it writes to its descriptor
    write: int


@contextmanager
def smoking(folder: Path, framing: FramingName = "lines") -> Iterator[Smoke]:
    """Every transport of one server, while frames are fed."""
    theirs_in, write = os.pipe()
    read, theirs_out = os.pipe()
    measurement = Measurement(threads=1)
    measurement.add_model("vmaf_v0.6.1")
    try:
        with EmbeddedServer(measurement, paths=AllowedPaths([folder])) as server:
            server.start_uds(folder / "socket")
            server.start_stdio(theirs_in, theirs_out, framing)
            sse, http = server.start_sse(), server.start_http()
            with feeding(measurement):
                yield Smoke(measurement, sse.url, http.url, folder / "socket", read, write)
    finally:
        measurement.close()
        for descriptor in (theirs_in, write, read, theirs_out):
            os.close(descriptor)


def check_list(message: dict[str, Any]) -> None:
    """The answer to LIST."""
    assert message["jsonrpc"] == "2.0"
    assert message["id"] == 1
    tools = message["result"]["tools"]
    assert {tool["name"] for tool in tools} == TOOLS
    assert all(tool["inputSchema"] and tool["outputSchema"] for tool in tools)
