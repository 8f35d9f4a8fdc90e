"""Requests for tuning: what to search, compare or build, as records that can be written as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from acuity.errors import TuneError, to_give, to_omit, to_set
from acuity.scoring.setting import setting
from acuity.tune.common_request import ENCODING, OUTPUT, WANTED, WORK, target_vmaf
from acuity.tune.common_request import TuneRequest as TuneRequest
from acuity.tune.values import byte_count, entries, qualities, scores, size, sizes

if TYPE_CHECKING:
    from acuity.tune.search.target import Target

ALL_ENCODERS: Final = "libx264,libx265,libsvtav1,libvpx-vp9"


class SearchRequest(TuneRequest, kw_only=True):
    """Find the cheapest encode of one encoder that reaches a target."""

    # fmt: off
    encoder: str = setting("libx264", "string", "the encoder", WANTED, metavar="NAME")
    target_vmaf: float | None = target_vmaf()
    target: float | None = setting(None, "number", "target of another metric: see --metric", WANTED)
    target_bitrate: float | None = setting(
        None, "number", "instead of a score: best quality of at most so many kbit/s", WANTED, minimum=0,
        metavar="KBPS")
    target_size: str | None = setting(
        None, "string", "instead of a score: best quality of at most so many bytes, as 40M", WANTED,
        metavar="SIZE")
    tolerance: float | None = setting(
        None, "number", "stop when the target is met by at most so much (default: 0.5 of VMAF); 0: the exact "
        "value", WANTED, minimum=0)
    resolution: str | None = setting(
        None, "string", "encode at this size; it is scored at the source's", ENCODING, metavar="WxH")
    max_iterations: int = setting(8, "integer", "most encodes", WORK, minimum=1, maximum=64)
    encode: str | None = setting(
        None, "string", "make the final file, with the source's audio and subtitles", OUTPUT, metavar="OUT")
    # fmt: on

    def check(self) -> None:
        super().check()
        self.the_target()
        if self.resolution is not None:
            size(self.resolution)

    def video_file(self) -> str | None:
        return self.encode

    def the_target(self) -> Target:
        from acuity.tune.search.target import Target

        self.only_one("target_vmaf", "target", "target_bitrate", "target_size")
        if self.target_bitrate is not None:
            return Target(self.target_bitrate, kind="bitrate")
        if self.target_size is not None:
            return Target(float(byte_count(self.target_size)), kind="size")
        return self.target_at(self.figure())


class CompareRequest(TuneRequest, kw_only=True):
    """Compare encoders at one or more targets, or over values of their quality setting."""

    # fmt: off
    encoders: str = setting(ALL_ENCODERS, "string", "encoders, separated by commas", WANTED, metavar="NAMES")
    target_vmaf: float | None = target_vmaf()
    target_vmafs: str | None = setting(
        None, "string", "several scores, separated by commas", WANTED, metavar="SCORES")
    target: float | None = setting(None, "number", "target of another metric: see --metric", WANTED)
    no_bisect: bool = setting(
        False, "boolean", "search nothing: encode with each value of --crf-sweep", WANTED)
    crf_sweep: str | None = setting(
        None, "string", "values of the quality setting for --no-bisect, separated by commas", WANTED,
        metavar="VALUES")
    tolerance: float | None = setting(
        None, "number", "stop when the target is met by at most so much (default: 0.5 of VMAF); 0: the exact "
        "value", WANTED, minimum=0)
    max_iterations: int = setting(8, "integer", "most encodes of a row", WORK, minimum=1, maximum=64)
    # fmt: on

    def names(self) -> list[str]:
        names = [name for name in entries(self.encoders, "encoders") if name]
        if not names:
            raise TuneError("no encoder is named: ", to_give("encoders"), ", as libx264,libsvtav1")
        return names

    def targets(self) -> list[float]:
        self.only_one("target_vmaf", "target_vmafs", "target")
        return [self.figure()] if self.target_vmafs is None else scores(self.target_vmafs)

    def sweep(self) -> list[float]:
        if not self.crf_sweep:
            needed = to_give("crf_sweep"), ", as 20,25,30,35"
            raise TuneError(to_set("no_bisect", True), " needs the values to encode with: ", *needed)
        return qualities(self.crf_sweep)

    def check(self) -> None:
        super().check()
        self.names()
        if self.no_bisect:
            self.sweep()
            return
        self.targets()
        if self.crf_sweep is not None:
            sweep = " are for a sweep: pass ", to_set("no_bisect", True), " too"
            raise TuneError(to_give("crf_sweep", verb="the values of"), *sweep)


class LadderRequest(TuneRequest, kw_only=True):
    # fmt: off
    resolutions: str = setting(
        "", "string", "sizes, separated by commas, as 1920x1080,1280x720,640x360", WANTED, metavar="SIZES")
    target_vmafs: str = setting(
        "", "string", "scores from the top of the ladder to its bottom, separated by commas", WANTED,
        metavar="SCORES")
    encoder: str = setting("libx264", "string", "the encoder", WANTED, metavar="NAME")
    quality_tiers: int = setting(5, "integer", "most rungs", WANTED, minimum=1, maximum=64)
    spacing: str = setting(
        "log_bitrate", "string", "rungs evenly spaced by this; uniform is another word for vmaf", WANTED,
        choices=("log_bitrate", "vmaf", "uniform"))
    min_step: float = setting(
        2.0, "number", "least difference of two rungs' scores: less can't be told apart", WANTED, minimum=0)
    crf_sweep: str | None = setting(
        None, "string", "values of the quality setting, separated by commas", WANTED, metavar="VALUES")
    format: str = setting(
        "json", "string", "of the answer: a document, or the playlist", OUTPUT,
        choices=("json", "hls", "dash"))
    segment: float = setting(
        4.0, "number", "length of segments, and of the time between keyframes", OUTPUT, minimum=0.5,
        maximum=60, metavar="SECONDS")
    encode: str | None = setting(
        None, "string", "write renditions, segments and playlists into this new folder", OUTPUT,
        metavar="DIR")
    # fmt: on

    def check(self) -> None:
        super().check()
        if self.metric != "vmaf":
            raise TuneError(to_set("metric", self.metric), " can't be: a ladder is built by VMAF")
        for name in ("resolutions", "target_vmafs"):
            if not getattr(self, name):
                raise TuneError(to_give(name))
        sizes(self.resolutions)
        scores(self.target_vmafs)
        if self.crf_sweep is not None:
            qualities(self.crf_sweep)


class PerShotRequest(TuneRequest, kw_only=True):
    # fmt: off
    encoder: str = setting("libx264", "string", "the encoder", WANTED, metavar="NAME")
    target_vmaf: float | None = target_vmaf()
    target: float | None = setting(None, "number", "target of another metric: see --metric", WANTED)
    allocation: str = setting(
        "each", "string", "each: each shot reaches the target; mean: the mean of the clip does, with the "
        "fewest bits", WANTED, choices=("each", "mean"))
    target_bitrate: float | None = setting(
        None, "number", "instead of a score: best quality of at most so many kbit/s", WANTED, minimum=0,
        metavar="KBPS")
    scene_threshold: float | None = setting(
        None, "number", "how different two frames are where a shot begins, as a part of the luma range, "
        "above 0 (default: 0.02)", WANTED, minimum=0, maximum=1)
    min_shot_duration: float = setting(
        0.5, "number", "shortest shot", WANTED, minimum=0, metavar="SECONDS")
    max_shot_duration: float | None = setting(
        None, "number", "longer shots are divided", WANTED, minimum=0.1, metavar="SECONDS")
    max_iterations: int = setting(8, "integer", "most encodes of a shot", WORK, minimum=1, maximum=64)
    format: str = setting(
        "json", "string", "of the plan", OUTPUT, choices=("json", "shell", "csv"))
    output: str | None = setting(
        None, "string", "make the stitched video", OUTPUT, metavar="OUT")
    # fmt: on

    def video_file(self) -> str | None:
        return self.output

    def the_target(self) -> Target | None:
        self.only_one("target_vmaf", "target", "target_bitrate")
        return None if self.target_bitrate is not None else self.target_at(self.figure())

    def check(self) -> None:
        super().check()
        self.the_target()
        if self.sample is not None:
            raise TuneError("every shot is probed, and all of it: ", to_omit("sample"))
