"""CAMBI, banding: visible steps in smooth areas where a gradient should be."""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from acuity import _native
from acuity.arrays import np
from acuity.errors import OutputError, UnfitPictureError
from acuity.features.extractor import CpuContext, Extractor, Feature, Geometry, Run
from acuity.features.options import OptionValue, name_suffix, number, switch, word
from acuity.features.visible_steps import EOTFS, visible_steps

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SMALLEST: Final = 216
_LARGEST_WINDOW: Final = 65
_USUAL_EOTF: Final = "bt1886"
_WORD: Final = re.compile(r"[\w.+-]+", re.ASCII)  # allowed in a column's name
_ANTI_DITHER_BELOW: Final = 10  # bits
_BANDING: Final = Feature("Cambi_feature_cambi_score", "cambi")
# The names of these figures are the same whatever the options are.
_SOURCE: Final = Feature("cambi_source", "cambi_source", only_with="full_ref")
_FULL_REFERENCE: Final = Feature("cambi_full_reference", "cambi_full_reference", only_with="full_ref")
# Smallest picture that cambi_high_res_speedup halves, by its value.
_SPEEDUPS: Final = {1080: 1920 * 1080, 1440: 2560 * 1440, 2160: 3840 * 2160}


class Cambi(Extractor):
    name = "cambi"
    summary = "banding of the distorted picture, and of the reference"
    options = (
        number("cambi_max_val", "cmxv", 1000.0, 0.0, 1000.0, "largest figure"),
        number("enc_width", "encw", 0, 180, 7680, "width the video was encoded at; 0: as it is"),
        number("enc_height", "ench", 0, 150, 7680, "height it was encoded at; 0: as it is"),
        number("enc_bitdepth", "encbd", 0, 6, 16, "bits a sample it was encoded with; 0: as it is"),
        number("src_width", "srcw", 0, 320, 7680, "width of the source, for full_ref; 0: as it is"),
        number("src_height", "srch", 0, 200, 4320, "height of the source; 0: as it is"),
        number("window_size", "ws", 65, 15, 127, "window at 3840x2160; 65 is about a degree"),
        number("topk", "", 0.6, 0.0001, 1.0, "share of samples, the worst, that count"),
        number("cambi_topk", "ctpk", 0.6, 0.0001, 1.0, "the same, where topk isn't given"),
        number("tvi_threshold", "tvit", 0.019, 0.0001, 1.0, "share of luminance a step must add to be seen"),
        number("cambi_vis_lum_threshold", "vlt", 0.0, 0.0, 300.0,
            "luminance in cd/m² below which banding isn't seen"),
        number("max_log_contrast", "mlc", 2, 0, 5,
            "largest step, as a power of two, at 10 bits: 2 is 4 levels, or 1 at 8 bits"),
        word("heatmaps_path", "", "", "folder for an image of the contrasts of each frame and scale",
            named=False),
        switch("full_ref", "", "also judge the reference, and by how much the distorted picture is worse",
            widens=True),
        word("eotf", "", _USUAL_EOTF, "transfer function of the display", tuple(EOTFS)),
        word("cambi_eotf", "ceot", _USUAL_EOTF, "the same; it counts where both are given", tuple(EOTFS)),
        number("cambi_high_res_speedup", "hrs", 0, 0, 2160,
            "judge pictures of at least 1080, 1440 or 2160 lines at half size; 0: none"),
    )  # fmt: skip
    features = (_BANDING, _SOURCE, _FULL_REFERENCE)
    min_size = 1  # of either side alone; see check_size
    min_size_reason = "it needs a sample"

    def __init__(self, given: Mapping[str, OptionValue] | None = None) -> None:
        options = dict(given or {})
        passed_over = options.get("eotf")
        # As in libvmaf, the newer name of an option has precedence over the older; columns name both.
        unread = isinstance(passed_over, str) and _WORD.fullmatch(passed_over) is not None
        if unread and options.get("cambi_eotf", _USUAL_EOTF) != _USUAL_EOTF:
            del options["eotf"]
            super().__init__(options)
            self.settings["eotf"] = str(passed_over)
            self.suffix = name_suffix(self.options, self.settings)
        else:
            super().__init__(options)

    @property
    def reads_reference(self) -> bool:
        return self.flag("full_ref")

    def key(self, feature: Feature) -> str:
        return super().key(feature) if feature is _BANDING else feature.alias

    def merge(self, other: Extractor) -> Extractor:
        ours, theirs = self.text("heatmaps_path"), other.text("heatmaps_path")
        if bool(ours) == bool(theirs):
            return super().merge(other)
        folder = {"heatmaps_path": ours or theirs}  # drawing changes no figure
        return type(self)({**self.settings, **folder}).merge(type(self)({**other.settings, **folder}))

    def covers(self, other: Extractor) -> bool:
        if self.identity == other.identity and not other.text("heatmaps_path"):
            folder = {"heatmaps_path": self.settings["heatmaps_path"]}
            other = type(self)({**other.settings, **folder})
        return super().covers(other)

    @property
    def share(self) -> float:
        """The share of samples that count. The older name of the option has precedence."""
        topk = next(option for option in self.options if option.name == "topk")
        return self.number("topk" if self.settings["topk"] != topk.default else "cambi_topk")

    @property
    def eotf(self) -> str:
        """The transfer function. The newer name of the option has precedence."""
        return self.text("cambi_eotf" if self.settings["cambi_eotf"] != _USUAL_EOTF else "eotf")

    @property
    def sharing(self) -> Hashable:
        work = (
            *("enc_width", "enc_height", "enc_bitdepth", "src_width", "src_height", "window_size"),
            *("tvi_threshold", "cambi_vis_lum_threshold", "max_log_contrast", "cambi_high_res_speedup"),
        )
        return (self.share, self.eotf, *(self.settings[name] for name in work))

    def check_size(self, geometry: Geometry) -> None:
        super().check_size(geometry)
        encoded, source = self.encoded_size(geometry), self.source_size(geometry)
        for what, (width, height) in (("pictures", encoded), ("sources", source)):
            if max(width, height) < _SMALLEST:
                raise UnfitPictureError(
                    f"{self.name} needs {what} with at least {_SMALLEST} samples on one side, because its "
                    f"window shrinks with them, and these are {width}x{height}"
                )
        if (source[0] - encoded[0]) * (source[1] - encoded[1]) < 0:
            raise UnfitPictureError(
                f"{self.name} can't compare a source of {source[0]}x{source[1]} with an encode of "
                f"{encoded[0]}x{encoded[1]}: neither is larger on both sides, so check src_width, "
                "src_height, enc_width and enc_height"
            )
        for size in (encoded, source):
            if self.window(size, geometry) > _LARGEST_WINDOW:
                raise UnfitPictureError(self._too_large_a_window(size, geometry))

    def _too_large_a_window(self, size: tuple[int, int], geometry: Geometry) -> str:
        fitting = next(
            given
            for given in range(int(self.settings["window_size"]), -1, -1)
            if self.window(size, geometry, given) <= _LARGEST_WINDOW
        )
        return (
            f"{self.name} with window_size={self.settings['window_size']} takes a window of "
            f"{self.window(size, geometry)} samples at {size[0]}x{size[1]}, and {_LARGEST_WINDOW} is the "
            f"most: give window_size={fitting} or less, or cambi_high_res_speedup=1080"
        )

    def encoded_size(self, geometry: Geometry) -> tuple[int, int]:
        """The size of the encode; pictures are never enlarged to it."""
        width, height = int(self.settings["enc_width"]), int(self.settings["enc_height"])
        if 0 < width <= geometry.width and 0 < height <= geometry.height:
            return width, height
        return geometry.width, geometry.height

    def source_size(self, geometry: Geometry) -> tuple[int, int]:
        width, height = int(self.settings["src_width"]), int(self.settings["src_height"])
        return (width, height) if width and height else (geometry.width, geometry.height)

    def halves(self, geometry: Geometry) -> bool:
        """Whether the speed-up applies."""
        width, height = self.encoded_size(geometry)
        least = _SPEEDUPS.get(int(self.settings["cambi_high_res_speedup"]))
        return least is not None and width * height >= least

    def window(self, size: tuple[int, int], geometry: Geometry, given: int | None = None) -> int:
        """The window at a size; `given` is the window at 3840x2160."""
        window = int(self.settings["window_size"]) if given is None else given
        window = window * sum(size) // 375 >> 4
        if self.halves(geometry):
            window = (window + 1) >> 1
        return window | 1

    def judged(self, size: tuple[int, int], geometry: Geometry) -> tuple[int, int, int]:
        """The size at which a picture is judged, and the window for contrasts."""
        return *size, self.window(size, geometry)

    @classmethod
    def runner(cls, members: Sequence[Self], geometry: Geometry, cpu: CpuContext) -> Run:
        judgement = Judgement(members, geometry, cpu)
        native, heatmaps = judgement.native, judgement.heatmaps
        return lambda frame: judgement.figures(
            frame.index, native.run(frame.ref.samples[0], frame.dis.samples[0], heatmaps)
        )

    def figures(self, score: float, source: float) -> list[float]:
        """Figures in the order of `features`."""
        largest = self.number("cambi_max_val")
        return [min(figure, largest) for figure in (score, source, max(0.0, score - source))]


class Judgement:
    """The work for a group of extractors that is alike on every device: tables, figures and heatmaps."""

    def __init__(self, members: Sequence[Cambi], geometry: Geometry, cpu: CpuContext) -> None:
        first = members[0]
        with_source = any(member.flag("full_ref") for member in members)
        self._folders = [
            HeatmapFolder(folder, member.key(_BANDING))
            for member in members
            if (folder := member.text("heatmaps_path"))
        ]
        seen = first.eotf, first.number("tvi_threshold"), first.number("cambi_vis_lum_threshold")
        self.native = cpu.kernel(
            _native.Cambi,
            geometry,
            judged=first.judged(first.encoded_size(geometry), geometry),
            source=first.judged(first.source_size(geometry), geometry) if with_source else None,
            smooth=(int(first.settings["enc_bitdepth"]) or geometry.depth) < _ANTI_DITHER_BELOW,
            halve=first.halves(geometry),
            share=first.share,
            steps=visible_steps(*seen, 1 << int(first.settings["max_log_contrast"])),
            heatmaps=bool(self._folders),
        )
        # Empty unless they are wanted.
        self.heatmaps = [
            np.zeros((height, width), np.uint16)
            for width, height in (self.native.sizes if self._folders else ())
        ]
        self._members = [(member, member.keys(late=False)) for member in members]

    def figures(self, index: int, scores: Sequence[float]) -> dict[str, float]:
        """A frame's figures by key. Its heatmaps, which are drawn, are written."""
        for folder in self._folders:
            folder.write(index, self.heatmaps)
        score, *source = scores
        found: dict[str, float] = {}
        for member, keys in self._members:
            # Only the first figure has a key unless the source is judged too.
            found.update(zip(keys, member.figures(score, *(source or (0.0,))), strict=False))
        return found


class HeatmapFolder:
    """The folder for an extractor's heatmaps, created if missing. Several threads may write to it."""

    def __init__(self, folder: str, name: str) -> None:
        self._folder = Path(folder)
        self._name = name  # of the figure that the heatmaps explain
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._error(error) from error

    def write(self, frame: int, heatmaps: Sequence[NDArray[np.uint16]]) -> None:
        """Write the images of a frame, each completely or not at all."""
        from acuity.png import grey_png

        for scale, image in enumerate(heatmaps):
            target = self._folder / f"{self._name}_heatmap_frame_{frame:06d}_scale_{scale}.png"
            # A random name, because another process may write the same frame.
            temporary = target.with_name(f".{target.name}.{os.urandom(4).hex()}.tmp")
            try:
                try:
                    temporary.write_bytes(grey_png(image))
                    temporary.replace(target)
                finally:
                    temporary.unlink(missing_ok=True)
            except OSError as error:
                raise self._error(error) from error

    def _error(self, error: OSError) -> OutputError:
        reason = error.strerror or str(error)
        return OutputError(f"heatmaps could not be written to {str(self._folder)!r}: {reason}")
