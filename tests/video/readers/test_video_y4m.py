"""Y4M: colour spaces, frame lines, damage, and a parser that only ever raises InputError."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from acuity.errors import FormatError, InputError, NoFramesError, TruncatedError
from acuity.video.picture import PixelFormat
from acuity.video.readers.y4m import COLOURS, MAX_LINE, Y4mReader, frame_line_length, parse_header
from video_clips import all_same, piped, random_planes, same, y4m_bytes


def write(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "clip.y4m"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("colour", sorted(COLOURS))
@pytest.mark.parametrize("size", [(8, 6), (7, 5), (1, 1)])
def test_every_colour_space(tmp_path: Path, colour: str, size: tuple[int, int]) -> None:
    format = COLOURS[colour]
    frames = [random_planes(format, *size, seed) for seed in range(3)]
    stored = [[*planes, planes[0]] for planes in frames] if colour == "444alpha" else frames
    path = write(tmp_path, y4m_bytes(stored, f"W{size[0]} H{size[1]} F25:1 Ip A1:1 C{colour}"))
    with Y4mReader(path) as reader:
        assert (reader.info.width, reader.info.height, reader.info.format) == (*size, format)
        assert (reader.info.frames, reader.info.frames_exact) == (3, True)
        assert all_same(reader, frames)


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("W4 H2", {"rate": None, "interlaced": False, "full_range": None, "format": PixelFormat("420", 8)}),
        ("W4 H2 F30000:1001 Ip", {"rate": Fraction(30000, 1001)}),
        ("W4 H2 F0:0 I?", {"rate": None, "interlaced": False}),
        ("W4 H2 It", {"interlaced": True}),
        ("W4 H2 Ib", {"interlaced": True}),
        ("W4 H2 Im", {"interlaced": True}),
        ("W4 H2 XYSCSS=422 XCOLORRANGE=FULL", {"full_range": True, "format": PixelFormat("422", 8)}),
        ("W4 H2 C444 XYSCSS=422 XCOLORRANGE=LIMITED", {"full_range": False, "format": PixelFormat("444", 8)}),
        ("H2 W4 Z9 XSOMETHING X=1", {"format": PixelFormat("420", 8)}),
    ],
)
def test_header_tags(tags: str, expected: dict[str, object]) -> None:
    header = parse_header(f"YUV4MPEG2 {tags}".encode(), "clip")
    assert {name: getattr(header, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"YUV4MPEG2", "no W .* write it again, with W1920"),
        (b"YUV4MPEG2 W4", "no H .* write it again"),
        (b"YUV4MPEG2 Wfour H2", "Wfour.* not a number: write it again"),
        (b"YUV4MPEG2 W-4 H2", "W-4"),
        (b"YUV4MPEG2 W0 H2", "0x2"),
        (b"YUV4MPEG2 W99999999 H2", "99999999x2"),
        (b"YUV4MPEG2 W99999999999999 H2", "not a number"),
        (b"YUV4MPEG2 W60000 H60000", "60000x60000"),
        (b"YUV4MPEG2 W4 H2 C411", "C411"),
        (b"YUV4MPEG2 W4 H2 C420p11", "C420p11"),
        (b"YUV4MPEG2 W4 H2 Crgb", "Crgb"),
        (b"YUV4MPEG2 W4 H2 F25", "F25.* not a ratio: write it again, with F25:1"),
        (b"YUV4MPEG2 W4 H2 Fx:1", "Fx:1"),
        (b"YUV4MPEG2 W4 H2 Ix", "Ix.* use Ip, It, Ib"),
        (b"YUV4MPEG2 W4 H2 \xff", "not text.* write it again"),
        (b"YUV4MPEG3 W4 H2", "YUV4MPEG2"),
    ],
)
def test_headers_that_are_refused(line: bytes, says: str) -> None:
    with pytest.raises(FormatError, match=says) as caught:
        parse_header(line, "clip.y4m")
    assert "'clip.y4m'" in str(caught.value)


LINES = [b"FRAME\n", b"FRAME Ip\n", b"FRAME XCOMMENT=" + b"x" * 300 + b"\n", b"FRAME\n"]


@pytest.mark.parametrize("size", [(16, 8), (1, 1)])
def test_frame_lines_with_parameters(tmp_path: Path, size: tuple[int, int]) -> None:
    frames = [random_planes(PixelFormat("420", 8), *size, seed) for seed in range(8)]
    data = y4m_bytes(frames, f"W{size[0]} H{size[1]}", lambda i: LINES[i % 4])
    with Y4mReader(write(tmp_path, data)) as reader:
        assert (reader.info.frames, reader.info.frames_exact) == (8, True)
        assert all_same(reader, frames)
        for number in (6, 1, 0, 7, 3):
            reader.seek(number)
            assert same(next(iter(reader)), frames[number])


@pytest.mark.parametrize("luma_only", [False, True])
def test_seeking_with_plain_lines(tmp_path: Path, luma_only: bool) -> None:
    frames = [random_planes(PixelFormat("420", 10), 5, 3, seed) for seed in range(6)]
    with Y4mReader(write(tmp_path, y4m_bytes(frames, "W5 H3 C420p10")), luma_only=luma_only) as reader:
        for number in (5, 0, 2):
            reader.seek(number)
            assert same(next(iter(reader)), frames[number][: 1 if luma_only else 3])
        assert len(list(reader)) == 3
        reader.seek(6)
        assert list(reader) == []
        with pytest.raises(NoFramesError, match="no frame 7"):
            reader.seek(7)


@pytest.mark.parametrize("lines", [LINES[:1], LINES])
def test_a_pipe_is_read_as_a_stream(tmp_path: Path, lines: list[bytes]) -> None:
    frames = [random_planes(PixelFormat("444", 8), 33, 9, seed) for seed in range(7)]
    data = y4m_bytes(frames, "W33 H9 C444", lambda i: lines[i % len(lines)])
    with piped(tmp_path, data) as path, Y4mReader(path) as reader:
        assert (reader.info.frames, reader.info.seekable) == (None, False)
        assert all_same(reader, frames)


def clip() -> bytes:
    return y4m_bytes([random_planes(PixelFormat("420", 8), 8, 8, seed) for seed in range(3)], "W8 H8 F25:1")


@pytest.mark.parametrize("cut", [1, 5, 95, 96, 97, 101])
def test_a_truncated_file_is_refused_on_opening(tmp_path: Path, cut: int) -> None:
    with pytest.raises(TruncatedError, match="middle of frame 2"):
        Y4mReader(write(tmp_path, clip()[:-cut]))


def test_a_truncated_pipe_gives_its_whole_frames_first(tmp_path: Path) -> None:
    with piped(tmp_path, clip()[:-10]) as path, Y4mReader(path) as reader:
        pictures = iter(reader)
        assert next(pictures).width == next(pictures).width == 8
        with pytest.raises(TruncatedError, match="middle of frame 2"):
            next(pictures)


def test_damage_between_frames(tmp_path: Path) -> None:
    data = bytearray(clip())
    start = data.index(b"FRAME", 40)
    data[start : start + 5] = b"XXXXX"
    path = write(tmp_path, bytes(data))
    with Y4mReader(path) as reader, pytest.raises(FormatError, match=r"frame 1 .* FRAME line"):
        list(reader)
    data[start:start] = b"surplus"  # now the size gives it away on opening
    with pytest.raises(FormatError, match=r"frame 1 .* FRAME line"):
        Y4mReader(write(tmp_path, bytes(data)))


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", NoFramesError),
        (b"YUV4MPEG2 W8 H8\n", NoFramesError),
        (b"YUV4MPEG2 W8 H8", FormatError),
        (b"YUV4MPEG2 W8 H8 X" + b"x" * MAX_LINE + b"\n", FormatError),
        (b"hello\n" * 100, FormatError),
        (b"YUV4MPEG2 W8 H8\nFRAME" + b" " * 2 * MAX_LINE, FormatError),
        (b"YUV4MPEG2 W8 H8\nFRAME", TruncatedError),
        (b"YUV4MPEG2 W16384 H16384 C444p16\nFRAME\n" + bytes(99), TruncatedError),
    ],
)
def test_files_that_are_no_y4m(tmp_path: Path, data: bytes, error: type[InputError]) -> None:
    path = write(tmp_path, data)
    with pytest.raises(error, match=r"clip\.y4m"):
        Y4mReader(path)


def read_or_refuse(path: Path) -> bool:
    """Frames, or one sentence that names the file; any other exception fails the test."""
    try:
        with Y4mReader(path) as reader:
            return sum(1 for _ in reader) == reader.info.frames
    except InputError as error:
        return str(path) in str(error) and "\n" not in str(error)


FUZZ = settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@FUZZ
@given(st.binary(max_size=400), st.booleans())
def test_any_bytes_are_read_or_refused(tmp_path: Path, data: bytes, with_magic: bool) -> None:
    path = write(tmp_path, (b"YUV4MPEG2 W4 H2 " if with_magic else b"") + data)
    assert read_or_refuse(path)


KNOWN = ["W8", "H8", "W1", "H1", "F25:1", "F0:0", "Ip", "It", "A1:1", "Cmono", "C420p10", "XYSCSS=411"]
TAG = st.sampled_from(KNOWN) | st.tuples(st.sampled_from("WHFIACXZ"), st.text(max_size=8)).map("".join)
TAGS = st.lists(TAG, max_size=8).map(" ".join)


@FUZZ
@given(TAGS, st.lists(st.sampled_from(LINES), max_size=4), st.integers(0, 300), st.data())
def test_mutated_files_are_read_or_refused(
    tmp_path: Path, tags: str, lines: list[bytes], payload: int, data: st.DataObject
) -> None:
    whole = f"YUV4MPEG2 {tags}\n".encode() + b"".join(line + bytes(payload) for line in lines)
    mutated = bytearray(whole)
    for _ in range(data.draw(st.integers(0, 3))):
        mutated[data.draw(st.integers(0, len(mutated) - 1))] = data.draw(st.integers(0, 255))
    path = write(tmp_path, bytes(mutated[: data.draw(st.integers(0, len(mutated)))]))
    assert read_or_refuse(path)


@given(st.binary(max_size=64))
@example(b"FRAME")
@example(b"FRAMES\n")
@example(b"FRAME \n")
def test_frame_lines_end_at_their_newline(seen: bytes) -> None:
    try:
        length = frame_line_length(seen, "frame 0")
    except FormatError:
        assert not seen.startswith((b"FRAME\n", b"FRAME "))
        return
    if length is None:
        assert b"\n" not in seen
    else:
        assert seen[:length].startswith(b"FRAME")
        assert seen[:length].count(b"\n") == 1
        assert seen[length - 1 : length] == b"\n"
