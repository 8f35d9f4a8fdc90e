"""Encodes of several qualities can be one stream."""

from __future__ import annotations

import av
import pytest
from shot_plans import settings_of, write_shots

from acuity.errors import EncodeFailed, EncoderError, TuneError
from acuity.tune.clip import Clip
from acuity.tune.encoders import find_encoder
from acuity.tune.encoders.encode import PictureForm, open_encoding
from acuity.tune.encoders.settings import EncoderSettings
from acuity.tune.shots.one_stream import (
    check_one_configuration,
    delay,
    essential,
    for_stitching,
    retime,
    stitchable_range,
)


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    return write_shots(tmp_path_factory.mktemp("clips") / "shots.y4m")


def configurations(clip: Clip, settings: EncoderSettings, *qualities: int) -> dict[int, bytes]:
    found = {}
    for quality in qualities:
        encoding = open_encoding(settings, quality, PictureForm.of(clip, settings))
        found[quality] = encoding.extradata
        encoding.close()
        encoding.dispose()
    return found


@pytest.mark.parametrize("name", ["libx264", "libx265", "libsvtav1", "libvpx-vp9"])
def test_the_configuration_is_the_same_at_every_quality(name: str, clip: Clip) -> None:
    settings = for_stitching(settings_of(name))
    best, worst = stitchable_range(settings.encoder, None)
    check_one_configuration(settings, configurations(clip, settings, best, 28, worst))


def test_unlike_configurations_are_refused(clip: Clip) -> None:
    settings = settings_of("libx264")  # whose picture parameters depend on the quality by themselves
    with pytest.raises(TuneError, match="libx264 crf 20 and libx264 crf 30 can't be in one stream"):
        check_one_configuration(settings, configurations(clip, settings, 20, 30))
    assert for_stitching(for_stitching(settings)) == for_stitching(settings)


def test_lossless_is_left_out() -> None:
    assert stitchable_range(find_encoder("libx264"), None) == (1, 51)
    assert stitchable_range(find_encoder("libx264"), (0, 0)) == (1, 1)
    assert stitchable_range(find_encoder("libx264"), (30, 20)) == (20, 30)
    assert stitchable_range(find_encoder("libx265"), None) == (0, 51)
    with pytest.raises(EncoderError):
        stitchable_range(find_encoder("libx265"), (20, 99))


def test_remarks_are_no_part_of_a_configuration() -> None:
    sets = b"\0\0\0\1\x67abc\0\0\0\1\x68de"
    assert essential("h264", sets + b"\0\0\1\x06hello") == essential("h264", sets)
    assert essential("h264", sets + b"\0\0\1\x68xy") != essential("h264", sets)
    assert essential("av1", b"\x0a\x0b") == b"\x0a\x0b"


def test_times_go_on_from_shot_to_shot() -> None:
    settings = settings_of("libx264")
    packet = av.Packet(b"data")
    packet.pts, packet.dts = 4, -(2**62)  # as x265 says of a shot of one frame
    retime(packet, settings, 100, 101)
    assert (packet.pts, packet.dts) == (104, 101 - delay("h264"))
    late = av.Packet(b"data")
    late.pts = 0
    with pytest.raises(EncodeFailed, match="reorders more than 2"):
        retime(late, settings, 100, 103)
    late.pts = None
    with pytest.raises(EncodeFailed, match="without a time"):
        retime(late, settings, 100, 103)
