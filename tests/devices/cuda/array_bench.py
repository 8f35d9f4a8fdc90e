"""Measurements of arrays on a card, and of the same frames on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from acuity.devices.cpu import CpuDevice
from acuity.devices.cuda.backend import CudaDevice
from acuity.features.extractor import Frame
from acuity.measure import Measurement
from acuity.video.picture import Picture
from exporters import CudaInterface, Dlpack, OnCard

Export = Callable[..., OnCard]


def old_dlpack(*given: Any, **settings: Any) -> Dlpack:
    return Dlpack(*given, versioned=False, **settings)


def old_interface(*given: Any, **settings: Any) -> CudaInterface:
    return CudaInterface(*given, version=2, **settings)


EXPORTS: list[Export] = [Dlpack, old_dlpack, CudaInterface, old_interface]


def columns(measurement: Measurement) -> dict[str, list[float]]:
    return {name: list(values) for name, values in measurement.results().columns.items()}


def on_cpu(frames: list[Frame], *features: str, **settings: Any) -> dict[str, list[float]]:
    with Measurement(1, backend=[CpuDevice()], **settings) as measurement:
        for feature in features:
            measurement.add_feature(feature)
        for frame in frames:
            measurement.add(frame.ref, frame.dis)
        measurement.flush()
        return columns(measurement)


def on_card(card: Any, *features: str, **settings: Any) -> Measurement:
    measurement = Measurement(2, backend=[CudaDevice(card), CpuDevice()], **settings)
    for feature in features:
        measurement.add_feature(feature)
    return measurement


def planes_of(export: Export, card: Any, picture: Picture, **settings: Any) -> tuple[Any, ...]:
    return tuple(export(card, plane, **settings) for plane in picture.planes)
