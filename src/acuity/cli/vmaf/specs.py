"""Parses `-m` and `--feature` of `vmaf` as libvmaf does.

libvmaf silently ignores options of extractors that the model doesn't use, and options that an extractor
doesn't have. Scripts rely on it: Netflix's own runner gives every model the options of every extractor it
might use. They are ignored here too, but a warning names them, because one may be a typing error.

`allowed` reads `--cpumask`: bits that forbid instruction sets; `forbidden_cards` reads `--gpumask`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from acuity.cli.getopt import UsageError
from acuity.devices import BACKENDS
from acuity.errors import FeatureError, ModelError
from acuity.features import get_extractor, parse_feature
from acuity.text import shortened

if TYPE_CHECKING:
    from acuity.models import Model, ModelCollection


class Specs:
    """Loaded models, features with their known options, and the ignored options."""

    def __init__(self) -> None:
        self.models: list[Model | ModelCollection] = []
        self.features: list[str] = []
        self.ignored: list[str] = []

    @property
    def warning(self) -> str | None:
        """One sentence about the ignored options; None if there are none."""
        if not self.ignored:
            return None
        names = ", ".join(map(shortened, dict.fromkeys(self.ignored)))
        return f"ignored, as libvmaf does, because the model or extractor has no such option: {names}"


def read_specs(models: Iterable[str], features: Iterable[str]) -> Specs:
    """Load the models and features; raises UsageError for bad notation, AcuityError for the rest."""
    from acuity.models import load_model, parse_spec

    specs = Specs()
    try:
        asked = [parse_spec(text) for text in models]
        parsed = [parse_feature(text) for text in features]
    except (ModelError, FeatureError) as error:
        raise UsageError(str(error)) from None
    specs.models = [load_model(spec, specs.ignored) for spec in asked]
    for name, options in parsed:
        known = {option.name for option in get_extractor(name).options}
        specs.ignored += [f"{name}={option}" for option in options if option not in known]
        kept = ":".join(f"{option}={value}" for option, value in options.items() if option in known)
        specs.features.append(f"{name}={kept}" if kept else name)
    return specs


# The bits of libvmaf that each of our instruction sets needs. A set is allowed if none of its bits is
# forbidden, so forbidding SSE4.1 also forbids the sets that need it.
_X86: Final = {"sse4": 0x07, "avx2": 0x0F, "avx2vnni": 0x0F, "avx512": 0x1F, "avx512vnni": 0x3F}
_ARM: Final = {"neon": 0x01, "neon_dotprod": 0x03}


def allowed(available: Sequence[str], mask: int, machine: str | None = None) -> str:
    """The fastest of `available` (fastest first) that the mask permits; `plain` is never forbidden."""
    import platform

    arm = (machine or platform.machine()).lower() in {"aarch64", "arm64"}
    bits = _ARM if arm else _X86
    for name in available:
        if not mask & bits.get(name, 0):
            return name
    return "plain"


_EVERY_CARD: Final = 0xFFFFFFFF


def forbidden_cards(mask: int) -> tuple[str, ...]:
    """The backends that the mask forbids: each bit a card, and all bits every GPU.

    libvmaf has one card, which any bit forbids. Here it is the first one.
    """
    if mask == _EVERY_CARD:
        return BACKENDS[1:]
    return tuple(f"cuda:{number}" for number in range(mask.bit_length()) if mask >> number & 1)
