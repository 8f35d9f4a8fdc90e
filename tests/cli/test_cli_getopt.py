"""The option parser: GNU getopt's rules over one table."""

from __future__ import annotations

import contextlib
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acuity.cli import start
from acuity.cli.getopt import Flag, UsageError, one_of, parse_flags, unsigned, wrapped
from acuity.cli.start import CardChoice, begin_early, wanted_card
from acuity.devices.cuda.hardware import cards, early_start
from acuity.devices.cuda.hardware.cards import Cards
from acuity.devices.cuda.hardware.driver import LoadedDriver
from fake_cuda import FakeCuda

TABLE = (
    Flag("reference", "", "r", "PATH"),
    Flag("height", "", "h", "N", unsigned),
    Flag("frame_skip_ref", "", "", "N", unsigned),
    Flag("frame_skip_dist", "", "", "N", unsigned),
    Flag("quiet", "", "q"),
    Flag("no_prediction", "", "n"),
    Flag("backend", "", "", "NAME", one_of("auto", "cpu")),
)


def parsed(*argv: str) -> list[tuple[str, object]]:
    return [(flag.long, value) for flag, value in parse_flags(TABLE, argv)]


@pytest.mark.parametrize(
    "argv",
    [["--reference", "a.yuv"], ["--reference=a.yuv"], ["-r", "a.yuv"], ["-ra.yuv"], ["--ref", "a.yuv"]],
)
def test_spellings_of_a_value(argv: list[str]) -> None:
    assert parsed(*argv) == [("reference", "a.yuv")]


@pytest.mark.parametrize("name", ["--frame_skip_ref", "--frame-skip-ref", "--frame-skip_ref=3"])
def test_dashes_and_underscores_are_the_same(name: str) -> None:
    assert parsed(*([name] if "=" in name else [name, "3"])) == [("frame_skip_ref", 3)]


def test_switches_run_together_with_a_value_last() -> None:
    assert parsed("-nqh", "18") == [("no_prediction", True), ("quiet", True), ("height", 18)]


def test_a_value_may_look_like_an_option() -> None:
    assert parsed("-r", "-q") == [("reference", "-q")]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--refrence", "a"], ["--refrence", "--reference"]),
        (["-x"], ["-x"]),
        (["--frame_skip", "1"], ["--frame_skip_ref", "--frame_skip_dist"]),
        (["--reference"], ["-r/--reference", "PATH"]),
        (["-h"], ["-h/--height", "needs a value"]),
        (["--quiet=1"], ["--quiet", "no value"]),
        (["-h", "tall"], ["tall", "--height", "whole number"]),
        (["--backend", "abacus"], ["abacus", "auto, cpu"]),
        (["a.yuv"], ["a.yuv", "-r"]),
        (["--", "a.yuv"], ["a.yuv"]),
        (["-"], ["'-'"]),
    ],
)
def test_a_wrong_line_is_told_what_is_wrong(argv: list[str], words: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        parsed(*argv)
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize(
    ("text", "number"), [("0", 0), ("12", 12), ("0x1f", 31), ("010", 8), ("4294967295", 2**32 - 1)]
)
def test_unsigned_reads_as_strtoul(text: str, number: int) -> None:
    assert unsigned(text) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("-1", 0xFFFFFFFF),
        ("-2", 0xFFFFFFFE),
        (" +3", 3),
        ("99999999999", 99999999999 & 0xFFFFFFFF),
        ("-0x10", 0xFFFFFFF0),
        ("010", 8),
        ("9" * 30, 0xFFFFFFFF),
        ("-" + "9" * 30, 0xFFFFFFFF),
    ],
)
def test_masks_wrap_as_in_c(text: str, number: int) -> None:
    assert wrapped(text) == number


@pytest.mark.parametrize("text", ["", "-1", "1.5", "0x", "1_000", "4294967296", "08", "ten", " "])
def test_unsigned_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="whole number"):
        unsigned(text)


@given(st.lists(st.text(alphabet="-=_rhqnx019 ", max_size=8), max_size=6))
def test_any_line_is_parsed_or_refused_in_words(argv: list[str]) -> None:
    with contextlib.suppress(UsageError):
        parsed(*argv)


# ---- How commands begin and end where a card may compute ----


@pytest.mark.parametrize(
    ("line", "card"),
    [
        ("-r a.yuv -d b.yuv", CardChoice()),
        ("a.mp4 b.mp4 --backend auto", CardChoice()),
        ("a.mp4 b.mp4 --backend=cuda", CardChoice()),
        ("a.mp4 b.mp4 --back cuda:2", CardChoice(2)),
        ("a.mp4 b.mp4 --device 1", CardChoice(1)),
        ("a.mp4 b.mp4 --device=1 --backend cuda", CardChoice(1)),
        ("-r a -d b --gpumask 0", CardChoice()),
        ("-r a -d b -- --no_cuda", CardChoice()),
        ("-r a -d b --model path=--backend", CardChoice()),
        ("a.mp4 b.mp4 --backend cpu", None),
        ("a.mp4 b.mp4 --backend hip", None),
        ("a.mp4 b.mp4 --back cpu", None),
        ("a.mp4 b.mp4 --backend cuda:x", None),
        ("a.mp4 b.mp4 --device x", None),
        (f"a.mp4 b.mp4 --device {'9' * 5000}", None),
        (f"a.mp4 b.mp4 --backend cuda:{'9' * 5000}", None),
        ("-r a -d b --no_cuda", None),
        ("-r a -d b --gpumask -1", None),
        ("--version", None),
        ("--list_backends", None),
    ],
)
def test_which_card_a_command_line_asks_for(line: str, card: CardChoice | None) -> None:
    assert wanted_card(shlex.split(line)) == card


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeCuda:
    """A machine with two cards, which compute nothing here."""
    cuda = FakeCuda(cards=2)
    found = Cards(cuda.bindings, lambda _, architecture: cuda.builder(str(tmp_path), architecture))
    monkeypatch.delenv(cards.MASK, raising=False)
    monkeypatch.setattr("acuity.devices.cuda.hardware.probe.check_card", lambda card: None)
    monkeypatch.setattr(cards, "CARDS", found)
    monkeypatch.setattr("acuity.devices.signs.has_traces", lambda: True)
    monkeypatch.setattr("acuity.devices.signs.is_installed", lambda: True)
    monkeypatch.setattr(early_start, "load_bindings", cuda.bindings)

    def begun(_: LoadedDriver, number: int) -> int:
        cuda.calls.append(f"start {number}")
        return number + 70

    monkeypatch.setattr(LoadedDriver, "start", begun)
    return cuda


@pytest.mark.parametrize(("words", "number"), [([], 0), (["--device", "1"], 1)])
def test_the_card_is_started_before_it_is_opened(cuda: FakeCuda, words: list[str], number: int) -> None:
    thread = begin_early(words)
    assert thread is not None
    thread.join()
    # By the driver first, without Python's lock; CuPy's bindings find it done.
    assert cuda.calls == [f"start {number}", f"setDevice {number}"]
    cuda.calls.clear()
    card = cards.CARDS.open(number if words else None)  # the early start took no place on it
    assert card is not None
    assert (card.properties.number, cuda.calls) == (number, [])


def test_only_commands_that_compute_start_a_card(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[list[str]] = []
    monkeypatch.setattr(start, "begin_early", lambda words: begun.append(list(words)))
    monkeypatch.setattr(start, "leave", lambda code: code)
    monkeypatch.setattr("acuity.cli.main.main", lambda: 0)
    for words in (["score", "a", "b"], ["models"], [], ["compare", "a"]):
        monkeypatch.setattr(sys, "argv", ["acuity", *words])
        start.acuity()
    assert begun == [["a", "b"], ["a"]]


INTERRUPTING = """
import sys
_, program, module, *words = sys.argv
sys.argv[1:] = words

class Interrupting:
    def find_spec(self, name, path, target=None):
        if name == module:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
from acuity.cli import start

sys.exit(getattr(start, program)())
"""


@pytest.mark.parametrize(
    ("program", "module", "words"),
    [
        ("acuity", "acuity.cli.main", ["models"]),
        ("acuity", "acuity.devices.signs", ["score", "a", "b"]),
        ("vmaf", "acuity.cli.vmaf", ["--help"]),
        ("vmaf_tune", "acuity.cli.tune", ["encoders"]),
    ],
)
def test_an_interrupt_while_a_command_is_imported(program: str, module: str, words: list[str]) -> None:
    command = [sys.executable, "-c", INTERRUPTING, program, module, *words]
    ended = subprocess.run(command, capture_output=True, text=True)
    said = f"{program.replace('_', '-')}: interrupted\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", said)


LEAVING = """
import atexit, sys, threading
from acuity.cli.start import leave

class Slow:
    def __del__(self):
        print("a slow farewell")

kept = Slow()
atexit.register(print, "exit handler")
print("a line that is still in the buffer")
threading.Timer(0.01, print, ["the end of a thread"]).start()
sys.exit(leave(int(sys.argv[1])))
"""


@pytest.mark.parametrize("code", [0, 100])
def test_a_process_ends_when_everything_is_written(code: int) -> None:
    ended = subprocess.run([sys.executable, "-c", LEAVING, str(code)], capture_output=True, text=True)
    assert ended.stdout.splitlines() == [
        "a line that is still in the buffer",
        "the end of a thread",
        "exit handler",
    ]
    assert (ended.returncode, ended.stderr) == (code, "")
