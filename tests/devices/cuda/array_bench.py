"""Measurements of frames on devices, and of arrays on a card."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from acuity.devices.cpu import CpuDevice
from acuity.devices.cuda.backend import CudaDevice
from acuity.devices.cuda.hardware.card import CardStream
from acuity.features.extractor import Frame
from acuity.measure import Measurement
from acuity.video.picture import Picture
from exporters import CudaInterface, Dlpack, OnCard
from moving_pictures import measuring

Export = Callable[..., OnCard]


_OLD = partial(Dlpack, versioned=False), partial(CudaInterface, version=2)
EXPORTS: list[Export] = [Dlpack, CudaInterface, *_OLD]


def columns(measurement: Measurement) -> dict[str, list[float]]:
    return {name: list(values) for name, values in measurement.results().columns.items()}


def measured(
    devices: Any, frames: list[Frame], *features: str, steer: Any = None, **settings: Any
) -> Measurement:
    """A measurement of all frames; `steer` is called before each, with its number."""
    with measuring(features=features, threads=2, backend=devices, **settings) as measurement:
        for frame in frames:
            if steer is not None:
                steer(measurement, frame.index)
            measurement.add(frame.ref, frame.dis)
        measurement.flush()
    return measurement


def on_cpu(frames: list[Frame], *features: str, **settings: Any) -> dict[str, list[float]]:
    return columns(measured([CpuDevice()], frames, *features, **settings))


def on_card(card: Any, *features: str) -> Measurement:
    return measuring(features=features, threads=2, backend=[CudaDevice(card), CpuDevice()])


def planes_of(export: Export, card: Any, picture: Picture, **settings: Any) -> tuple[Any, ...]:
    return tuple(export(card, plane, **settings) for plane in picture.planes)


def counted(monkeypatch: pytest.MonkeyPatch, name: str, rows_of: Callable[..., int]) -> list[int]:
    """The rows that each use of this method of streams moves from now on."""
    moved: list[int] = []
    done = getattr(CardStream, name)

    def move(stream: CardStream, *given: Any) -> None:
        moved.append(rows_of(*given))
        done(stream, *given)

    monkeypatch.setattr(CardStream, name, move)
    return moved
