"""SpEED: the difference in entropy of coarse blocks, of the chroma planes or of changes of luma."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final, Self

from acuity import _native
from acuity._native import Speed, SpeedPlan
from acuity.errors import FeatureError, UnfitPictureError
from acuity.features.extractor import CpuContext, Extractor, Feature, Frame, Geometry, Run
from acuity.features.options import RESAMPLING, OptionValue, number, switch, word

# Samples of a rescaled plane along the side of one block: 5 samples with a distance of 16.
BLOCK: Final = 80

# The Gaussians are defined only for these scales and values close to them.
KERNELSCALES: Final = (
    *(1 / 2.25, 0.5, 2 / 3, 0.711111, 0.74074, 1.0, 1.06667, 1.111111, 3.5 / 3, 1.25, 4 / 3, 4.25 / 3),
    *(1.4746, 1.5, 1.54, 1.6, 5 / 3, 2.0, 2.4, 3.0, 360 / 97),
)
_CLOSE: Final = 1e-3

_OPTIONS: Final = (
    number("speed_kernelscale", "ks", 1.0, 0.1, 4.0, "width of the filters, 1 being normal"),
    number("speed_prescale", "ps", 1.0, 0.1, 4.0, "rescale planes by this factor first"),
    word("speed_prescale_method", "psm", "nearest", "how planes are rescaled", RESAMPLING),
    number("speed_sigma_nn", "snn", 0.29, 0.1, 2.0, "standard deviation of neural noise"),
    number("speed_nn_floor", "nnf", 0.0, 0.0, 1.0,
        "what is below neural noise, raised by this part of it, is not seen"),
)  # fmt: skip
Weighing = tuple[float, float, int]  # neural noise, its floor, and the mode


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
    def scaling(self) -> dict[str, Any]:
        """The options that decide how planes are reduced, as the native objects take them."""
        return {
            "kernelscale": self.number("speed_kernelscale"),
            "prescale": self.number("speed_prescale"),
            "prescale_method": self.text("speed_prescale_method"),
        }

    @property
    def weighing(self) -> Weighing:
        """The settings that turn a plane's statistics into scores."""
        return self.number("speed_sigma_nn"), self.number("speed_nn_floor"), 0


def weighings(members: Sequence[SpeedExtractor]) -> list[Weighing]:
    """The distinct weighings, those of the same noise together."""
    return sorted({member.weighing for member in members})


def native_speed(
    members: Sequence[SpeedExtractor], plane: tuple[int, int], geometry: Geometry, cpu: CpuContext
) -> Speed:
    """The native object that compares planes of that size, with the scores of each weighing."""
    settings = {**members[0].scaling, "settings": weighings(members)}
    size = *plane, geometry.depth
    return _native.Speed(cpu.workspace, *size, instruction_set=cpu.instruction_set, **settings)


def native_plan(first: SpeedExtractor, plane: tuple[int, int]) -> SpeedPlan:
    """The plan for planes of that size: filters, and which samples they read."""
    return _native.SpeedPlan(*plane, **first.scaling)


class SpeedChroma(SpeedExtractor):
    name = "speed_chroma"
    summary = "difference in entropy of the chroma planes"
    options = (
        *_OPTIONS,
        number("speed_max_val", "mxv", 1000.0, 0.0, 1000.0, "largest figure"),
        number("speed_weight_var_mode", "wvm", 0, 0, 6,
            "variances that weigh entropies: 0 each picture's own, 1 the reference's, 2 the distorted "
            "one's, 3 their mean; 4 to 6: for the distorted picture 1/2, 1/4 or 3/4 of its own"),
    )  # fmt: skip
    features = tuple(
        Feature(f"Speed_chroma_feature_speed_chroma_{planes}_score", f"speed_chroma_{planes}")
        for planes in ("u", "v", "uv")
    )
    needs_chroma = True

    def check_size(self, geometry: Geometry) -> None:
        if geometry.chroma is None:
            super().check_size(geometry)  # raises the error
            return
        smallest = self.smallest_plane
        if min(geometry.chroma) >= smallest:
            return
        whole = (geometry.width, geometry.height)
        steps = [2 if plane < side else 1 for plane, side in zip(geometry.chroma, whole, strict=True)]
        needed = (smallest * steps[0], smallest * steps[1])
        raise self.too_small("pictures with this chroma format", needed, whole)

    @property
    def weighing(self) -> Weighing:
        return *super().weighing[:2], int(self.number("speed_weight_var_mode"))

    @property
    def sharing(self) -> Hashable:
        return self.reduction

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> Run:
        native = native_speed(members, geometry.chroma or (0, 0), geometry, cpu)
        figures = SpeedChromaFigures(members)

        def run(frame: Frame) -> dict[str, float]:
            (_, ref_u, ref_v), (_, dis_u, dis_v) = frame.ref.samples, frame.dis.samples
            return figures.of(native.chroma(ref_u, ref_v, dis_u, dis_v))

        return run


class SpeedChromaFigures:
    """Makes figures of the scores of each weighing: those of u, of v and of both."""

    def __init__(self, members: Sequence[SpeedChroma]) -> None:
        self._weighings = weighings(members)
        self._members = [(m.weighing, m.number("speed_max_val"), m.keys(late=False)) for m in members]

    def of(self, scores: Sequence[Sequence[float]]) -> dict[str, float]:
        by_weighing = dict(zip(self._weighings, scores, strict=True))
        found: dict[str, float] = {}
        for weighing, most, keys in self._members:
            for key, score in zip(keys, by_weighing[weighing], strict=True):
                found[key] = score if score < most else most  # NaN counts as large
        return found


class SpeedTemporal(SpeedExtractor):
    name = "speed_temporal"
    sequential = True
    summary = "difference in entropy of what changes from frame to frame"
    options = (
        *_OPTIONS,
        number("speed_max_val", "mxv", 1000.0, 0.0, 1000.0,
            "figure of changes too even for the arithmetic; others are not limited"),
        switch("speed_use_ref_diff", "urd", "take the distorted picture's change towards the reference"),
    )  # fmt: skip
    features = (Feature("Speed_temporal_feature_speed_temporal_score", "speed_temporal"),)
    lookback = 1  # the frame before, even if subsampling leaves it out

    def check_size(self, geometry: Geometry) -> None:
        """Accept any size for a first frame, which has no change yet; see the runner."""

    @property
    def sharing(self) -> Hashable:
        return self.reduction, self.flag("speed_use_ref_diff")

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> Run:
        figures = SpeedTemporalFigures(members, geometry)
        towards_reference = members[0].flag("speed_use_ref_diff")
        size = geometry.width, geometry.height
        native = native_speed(members, size, geometry, cpu) if figures.fits else None

        def run(frame: Frame) -> dict[str, float]:
            if frame.index == 0:
                return figures.of_first()
            if native is None:
                raise figures.too_small()
            before, dis = frame.before[0], frame.ref if towards_reference else frame.dis
            pictures = before.ref, frame.ref, before.dis, dis
            return figures.of(native.change(*(picture.samples[0] for picture in pictures)))

        return run


class SpeedTemporalFigures:
    """Makes figures of the scores of each weighing."""

    def __init__(self, members: Sequence[SpeedTemporal], geometry: Geometry) -> None:
        self._size = geometry.width, geometry.height
        self._first = members[0]
        self._weighings = weighings(members)
        self._members = [(m.weighing, m.number("speed_max_val"), m.keys(late=False)) for m in members]

    @property
    def fits(self) -> bool:
        """Whether the pictures hold a block. A first frame needs none."""
        return min(self._size) >= self._first.smallest_plane

    def too_small(self) -> UnfitPictureError:
        smallest = self._first.smallest_plane
        return self._first.too_small("pictures", (smallest, smallest), self._size)

    def of_first(self) -> dict[str, float]:
        """The figures of the first frame, which has no change."""
        return {key: 0.0 for *_, keys in self._members for key in keys}

    def of(self, scores: Sequence[float]) -> dict[str, float]:
        found = dict(zip(self._weighings, scores, strict=True))
        return {
            key: found[weighing] if math.isfinite(found[weighing]) else most
            for weighing, most, keys in self._members
            for key in keys
        }
