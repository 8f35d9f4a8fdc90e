"""Ladders of real encodes: rungs, playlists and documents of them."""

from __future__ import annotations

import json
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
from acuity.tune.ladder import segments
from acuity.tune.ladder.ladder import Ladder, build_ladder
from acuity.tune.ladder.package import Package, check_rate, copy_sound, package_ladder
from acuity.tune.ladder.playlists import hls_media
from acuity.tune.ladder.rungs import RungChoice
from acuity.tune.ladder.sweep import Size
from acuity.tune.points.point import PointScoring, measure
from acuity.tune.points.workbench import Workbench
from acuity.tune.progress import Progress, Stopped
from tune_clips import write_video, write_y4m

SIZES = [(192, 112), (128, 72), (96, 56)]
TARGETS = [90.0, 70.0]
FAST = EncoderSettings(find_encoder("libx264"), preset="ultrafast")


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    return open_clip(write_y4m(tmp_path_factory.mktemp("ladder") / "a.y4m", 26, 192, 112))


@pytest.fixture(scope="module")
def bench() -> Workbench:
    return Workbench(PointScoring())


def built(
    bench: Workbench,
    clip: Clip,
    sizes: list[Size],
    targets: list[float],
    *,
    min_step: float = 2.0,
    seconds: float = 0.4,
    **options: Any,
) -> Ladder:
    choice = RungChoice(targets, min_step=min_step)
    return build_ladder(bench, clip, FAST, sizes, choice, segment_seconds=seconds, **options)


@pytest.fixture(scope="module")
def ladder(clip: Clip, bench: Workbench) -> Ladder:
    return built(bench, clip, [*SIZES, (384, 224)], TARGETS, min_step=1.0)


def test_rungs_rise_and_reach_the_targets(ladder: Ladder) -> None:
    scores = [rung.vmaf for rung in ladder.renditions]
    rates = [rung.bitrate_kbps for rung in ladder.renditions]
    assert (scores, rates) == (sorted(scores), sorted(rates))
    assert 70.0 <= scores[0] < 90.0 <= scores[-1]
    measured = [sample for sample in ladder.samples if sample.point is not None]
    assert ladder.encodes == len({(sample.width, sample.crf) for sample in measured}) == len(measured)


def test_a_rung_is_its_sample_at_the_display_size(clip: Clip, ladder: Ladder) -> None:
    rung = ladder.renditions[0]
    assert rung.crf is not None
    assert rung.point is not None
    again = measure(clip, rung.settings, rung.crf)
    assert again.pool() == rung.vmaf
    assert again.bytes == rung.point.bytes
    assert rung.settings.fixed_keyframes
    assert rung.settings.keyframe_interval == 10


def test_a_size_larger_than_the_source_is_marked_and_the_rest_goes_on(ladder: Ladder) -> None:
    (failed,) = (sample for sample in ladder.samples if sample.error is not None)
    assert (failed.width, failed.height) == (384, 224)
    assert "384x224 is larger than" in str(failed.error)
    assert any("384x224 is larger than" in note for note in ladder.notes)


def test_the_document(ladder: Ladder) -> None:
    document = json.loads(json.dumps(ladder.document()))
    assert document["schema"] == "vmaf-tune-ladder/v1"
    assert document["rungs"] == document["renditions"]
    top = document["renditions"][-1]
    assert {"width", "height", "bitrate_kbps", "bandwidth_bps", "vmaf", "crf"} <= set(top)
    assert top["codecs"].startswith("avc1.42")
    assert top["bandwidth_bps"] >= top["bitrate_kbps"] * 1000
    assert document["encoder_version"].startswith("libx264 ")
    assert len(document["samples"]) == len(ladder.samples)
    assert sum(sample["on_hull"] for sample in document["samples"]) == len(ladder.hull)


def test_a_size_of_another_shape_is_noted(clip: Clip, bench: Workbench) -> None:
    found = built(bench, clip, [(96, 96)], [60.0], crf_sweep=[30])
    assert any("96x96 hasn't the shape of the source (192x112)" in note for note in found.notes)
    assert found.variants[0].aspect > 1


def test_a_target_that_no_sample_reaches_is_no_success(clip: Clip, bench: Workbench) -> None:
    found = built(bench, clip, [(96, 56)], [99.9, 60.0]).document()
    assert not found["ok"]
    assert found["error"].startswith("no sample reaches VMAF 99.9: the top rung is the best of them")


def test_a_lowest_rung_above_its_target_is_noted(clip: Clip, bench: Workbench) -> None:
    found = built(bench, clip, [SIZES[0]], [90.0, 10.0], quality_range=(0, 32))
    assert found.document()["ok"]
    said = (
        f"the lowest rung has VMAF {found.renditions[0].vmaf:.2f}, and 10 was asked for: crf 32 is the worst"
    )
    assert [note for note in found.notes if note.startswith(said)]


def test_a_size_without_a_rung_is_noted(clip: Clip, bench: Workbench) -> None:
    found = built(bench, clip, [SIZES[0], (32, 20)], TARGETS)
    assert {rung.width for rung in found.renditions} == {192}
    assert [note for note in found.notes if note.startswith("no rung is 32x20: its encodes that are worth")]


@pytest.mark.parametrize(
    ("sizes", "options", "said"),
    [
        ([(384, 224)], {}, "384x224 is larger than"),
        ([(95, 55)], {}, "odd side"),
        ([], {}, "a ladder needs sizes"),
        (SIZES, {"crf_sweep": [20, 60]}, "crf 60 is outside the range"),
        (SIZES, {"seconds": 0.001}, "shorter than a frame"),
    ],
)
def test_what_cannot_be_a_ladder_is_refused(
    clip: Clip, bench: Workbench, sizes: list[Size], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(TuneError, match=said):
        built(bench, clip, sizes, TARGETS, **options)


# ---- Packaged ladders: segments that play, cut at the same keyframes everywhere, and  ----


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
def movie(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    return open_clip(write_film(tmp_path_factory.mktemp("film") / "film.mkv"))


def small_ladder(bench: Workbench, movie: Clip, encoder: str = "libx264") -> Ladder:
    settings = EncoderSettings(find_encoder(encoder), preset=PRESETS[encoder])
    return build_ladder(
        bench,
        movie,
        settings,
        [(160, 96), (80, 48)],
        RungChoice([100.0], 2, min_step=0.1),
        crf_sweep=[40],
        segment_seconds=SEGMENT / float(RATE),
    )


@pytest.fixture(scope="module", params=list(PRESETS))
def package(request: pytest.FixtureRequest, movie: Clip, tmp_path_factory: pytest.TempPathFactory) -> Package:
    bench = Workbench(PointScoring())
    folder = tmp_path_factory.mktemp("package") / "out"
    found = package_ladder(bench, small_ladder(bench, movie, request.param), folder)
    assert found.renditions[0].sample.settings.encoder.name == request.param
    return found


def decoded(path: str) -> list[av.VideoFrame]:
    with av.open(path) as container:
        return list(container.decode(video=0))


def test_every_rendition_is_decoded_frame_by_frame(package: Package) -> None:
    for rendition in package.renditions:
        frames = decoded(f"{package.folder}/{rendition.variant.name}.m3u8")
        assert len(frames) == FRAMES
        size = rendition.variant.width, rendition.variant.height
        assert {(frame.width, frame.height) for frame in frames} == {size}
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
    for made in package.renditions:
        assert made.variant.codecs.startswith(NAMES[made.sample.settings.encoder.name])
        files = sorted((Path(package.folder) / made.variant.name).glob("*.m4s"))
        sizes = [segment.bytes for segment in made.variant.timeline.segments]
        assert sizes == [file.stat().st_size for file in files]


def test_sound_is_copied(package: Package, movie: Clip) -> None:
    assert package.audio is not None
    assert (package.audio.codecs, package.audio.language) == ("mp4a.40.2", "deu")

    def packets(path: str) -> list[bytes]:
        with av.open(path) as container:
            return [bytes(packet) for packet in container.demux(audio=0) if packet.size and packet.pts >= 0]

    source = packets(movie.path)
    assert packets(f"{package.folder}/audio.m3u8") == source
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


def test_a_stop_leaves_nothing_behind(movie: Clip, tmp_path: Path) -> None:
    ladder = small_ladder(Workbench(PointScoring()), movie)

    def stop(progress: Progress) -> None:
        if progress.encodes_done:
            other.stop()

    other = Workbench(PointScoring(), listener=stop)
    with pytest.raises(Stopped):
        package_ladder(other, ladder, tmp_path / "out")
    assert os.listdir(tmp_path) == []


def test_a_failure_to_write_leaves_nothing_behind(
    movie: Clip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Workbench(PointScoring())
    ladder = small_ladder(bench, movie)

    def full(path: str, *rest: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(segments, "open", full, raising=False)
    said = r"^the segments in .* could not be written: No space left on device$"
    with pytest.raises(OutputError, match=said):
        package_ladder(bench, ladder, tmp_path / "out")
    assert os.listdir(tmp_path) == []


def test_a_variable_rate_is_refused_before_anything_is_encoded(movie: Clip, tmp_path: Path) -> None:
    """Segments of an even rate would drift from the sound."""
    varied = replace(movie, info=replace(movie.info, variable_rate=True))
    with pytest.raises(TuneError, match="varies, and segments need an even one"):
        check_rate(varied)
    check_rate(movie)
