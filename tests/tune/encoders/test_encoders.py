"""The table of encoders, and settings made of it."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from acuity.errors import EncoderError
from acuity.tune.encoders import ENCODERS, PRESETS, find_encoder, usable_encoders
from acuity.tune.encoders.encoder import EncoderSettings
from acuity.tune.encoders.versions import encoder_version
from tune_clips import IN_PROCESS


@pytest.fixture(autouse=True)
def no_ffmpeg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACUITY_FFMPEG", raising=False)


@pytest.mark.parametrize("encoder", ENCODERS.values(), ids=lambda encoder: encoder.name)
def test_steps_go_from_the_best_quality_to_the_worst(encoder) -> None:
    assert encoder.quality(0) == encoder.best
    assert encoder.quality(encoder.last_step) == encoder.worst
    for step in range(encoder.last_step + 1):
        assert encoder.step(encoder.quality(step)) == step
    assert 0 <= encoder.step(encoder.default) <= encoder.last_step
    for preset in PRESETS:
        assert encoder.preset(preset)


def test_encoders_are_found_by_any_name() -> None:
    assert [encoder.name for encoder in usable_encoders()] == list(IN_PROCESS)
    assert [find_encoder(alias).name for alias in ("x264", "HEVC", "av1", "vp9")] == list(IN_PROCESS)


def test_an_unknown_encoder_is_refused_with_those_that_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "there is no encoder 'xvid': use libx264, libx265, libsvtav1 and libvpx-vp9; an ffmpeg that"
    with pytest.raises(EncoderError, match=said):
        find_encoder("xvid")
    monkeypatch.setenv("ACUITY_FFMPEG", "/nowhere/ffmpeg")
    with pytest.raises(EncoderError, match="those of other names aren't known here"):
        find_encoder("librav1e")


@pytest.mark.parametrize(("name", "preset", "own"), [
    ("libx264", "slow", "slow"),
    ("libx264", None, "medium"),
    ("libsvtav1", "medium", "7"),
    ("libsvtav1", "4", "4"),
    ("libvpx-vp9", "placebo", "0"),
    ("libvpx-vp9", "7", "7"),
])  # fmt: skip
def test_presets_have_one_vocabulary(name: str, preset: str | None, own: str) -> None:
    settings = EncoderSettings(ENCODERS[name], preset=preset)
    assert settings.document()["preset"] == own
    assert own in settings.encoder_options(30).values()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"preset": "quick"}, "libsvtav1 has no preset 'quick': use one of ultrafast, .* placebo, 0 to 13"),
        ({"preset": ""}, "libsvtav1 has no preset ''"),
        ({"tune": "grain"}, "libsvtav1 has no tune 'grain': use one of vq, psnr, ssim"),
        ({"options": (("crf", "20"),)}, "the option crf is the quality"),
        ({"options": (("threads", "2"),)}, "has a place of its own: pass it as threads"),
        ({"size": (0, 20)}, "0x20 is no size"),
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(EncoderError, match=said):
        EncoderSettings(ENCODERS["libsvtav1"], **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", IN_PROCESS)
def test_versions_are_those_of_the_libraries(name: str) -> None:
    version = encoder_version(ENCODERS[name])
    assert re.fullmatch(rf"{name} (core )?\d+\S* \(PyAV [\d.]+, libavcodec [\d.]+\)", version)


def test_a_version_that_was_not_found_is_looked_for_again() -> None:
    """In a process of its own, where nobody asked before."""
    program = """
from acuity.tune.encoders import ENCODERS, versions
right = versions.PyavEncoding
def wrong(*_):
    raise OSError("no memory")
versions.PyavEncoding = wrong
print(versions.encoder_version(ENCODERS["libx264"]))
versions.PyavEncoding = right
print(versions.encoder_version(ENCODERS["libx264"]))
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    first, second = ran.stdout.splitlines()
    assert first.startswith("libx264 of unknown version (")
    assert second.startswith("libx264 core ")
