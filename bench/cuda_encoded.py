"""An encoded pair that is decoded on the card: the measurement beside decoders alone.

It is the part `encoded` of bench/cuda.py. The decoders alone are those of PyNvVideoCodec, NVIDIA's own
package, which has to be installed: as many sessions as the measurement has, fed with the same packets, in the
same run; nobody looks at their pictures.
"""

from __future__ import annotations

import tempfile
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import av
import numpy as np

from acuity.devices.cuda.backend import CudaDevice
from acuity.devices.cuda.nvdec.library import abilities, load_functions
from acuity.devices.cuda.nvdec.packet_stream import PacketStream
from acuity.scoring.request import Request
from acuity.scoring.run import run_request
from acuity.video.made_up import moving_pairs
from acuity.video.picture import Picture, PixelFormat

_WIDTH, _HEIGHT = 1920, 1080
_FRAMES = 1152
_KEYS = 48  # frames between key frames
_UNIQUE = 24  # frames before the clip starts over
_LEAST = 0.9  # of the decoders' speed


def encoded(card: CudaDevice) -> bool:
    """H.264 of 1080p: decoders alone, then the whole measurement; whether it is fast enough."""
    peer = import_module("PyNvVideoCodec")  # which nothing else here needs
    found = abilities(load_functions(), card.card, "h264", PixelFormat("420", 8), _WIDTH, _HEIGHT)
    sessions = 2 * -(-found.engines // 2)
    with tempfile.TemporaryDirectory() as folder:
        paths = _encode(Path(folder))
        best_alone = max(_alone(card, peer, paths, sessions) for _ in range(2))
        best, score = 0.0, 0.0
        for _ in range(2):
            report = run_request(
                Request(*paths, models=["vmaf_v0.6.1"], backend="cuda", decoder="nvdec"),
            )
            best, score = max(best, 2 * _FRAMES / report.seconds), report.score or 0.0
    ratio = best / best_alone
    print(
        f"encoded {_FRAMES} pairs of 1080p H.264: {sessions} decoders alone {best_alone:.0f} frames/s, "
        f"measured {best:.0f} ({best / 2:.0f} pairs/s), score {score:.6f}: "
        f"{ratio:.2f} times, at least {_LEAST}",
        flush=True,
    )
    return ratio >= _LEAST


def _encode(folder: Path) -> list[Path]:
    pairs = list(moving_pairs(_WIDTH, _HEIGHT, 8, _UNIQUE))
    paths = []
    for side, (name, crf) in enumerate((("ref", "26"), ("dis", "38"))):
        path = folder / f"{name}.mp4"
        with av.open(str(path), "w") as container:
            stream = container.add_stream("libx264", rate=30)
            stream.width, stream.height, stream.pix_fmt = _WIDTH, _HEIGHT, "yuv420p"
            stream.options = {"crf": crf, "preset": "superfast", "g": str(_KEYS), "sc_threshold": "0"}
            for number in range(_FRAMES):
                container.mux(stream.encode(_frame(pairs[number % _UNIQUE][side], number)))
            container.mux(stream.encode(None))
        paths.append(path)
    return paths


def _frame(picture: Picture, number: int) -> av.VideoFrame:
    rows = [np.ascontiguousarray(plane).reshape(-1, _WIDTH) for plane in picture.planes]
    frame = av.VideoFrame.from_ndarray(np.concatenate(rows), format="yuv420p")
    frame.pts = number
    return frame


def _alone(card: CudaDevice, library: Any, paths: list[Path], sessions: int) -> float:
    """Frames a second of the decoders, each with a share of both files that begins with a key frame."""
    shares: list[list[Any]] = []
    for path in paths:
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            convert = PacketStream(stream, "h264")
            packets = [convert.convert(packet)[0] for packet in container.demux(stream) if packet.size]
        each = -(-len(packets) // (sessions // 2) // _KEYS) * _KEYS
        shares += [packets[start : start + each] for start in range(0, len(packets), each)]
    counts: list[int] = []

    def decode(packets: list[Any]) -> None:
        stream = card.card.stream()
        decoder = library.CreateDecoder(
            gpuid=card.card.properties.number,
            codec=library.cudaVideoCodec.H264,
            cudacontext=card.card.handle,
            cudastream=stream.handle,
            usedevicememory=True,
        )
        shown = 0
        for packet in packets:
            entry = library.PacketData()
            entry.bsl_data, entry.bsl, entry.pts = packet.address, packet.size, packet.pts
            shown += len(decoder.Decode(entry))
        counts.append(shown + len(decoder.Decode(library.PacketData())))

    threads = [threading.Thread(target=decode, args=(share,)) for share in shares]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.perf_counter() - begin)
