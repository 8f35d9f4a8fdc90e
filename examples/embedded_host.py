"""A program with an embedded server: it scores two videos while agents may watch and steer it.

    python examples/embedded_host.py reference.y4m distorted.y4m --socket ./vmaf.sock
    python examples/embedded_host.py reference.mp4 distorted.mp4 --port 8723

examples/embedded_agent.py is an agent for it. With --wait frames are not measured before an agent has come;
with --stay the server stays when they are done, until the last one has left.
"""

from __future__ import annotations

import argparse
import sys

import acuity


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("reference")
    parser.add_argument("distorted")
    parser.add_argument("--model", default="vmaf_v0.6.1")
    parser.add_argument("--port", type=int, help="listen here; 0: any port that is free")
    parser.add_argument("--socket", help="the file of a Unix socket")
    parser.add_argument("--wait", action="store_true", help="begin with the first agent")
    parser.add_argument("--stay", action="store_true", help="let the results be read until all have left")
    asked = parser.parse_args()
    try:
        measure(asked)
    except acuity.AcuityError as error:
        print(f"embedded_host: {error}", file=sys.stderr)
        return 1
    return 0


def measure(asked: argparse.Namespace) -> None:
    videos = acuity.open_video(asked.reference), acuity.open_video(asked.distorted)
    with acuity.pair_videos(*videos) as pairs, acuity.Measurement() as measurement:
        measurement.add_model(asked.model)
        with acuity.EmbeddedServer(measurement, acuity.EmbeddedConfig(), total=pairs.length) as server:
            # Before the first frame; as many transports as are wanted.
            if asked.socket:
                server.start_uds(asked.socket)
                print("agents may connect to", asked.socket, flush=True)
            if asked.port is not None or not asked.socket:
                print("agents may connect to", server.start_sse(asked.port or 0).url, flush=True)
            if asked.wait:
                server.wait_for_client()
            # feed() carries out commands between two frames. measurement.add() does the same: it waits while
            # an agent pauses, and returns None after an agent's stop.
            acuity.feed(measurement, pairs)
            for part in measurement.segments:
                print(f"frames {part.first} to {part.last}: {part.label}")
            print("mean", measurement.results().pool("vmaf"), flush=True)
            if asked.stay:
                server.stay()
            # Even without this, the end of the block gives connected agents a moment to read the report.


if __name__ == "__main__":
    sys.exit(main())
