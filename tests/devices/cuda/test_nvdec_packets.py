"""Packets that a card might decode otherwise than the CPU does are doubted before it sees them."""

from __future__ import annotations

from pathlib import Path

import av
import pytest

from acuity.devices.cuda.nvdec.packet_stream import Doubt, PacketStream
from coded_clips import CODED, clip


def converted(path: Path, codec: str, *, wrong: int = -1) -> list[bool]:
    """Whether decoding may begin with a packet, for each; the length of the `wrong` one's unit is broken."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        packets = PacketStream(stream, codec)
        found = []
        for number, packet in enumerate(each for each in container.demux(stream) if each.size):
            if number == wrong:
                data = bytes(packet)
                broken: av.Packet[av.VideoStream] = av.Packet(b"\x7f" + data[1:])
                broken.pts, broken.stream, broken.time_base = packet.pts, stream, packet.time_base
                packet = broken
            found.append(packets.convert(packet)[1])
        return found


@pytest.mark.parametrize("codec", ["h264", "hevc"])
def test_a_unit_that_is_longer_than_its_packet(codec: str, tmp_path: Path) -> None:
    path = clip(tmp_path, CODED[codec], 6)
    assert converted(path, codec) == [True] + [False] * 5
    with pytest.raises(Doubt, match="a packet can't be read: "):
        converted(path, codec, wrong=3)


def test_a_profile_that_changes(tmp_path: Path) -> None:
    """As where two streams were joined: a card may not decode the second one's."""
    one, other = [
        clip(tmp_path / f"{profile}.ts", CODED["h264"], 4, profile=profile) for profile in ("main", "high")
    ]
    joined = tmp_path / "joined.ts"
    with av.open(str(one)) as first, av.open(str(other)) as second, av.open(str(joined), "w") as out:
        copy = out.add_stream_from_template(first.streams.video[0])
        for part, later in ((first, 0), (second, 90_000)):
            for packet in part.demux(video=0):
                if packet.size and packet.pts is not None and packet.dts is not None:
                    packet.pts, packet.dts, packet.stream = packet.pts + later, packet.dts + later, copy
                    out.mux(packet)
    for part_alone in (one, other):
        assert converted(part_alone, "h264") == [True, False, False, False]
    with pytest.raises(Doubt, match="a header can't be read: the profile changes"):
        converted(joined, "h264")
