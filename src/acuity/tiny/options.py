"""TinyOptions: how a tiny model is run, and what it needs. Nothing heavy is imported here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# The words of tiny_device; session.py has the execution provider of each.
DEVICES: Final = (
    *("auto", "cpu", "cuda", "openvino", "openvino-npu", "openvino-cpu", "openvino-gpu"),
    *("coreml", "coreml-ane", "coreml-gpu", "coreml-cpu", "rocm"),
)
NEEDS_EXTRA: Final = "tiny models need the extra 'tiny': pip install 'acuity-vmaf[tiny]'"
RESIZES: Final = ("disabled", "bilinear", "nearest", "bicubic")
MAX_CRF: Final = 63


@dataclass(frozen=True, slots=True)
class TinyOptions:
    """How a tiny model is run; the fields of a request that begin with tiny_, which checks them."""

    device: str = "auto"
    threads: int = 0  # of ONNX Runtime beside the measurement's own; 0: none
    fp16: bool = False  # refuse a model whose inputs aren't half precision
    verify: bool = False  # refuse a model without a valid signature
    codec: str | None = None
    preset: str | None = None
    crf: int | None = None
    resize: str = "disabled"
