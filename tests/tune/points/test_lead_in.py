"""A shot's frames have the figures that they have in the whole video."""

from __future__ import annotations

import numpy as np
import pytest

from acuity.tune.clip import Clip, Part, open_clip
from acuity.tune.encoders import find_encoder
from acuity.tune.encoders.settings import Settings
from acuity.tune.points.point import measure
from tune_clips import write_y4m

# Every frame alone and of the same quantiser: a frame's picture is the same wherever the encode begins.
SETTINGS = Settings(
    find_encoder("libx264"), preset="ultrafast", keyframe_interval=1, options=(("x264-params", "qp=34"),)
)


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    return open_clip(write_y4m(tmp_path_factory.mktemp("clips") / "clip.y4m", 20))


def test_a_shots_figures_are_those_of_the_whole_video(clip: Clip) -> None:
    whole = measure(clip, SETTINGS, 30)
    shot = measure(clip.shot(Part(10, 20)), SETTINGS, 30)
    alone = measure(clip.of(Part(10, 20)), SETTINGS, 30)
    assert len(shot.scores["vmaf"]) == shot.frames == 10
    assert np.array_equal(shot.sizes, alone.sizes), "the encode is the same"
    assert np.array_equal(shot.scores["vmaf"], whole.scores["vmaf"][10:])
    assert np.array_equal(alone.scores["vmaf"][1:], whole.scores["vmaf"][11:])
    assert abs(alone.scores["vmaf"][0] - whole.scores["vmaf"][10]) > 3


def test_a_scaled_shot_has_a_lead_in_too(clip: Clip) -> None:
    smaller = Settings(find_encoder("libx264"), preset="ultrafast", size=(80, 48))
    assert len(measure(clip.shot(Part(10, 20)), smaller, 30).scores["vmaf"]) == 10


def test_the_first_shot_has_none(clip: Clip) -> None:
    first = measure(clip.shot(Part(0, 10)), SETTINGS, 30)
    assert np.array_equal(first.scores["vmaf"], measure(clip.of(Part(0, 10)), SETTINGS, 30).scores["vmaf"])


def test_a_shot_is_not_the_same_clip_as_its_frames_alone(clip: Clip) -> None:
    assert clip.shot(Part(10, 20)).digest() != clip.of(Part(10, 20)).digest()
    assert not clip.shot(Part(10, 20)).of(Part(0, 5)).led
