"""How commands begin and end where a card may compute."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from acuity.cli import start
from acuity.cli.start import CardChoice, begin_early, wanted_card
from acuity.devices.cuda.hardware import cards, early_start
from acuity.devices.cuda.hardware.cards import Cards
from acuity.devices.cuda.hardware.driver import LoadedDriver
from fake_cuda import FakeCuda


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
    monkeypatch.setattr(early_start, "has_traces", lambda: True)
    monkeypatch.setattr(early_start, "is_installed", lambda: True)
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
        ("acuity", "acuity.devices.cuda.hardware.early_start", ["score", "a", "b"]),
        ("vmaf", "acuity.cli.vmaf", ["--version"]),
        ("vmaf_tune", "acuity.cli.tune", ["encoders"]),
    ],
)
def test_an_interrupt_while_a_command_is_imported(program: str, module: str, words: list[str]) -> None:
    command = [sys.executable, "-c", INTERRUPTING, program, module, *words]
    ended = subprocess.run(command, capture_output=True, text=True)
    said = f"{program.replace('_', '-')}: interrupted\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", said)


LEAVING = """
import atexit, sys, threading, types
sys.modules["cupy_backends.cuda.api.runtime"] = types.ModuleType("runtime")
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
def test_a_process_with_a_card_ends_when_everything_is_written(code: int) -> None:
    ended = subprocess.run([sys.executable, "-c", LEAVING, str(code)], capture_output=True, text=True)
    assert ended.stdout.splitlines() == [
        "a line that is still in the buffer",
        "the end of a thread",
        "exit handler",
    ]
    assert (ended.returncode, ended.stderr) == (code, "")
