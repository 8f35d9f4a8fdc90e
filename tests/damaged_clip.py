"""Damage to encoded clips, as a bad disk or a lost network packet leaves it."""

from __future__ import annotations

from pathlib import Path

import av


def packet_at(path: Path, number: int) -> tuple[int, int]:
    """Where in the file a packet lies, and how long it is."""
    with av.open(str(path)) as container:
        packets = [packet for packet in container.demux(video=0) if packet.size]
    return packets[number].pos or 0, packets[number].size


def damage(path: Path, number: int) -> Path:
    """Wipe half a packet of an x264 clip without CABAC: a decoder notices, and makes a frame all the same."""
    position, size = packet_at(path, number)
    data = bytearray(path.read_bytes())
    data[position + size // 2 : position + size] = bytes(size - size // 2)
    path.write_bytes(data)
    return path


# What the clip has to be encoded with, so that a wiped packet spoils one frame after another.
FRAGILE = "cabac=0:bframes=0"
