"""The golden runs that this machine can repeat, and their pictures."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from acuity.measure import Measurement, Results
from acuity.models import load_model
from acuity.scoring.presets import PRESETS
from acuity.video.picture import Picture
from acuity.video.readers.open import open_video
from golden_figures import GoldenCase, GoldenRun, load_cases

Pair = tuple[Picture, Picture]

known_model = functools.lru_cache(maxsize=64)(load_model)  # each is that of many cases


@functools.lru_cache(maxsize=2)
def pictures(name: str) -> list[Pair]:
    """All pairs of a case, at their full bit depth."""
    case = load_cases()[name]

    def read(path: object) -> list[Picture]:
        form: dict[str, Any] = {"pixel_format": case.pixel_format, "bitdepth": case.bitdepth}
        with open_video(str(path), width=case.width, height=case.height, **form) as reader:
            # A copy, since readers may use a buffer again once its picture is gone.
            return [Picture(tuple(plane.copy() for plane in p.planes), p.format, p.pts) for p in reader]

    return list(zip(read(case.reference), read(case.distorted), strict=True))


def arguments(run: GoldenRun, flag: str) -> list[str]:
    return [value for name, value in zip(run.args, run.args[1:], strict=False) if name == flag]


def wanted(run: GoldenRun) -> tuple[list[str], list[str]]:
    """The models and features that the run asks for."""
    models, features = run.models, arguments(run, "--feature")
    for family in PRESETS:
        for version in arguments(run, f"--{family}"):
            preset = PRESETS[family][version]
            models += preset.models
            features += preset.features
    return models, features


def all_runs() -> list[tuple[GoldenCase, GoldenRun]]:
    return [(case, run) for case in load_cases().values() for run in case.runs.values()]


def answered_runs() -> list[tuple[GoldenCase, GoldenRun]]:
    """Those for which libvmaf gave figures."""
    return [(case, run) for case, run in all_runs() if run.exit == 0 and run.frames]


def measure(
    case: GoldenCase,
    run: GoldenRun,
    threads: int,
    instruction_set: str | None = None,
    on_start: Callable[[Measurement], None] = lambda _: None,
    backend: str = "auto",
) -> Results:
    """The run again, by Acuity."""
    subsample = int((arguments(run, "--subsample") or ["1"])[0])
    pairs = pictures(case.name)
    if skipped := arguments(run, "--frame_skip_ref"):
        refs = [ref for ref, _ in pairs][int(skipped[0]) :]
        pairs = list(zip(refs, (dis for _, dis in pairs), strict=False))
    if count := arguments(run, "--frame_cnt"):
        pairs = pairs[: int(count[0])]
    with Measurement(threads, subsample, instruction_set, backend) as measurement:
        models, features = wanted(run)
        for spec in models:
            measurement.add_model(known_model(spec))
        for feature in features:
            measurement.add_feature(feature)
        on_start(measurement)
        for ref, dis in pairs:
            measurement.add(ref, dis)
        measurement.flush()
        return measurement.results()
