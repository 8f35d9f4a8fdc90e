"""Packaged ladders: segments that play, cut at the same keyframes everywhere, and playlists of them."""

from __future__ import annotations

import os
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import pytest

from acuity.errors import OutputError, TuneError
from acuity.tune.clip import Clip, open_clip
from acuity.tune.encoders import find_encoder
from acuity.tune.encoders.encoder import EncoderSettings
from acuity.tune.ladder.ladder import Ladder, build_ladder
from acuity.tune.ladder.package import Package, check_rate, copy_sound, package_ladder
from acuity.tune.ladder.playlists import hls_media
from acuity.tune.points.point import PointScoring
from acuity.tune.points.workbench import Workbench
from acuity.tune.progress import Progress, Stopped
from tune_clips import write_video

FRAMES, SEGMENT, RATE = 25, 10, Fraction(30000, 1001)
PRESETS = {"libx264": "veryfast", "libx265": "superfast", "libsvtav1": "ultrafast", "libvpx-vp9": "ultrafast"}
NAMES = {"libx264": "avc1.64", "libx265": "hvc1.1.", "libsvtav1": "av01.0.", "libvpx-vp9": "vp09.00."}


def write_film(path: Path, sound: str | None = "aac", start: float = 0.0) -> Path:
    """A lossless clip with a tone."""
    base = round(start * 1000)
    stamps = [base + round(1000 * number / RATE) for number in range(FRAMES)] if start else None
    more = {} if sound is None else {"sound": sound, "language": "deu", "sound_start": start}
    lossless = {"qp": "0", "preset": "ultrafast"}
    return write_video(path, FRAMES, rate=RATE, options=lossless, stamps=stamps, **more)


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    return open_clip(write_film(tmp_path_factory.mktemp("film") / "film.mkv"))


def small_ladder(bench: Workbench, clip: Clip, encoder: str = "libx264") -> Ladder:
    settings = EncoderSettings(find_encoder(encoder), preset=PRESETS[encoder])
    return build_ladder(
        bench,
        clip,
        settings,
        [(160, 96), (80, 48)],
        [100.0],
        quality_tiers=2,
        crf_sweep=[35, 45],
        segment_seconds=SEGMENT / float(RATE),
        min_step=0.1,
    )


@pytest.fixture(scope="module", params=list(PRESETS))
def package(request: pytest.FixtureRequest, clip: Clip, tmp_path_factory: pytest.TempPathFactory) -> Package:
    bench = Workbench(PointScoring())
    ladder = small_ladder(bench, clip, request.param)
    folder = tmp_path_factory.mktemp("package") / "out"
    found = package_ladder(bench, ladder, folder)
    assert found.renditions[0].sample.settings.encoder.name == request.param
    return found


def decoded(path: str) -> list[av.VideoFrame]:
    with av.open(path) as container:
        return list(container.decode(video=0))


def test_every_rendition_is_decoded_frame_by_frame(package: Package) -> None:
    for rendition in package.renditions:
        frames = decoded(f"{package.folder}/{rendition.variant.name}.m3u8")
        assert len(frames) == FRAMES
        assert {(frame.width, frame.height) for frame in frames} == {
            (rendition.variant.width, rendition.variant.height)
        }
        # FFmpeg shows a stream with reordered frames a little late, all of it: see first_shown().
        times = [frame.time - frames[0].time for frame in frames]
        assert times == pytest.approx([float(number / RATE) for number in range(FRAMES)], abs=1e-4)


def first_shown(segment: bytes) -> int:
    """When the earliest frame of a segment is shown, in ticks, as ISO/IEC 14496-12 has it.

    Offsets from decoding to presentation may be negative, as CMAF wants them. FFmpeg adds the largest of them
    to all times, so it can't be asked.
    """
    segment = segment[int.from_bytes(segment[:4], "big") :]
    at = segment.index(b"tfdt")
    time = int.from_bytes(segment[at + 8 : at + 16], "big")
    at = segment.index(b"trun")
    version, flags = segment[at + 4], int.from_bytes(segment[at + 5 : at + 8], "big")
    count = int.from_bytes(segment[at + 8 : at + 12], "big")
    at += 12 + 4 * bool(flags & 0x1) + 4 * bool(flags & 0x4)
    sample = 4 * sum(bool(flags & bit) for bit in (0x200, 0x400, 0x800))
    assert version == 1
    assert not flags & 0x100  # every frame is as long as the others
    if not flags & 0x800:
        return time
    offsets = [
        int.from_bytes(segment[at + i * sample + sample - 4 : at + (i + 1) * sample], "big", signed=True)
        for i in range(count)
    ]
    return min(time + 1001 * i + offset for i, offset in enumerate(offsets))


def test_segments_begin_with_keyframes_at_the_same_times(package: Package) -> None:
    for rendition in package.renditions:
        folder = Path(package.folder) / rendition.variant.name
        init = (folder / "init.mp4").read_bytes()
        files = sorted(folder.glob("*.m4s"))
        assert len(files) == -(-FRAMES // SEGMENT)
        for number, file in enumerate(files):
            alone = Path(package.folder).parent / "alone.mp4"
            alone.write_bytes(init + file.read_bytes())
            with av.open(str(alone)) as container:
                packets = [packet for packet in container.demux(video=0) if packet.size]
            assert packets[0].is_keyframe
            assert not any(packet.is_keyframe for packet in packets[1:])
            assert first_shown(file.read_bytes()) == number * SEGMENT * 1001
            assert len(decoded(str(alone))) == min(SEGMENT, FRAMES - number * SEGMENT)


def test_the_final_encode_is_what_was_predicted(package: Package) -> None:
    for rendition in package.document()["renditions"]:
        assert rendition["vmaf"] == rendition["predicted_vmaf"]
        assert rendition["bitrate_kbps"] == rendition["predicted_bitrate_kbps"]
        assert rendition["frames"] == FRAMES
    encoder = package.renditions[0].sample.settings.encoder.name
    for made in package.renditions:
        assert made.variant.codecs.startswith(NAMES[encoder])
        files = sorted((Path(package.folder) / made.variant.name).glob("*.m4s"))
        assert [segment.bytes for segment in made.variant.timeline.segments] == [
            f.stat().st_size for f in files
        ]


def test_sound_is_copied(package: Package, clip: Clip) -> None:
    assert package.audio is not None
    assert package.audio.codecs == "mp4a.40.2"
    assert package.audio.language == "deu"
    with av.open(clip.path) as container:
        source = [
            bytes(packet) for packet in container.demux(audio=0) if packet.size and (packet.pts or 0) >= 0
        ]
    with av.open(f"{package.folder}/audio.m3u8") as container:
        copied = [bytes(packet) for packet in container.demux(audio=0) if packet.size]
    assert copied == source
    assert float(package.audio.timeline.seconds) == pytest.approx(len(source) * 1024 / 48000, abs=0.01)


def test_players_find_everything_that_playlists_name(package: Package) -> None:
    m3u8 = pytest.importorskip("m3u8", reason="m3u8 is not installed")
    mpegdash = pytest.importorskip("mpegdash.parser", reason="mpegdash is not installed")
    folder = Path(package.folder)
    master = m3u8.load(str(folder / "master.m3u8"))
    assert [entry.uri for entry in master.playlists] == [
        f"{one.variant.name}.m3u8" for one in package.renditions
    ]
    durations = []
    for entry in [*master.playlists, *master.media]:
        media = m3u8.load(str(folder / entry.uri))
        assert (folder / media.segments[0].init_section.uri).is_file()
        assert all((folder / segment.uri).is_file() for segment in media.segments)
        assert max(round(segment.duration) for segment in media.segments) <= media.target_duration
        durations.append([segment.duration for segment in media.segments])
    assert durations[0] == durations[1]
    assert sum(durations[0]) == pytest.approx(float(FRAMES / RATE), abs=1e-5)
    mpd = mpegdash.MPEGDASHParser.parse((folder / "manifest.mpd").read_text())
    for adaptation in mpd.periods[0].adaptation_sets:
        for representation in adaptation.representations:
            template = representation.segment_templates[0]
            count = sum(1 + (run.r or 0) for run in template.segment_timelines[0].Ss)
            name = template.media.replace("$Number%05d$", "{:05d}")
            name = name.replace("$RepresentationID$", representation.id)
            assert all((folder / name.format(number)).is_file() for number in range(1, count + 1))
            assert not (folder / name.format(count + 1)).exists()


@pytest.mark.parametrize(
    ("encoder", "codecs"),
    [("ac3", "ac-3"), ("eac3", "ec-3"), ("libopus", "Opus"), ("flac", "fLaC"), ("libmp3lame", "mp4a.40.34")],
)
def test_sound_of_other_codecs(tmp_path: Path, encoder: str, codecs: str) -> None:
    film = open_clip(write_film(tmp_path / "film.mkv", encoder))
    track, notes = copy_sound(film, str(tmp_path), Fraction(1, 2), Fraction(0), lambda: None)
    assert notes == []
    assert track is not None
    assert track.codecs == codecs
    (tmp_path / "audio.m3u8").write_text(hls_media(track.name, track.timeline))
    with av.open(str(tmp_path / "audio.m3u8")) as container:
        assert sum(frame.samples for frame in container.decode(audio=0)) >= 39000


def test_sound_that_segments_cannot_hold_is_named(tmp_path: Path) -> None:
    film = open_clip(write_film(tmp_path / "film.mkv", "pcm_s16le"))
    bench = Workbench(PointScoring())
    found = package_ladder(bench, small_ladder(bench, film), tmp_path / "out")
    assert found.audio is None
    assert "segments can't hold pcm_s16le here" in found.notes[0]
    assert not (tmp_path / "out" / "audio").exists()


def test_sound_starts_with_the_video(tmp_path: Path) -> None:
    film = open_clip(write_film(tmp_path / "film.mkv", start=2.0))
    bench = Workbench(PointScoring())
    found = package_ladder(bench, small_ladder(bench, film), tmp_path / "out")
    assert found.audio is not None
    with av.open(f"{found.folder}/audio.m3u8") as container:
        first = next(packet for packet in container.demux(audio=0) if packet.size)
        assert 0 <= float(first.pts * first.time_base) < 0.05


def test_a_stop_leaves_nothing_behind(clip: Clip, tmp_path: Path) -> None:
    bench = Workbench(PointScoring())
    ladder = small_ladder(bench, clip)

    def stop(progress: Progress) -> None:
        if progress.encodes_done:
            other.stop()

    other = Workbench(PointScoring(), listener=stop)
    with pytest.raises(Stopped):
        package_ladder(other, ladder, tmp_path / "out")
    assert os.listdir(tmp_path) == []


def test_a_failure_to_write_leaves_nothing_behind(
    clip: Clip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Workbench(PointScoring())
    ladder = small_ladder(bench, clip)
    from acuity.tune.ladder import segments

    def full(path: str, *rest: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(segments, "open", full, raising=False)
    with pytest.raises(
        OutputError, match=r"^the segments in .* could not be written: No space left on device$"
    ):
        package_ladder(bench, ladder, tmp_path / "out")
    assert os.listdir(tmp_path) == []


def test_a_variable_rate_is_refused_before_anything_is_encoded(clip: Clip, tmp_path: Path) -> None:
    """Segments of an even rate would drift from the sound."""
    varied = replace(clip, info=replace(clip.info, variable_rate=True))
    with pytest.raises(TuneError, match="varies, and segments need an even one"):
        check_rate(varied)
    check_rate(clip)
