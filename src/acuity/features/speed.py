"""The common base of both SpEED extractors: options, the smallest picture, and the native object."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypedDict

from acuity.errors import FeatureError, UnfitPictureError
from acuity.features.extractor import CpuContext, Extractor
from acuity.features.options import Option, OptionValue

if TYPE_CHECKING:
    from acuity._native import Speed, SpeedPlan

# Samples of a rescaled plane along the side of one block: 5 samples with a distance of 16.
BLOCK: Final = 80

# The Gaussians are defined only for these scales and values close to them.
KERNELSCALES: Final = (
    *(1 / 2.25, 0.5, 2 / 3, 0.711111, 0.74074, 1.0, 1.06667, 1.111111, 3.5 / 3, 1.25, 4 / 3, 4.25 / 3),
    *(1.4746, 1.5, 1.54, 1.6, 5 / 3, 2.0, 2.4, 3.0, 360 / 97),
)
_CLOSE: Final = 1e-3

OPTIONS: Final = (
    Option("speed_kernelscale", "ks", "float", 1.0, 0.1, 4.0, help="width of the filters, 1 being normal"),
    Option("speed_prescale", "ps", "float", 1.0, 0.1, 4.0, help="rescale planes by this factor first"),
    Option(
        "speed_prescale_method",
        "psm",
        "text",
        "nearest",
        choices=("nearest", "bilinear", "bicubic", "lanczos4"),
        help="how planes are rescaled",
    ),
    Option("speed_sigma_nn", "snn", "float", 0.29, 0.1, 2.0, help="standard deviation of neural noise"),
    Option(
        "speed_nn_floor",
        "nnf",
        "float",
        0.0,
        0.0,
        1.0,
        help="what is below neural noise, raised by this part of it, is not seen",
    ),
)


class Scaling(TypedDict):
    kernelscale: float
    prescale: float
    prescale_method: str


class SpeedExtractor(Extractor):
    """The base of both SpEED extractors."""

    min_size = BLOCK
    min_size_reason = "its blocks are 5 samples of a plane reduced 16 times"

    def __init__(self, given: Mapping[str, OptionValue] | None = None) -> None:
        super().__init__(given)
        kernelscale = self.number("speed_kernelscale")
        if not any(abs(kernelscale - known) < _CLOSE for known in KERNELSCALES):
            known_scales = ", ".join(f"{known:g}" for known in KERNELSCALES)
            raise FeatureError(
                f"{self.name}: speed_kernelscale cannot be {kernelscale:g}: it must be one of {known_scales}"
            )

    @property
    def rescales(self) -> bool:
        return abs(self.number("speed_prescale") - 1.0) >= _CLOSE

    @property
    def smallest_plane(self) -> int:
        """The smallest side of a plane that holds a block."""
        factor = self.number("speed_prescale")
        smallest = 1
        while min(int(smallest * factor + 0.5), smallest if not self.rescales else BLOCK) < BLOCK:
            smallest += 1
        return smallest

    def too_small(self, what: str, needed: tuple[int, int], given: tuple[int, int]) -> UnfitPictureError:
        factor = f" with speed_prescale={self.number('speed_prescale'):g}" if self.rescales else ""
        return UnfitPictureError(
            f"{self.name} needs {what} of at least {needed[0]}x{needed[1]} samples{factor}, because "
            f"{self.min_size_reason}, and these are {given[0]}x{given[1]}"
        )

    @property
    def reduction(self) -> Hashable:
        """Equal for extractors that use the same reduced planes."""
        method = self.text("speed_prescale_method") if self.rescales else ""
        return self.number("speed_kernelscale"), self.number("speed_prescale"), method

    @property
    def scaling(self) -> Scaling:
        """The options that decide how planes are reduced, as the native objects take them."""
        return {
            "kernelscale": self.number("speed_kernelscale"),
            "prescale": self.number("speed_prescale"),
            "prescale_method": self.text("speed_prescale_method"),
        }

    @property
    def weighing(self) -> tuple[float, float, int]:
        """The settings that turn a plane's statistics into scores: neural noise, its floor, and the mode."""
        return self.number("speed_sigma_nn"), self.number("speed_nn_floor"), 0


def weighings(members: Sequence[SpeedExtractor]) -> list[tuple[float, float, int]]:
    """The distinct weighings, those of the same noise together."""
    return sorted({member.weighing for member in members})


def native_speed(
    members: Sequence[SpeedExtractor],
    plane: tuple[int, int],
    depth: int,
    cpu: CpuContext,
) -> Speed:
    """The native object that compares planes of that size, with the scores of each weighing."""
    from acuity import _native

    return _native.Speed(
        cpu.workspace,
        *plane,
        depth,
        **members[0].scaling,
        settings=weighings(members),
        instruction_set=cpu.instruction_set,
    )


def native_plan(first: SpeedExtractor, plane: tuple[int, int]) -> SpeedPlan:
    """What is done with planes of that size: filters, and which samples they read."""
    from acuity import _native

    return _native.SpeedPlan(*plane, **first.scaling)
