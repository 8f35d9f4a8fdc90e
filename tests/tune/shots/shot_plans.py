"""Makes a clip of unlike shots, and plans of it with given qualities."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from shot_pictures import noisy, pan, still, texture

from acuity.tune.clip import Clip, Part, open_clip
from acuity.tune.encoders import find_encoder
from acuity.tune.encoders.encoder import EncoderSettings
from acuity.tune.points.point import PointScoring, measure
from acuity.tune.search.target import Target
from acuity.tune.shots.plan import PlannedShot, ShotPlan
from acuity.tune.shots.stitch import for_stitching

FAST = {"libx264": "superfast", "libx265": "ultrafast", "libsvtav1": "12", "libvpx-vp9": "ultrafast"}


def write_shots(path: Path) -> Clip:
    """A still, noise, and a pan, of 14 frames each, as Y4M."""
    planes = still(texture(1), 14) + noisy(still(texture(2), 14), 14) + pan(40, 14, 7)
    with path.open("wb") as file:
        file.write(b"YUV4MPEG2 W160 H96 F24:1 Ip A1:1 C420\n")
        for plane in planes:
            luma = np.clip(np.rint(plane), 16, 235).astype(np.uint8)
            file.write(b"FRAME\n" + luma.tobytes() + bytes([120]) * (160 * 96 // 2))
    return open_clip(path)


def settings_of(name: str) -> EncoderSettings:
    return EncoderSettings(find_encoder(name), preset=FAST[name])


def plan_of(clip: Clip, settings: EncoderSettings, qualities: Sequence[int], cuts: Sequence[int]) -> ShotPlan:
    """A plan with these qualities of shots that begin at 0 and at the cuts."""
    settings, target = for_stitching(settings), Target(80.0)
    bounds = [0, *cuts, clip.frames or 0]
    shots = []
    for (start, end), quality in zip(pairwise(bounds), qualities, strict=True):
        point = measure(clip.shot(Part(start, end)), settings, quality)
        shots.append(PlannedShot(Part(start, end), point, point.pool(), point.pool() >= 80))
    return ShotPlan(
        clip, settings, PointScoring(), "mean", target, None, tuple(shots), len(shots), len(shots), True
    )
