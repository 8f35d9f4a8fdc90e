"""Codec blocks: the places, ordinals and aliases of both layouts."""

from __future__ import annotations

import pytest

from acuity.errors import ModelError
from acuity.tiny.feature_input import ALIASES, PRESETS, VOCABULARIES, make_block
from acuity.tiny.options import TinyOptions


def values(size: int, codec: str, preset: str | None = None, crf: int = 0) -> list[float]:
    found = make_block("net", size, None, TinyOptions(codec=codec, preset=preset, crf=crf))
    return [float(value) for value in found.values]


@pytest.mark.parametrize("size", VOCABULARIES)
def test_every_encoder_has_its_place(size: int) -> None:
    for place, encoder in enumerate(VOCABULARIES[size]):
        found = values(size, encoder, crf=63)
        assert len(found) == size
        assert found[:-2] == [float(index == place) for index in range(size - 2)]
        assert found[-2:] == [pytest.approx(5 / 9), 1.0]


def test_the_places_that_matter_most() -> None:
    assert VOCABULARIES[14][0] == VOCABULARIES[18][0] == "libx264"
    assert (VOCABULARIES[14][4], VOCABULARIES[14][11]) == ("libvpx-vp9", "unknown")
    assert (VOCABULARIES[18][1], VOCABULARIES[18][13], VOCABULARIES[18][15]) == (
        "libaom-av1",
        "libsvtav1",
        "hevc_videotoolbox",
    )


@pytest.mark.parametrize(
    ("codec", "preset", "ordinal"),
    [
        ("libx264", "ultrafast", 0),
        ("x265", "medium", 5),
        ("libx265", "placebo", 9),
        ("h264_qsv", "veryfast", 2),
        ("av1_qsv", "veryslow", 8),
        ("libsvtav1", "6", 6),
        ("av1", "13", 9),
        ("h264_nvenc", "p1", 0),
        ("hevc_nvenc", "p4", 5),
        ("av1_nvenc", "p7", 9),
        ("vvc", "faster", 1),
        ("libvvenc", "slower", 8),
        ("vp9", "realtime", 0),
        ("libvpx-vp9", "best", 9),
        ("libx264", "unknown", 5),
        ("libx264", None, 5),
        (" X264 ", "SLOW", 6),
    ],
)
def test_presets(codec: str, preset: str | None, ordinal: int) -> None:
    assert values(14, codec, preset)[-2] == pytest.approx(ordinal / 9)


def test_crf() -> None:
    assert values(14, "libx264", crf=23)[-1] == pytest.approx(23 / 63)


def test_aliases_lead_to_encoders() -> None:
    known = {encoder for names in VOCABULARIES.values() for encoder in names}
    assert set(ALIASES.values()) <= known
    assert set(PRESETS) <= known
    assert values(14, "h264") == values(14, "libx264")


def test_encoders_without_a_place() -> None:
    assert values(14, "libaom-av1")[11] == 1  # the place of unknown ones
    with pytest.raises(
        ModelError, match=r"tiny_codec='vp9' is no encoder that the model 'net' knows: .*libx264, "
    ):
        values(18, "vp9")
    with pytest.raises(ModelError, match="tiny_codec='libx246' is no encoder"):
        values(14, "libx246")


def test_presets_that_are_none() -> None:
    with pytest.raises(ModelError, match=r"tiny_preset='p4' is no preset of libx264: .*ultrafast, "):
        values(14, "libx264", "p4")
    with pytest.raises(ModelError, match="knows no presets of h264_amf: leave it out"):
        values(18, "h264_amf", "quality")


def test_vocabularies_of_a_sidecar() -> None:
    options = TinyOptions(codec="two", crf=0)
    assert make_block("net", 5, ("one", "two", "three"), options).values[:3].tolist() == [0, 1, 0]
    with pytest.raises(ModelError, match="its encoder_vocab of 3 encoders makes 5"):
        make_block("net", 6, ("one", "two", "three"), options)
    with pytest.raises(
        ModelError, match="a codec input of 9 values, and only layouts of 14 and 18 are known"
    ):
        make_block("net", 9, None, options)
