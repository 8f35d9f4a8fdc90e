"""TinyOptions: how a tiny model is run. Nothing heavy is imported here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from acuity.errors import ModelError, to_give
from acuity.text import quoted

# The words of tiny_device; session.py has the execution provider of each.
DEVICES: Final = (
    *("auto", "cpu", "cuda", "openvino", "openvino-npu", "openvino-cpu", "openvino-gpu"),
    *("coreml", "coreml-ane", "coreml-gpu", "coreml-cpu", "rocm"),
)
RESIZES: Final = ("disabled", "bilinear", "nearest", "bicubic")
MAX_THREADS: Final = 1024
MAX_CRF: Final = 63


@dataclass(frozen=True, slots=True)
class TinyOptions:
    """How a tiny model is run; the fields of a request that begin with tiny_."""

    device: str = "auto"
    threads: int = 0  # of ONNX Runtime beside the measurement's own; 0: none
    fp16: bool = False  # refuse a model whose inputs aren't half precision
    verify: bool = False  # refuse a model without a valid signature
    codec: str | None = None
    preset: str | None = None
    crf: int | None = None
    resize: str = "disabled"

    def check(self) -> None:
        """Raise ModelError for a value that no model can be run with."""
        for field, value, words in (
            ("tiny_device", self.device, DEVICES),
            ("tiny_resize", self.resize, RESIZES),
        ):
            if value not in words:
                raise ModelError(
                    f"{field} cannot be {quoted(value)}: ", to_give(field), f" as one of {', '.join(words)}"
                )
        if not 0 <= self.threads <= MAX_THREADS:
            raise ModelError(
                f"tiny_threads cannot be {self.threads}: ", to_give("tiny_threads"), f" as 0 to {MAX_THREADS}"
            )
        if self.crf is not None and not 0 <= self.crf <= MAX_CRF:
            raise ModelError(f"tiny_crf cannot be {self.crf}: ", to_give("tiny_crf"), f" as 0 to {MAX_CRF}")
