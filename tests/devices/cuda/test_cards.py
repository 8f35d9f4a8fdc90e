"""Finding and choosing cards: every reason why there is none, and measurements spread over several."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from acuity.devices.cuda.hardware import cards
from acuity.devices.cuda.hardware.bindings import load_bindings
from acuity.devices.cuda.hardware.card import Card
from acuity.devices.cuda.hardware.cards import Cards, driver_version, look
from acuity.devices.signs import has_traces, is_installed
from acuity.errors import BackendError
from emulated_card import needs_compiler
from fake_cuda import FakeCuda

GIB = 1 << 30


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (cards.MASK, cards.WORKER_VARIABLE):
        monkeypatch.delenv(name, raising=False)


def machine(cuda: FakeCuda, folder: Path) -> Cards:
    return Cards(cuda.bindings, lambda _, architecture: cuda.builder(str(folder), architecture))


def refusal(ask: Callable[[], object]) -> str:
    with pytest.raises(BackendError) as caught:
        ask()
    text = str(caught.value)
    assert text.endswith(", or pass backend='cpu'")
    assert "\n" not in text
    return text.removesuffix(", or pass backend='cpu'")


def test_what_a_card_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cards, "driver_version", lambda: "580.159.04")
    cuda = FakeCuda(2, 140 * GIB, (9, 0))
    found = machine(cuda, tmp_path).find()
    assert [card._asdict() for card in found] == [
        {
            "number": number,
            "name": f"Fake {number}",
            "memory": 140 * GIB,
            "architecture": "sm_90",
            "driver": "580.159.04 (CUDA 13.0)",
            "processors": 132,
        }
        for number in range(2)
    ]
    assert cuda.calls == []  # no card was started


def test_the_version_of_the_driver(tmp_path: Path) -> None:
    file = tmp_path / "version"
    assert driver_version(file) is None
    file.write_text(
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\nGCC 13\n"
    )
    assert driver_version(file) == "580.159.04"
    file.write_text("something else")
    assert driver_version(file) is None


def test_traces_of_a_driver(tmp_path: Path) -> None:
    assert not has_traces([str(tmp_path / "nvidiactl")])
    (tmp_path / "nvidiactl").touch()
    assert has_traces([str(tmp_path / "dxg"), str(tmp_path / "nvidiactl")])


@pytest.mark.parametrize(
    ("installed", "traces", "expected", "problem"),
    [
        (False, False, False, "CuPy is not installed: pip install 'acuity-vmaf[cuda]'"),
        (False, True, True, "there is a card, and CuPy is not installed: pip install 'acuity-vmaf[cuda]'"),
        (True, False, True, "there is no NVIDIA driver on this machine: install one"),
        (True, True, True, None),
    ],
)
def test_looking_starts_nothing(
    monkeypatch: pytest.MonkeyPatch, installed: bool, traces: bool, expected: bool, problem: str | None
) -> None:
    monkeypatch.setattr("acuity.devices.signs.is_installed", lambda: installed)
    monkeypatch.setattr("acuity.devices.signs.has_traces", lambda: traces)
    found = look()
    assert (found.installed, found.expected) == (installed, expected)
    told = None if found.problem is None else str(found.problem).removesuffix(", or pass backend='cpu'")
    assert told == problem


def test_without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acuity.devices.signs.find_spec", lambda _: None)
    assert not is_installed()
    assert refusal(load_bindings) == "CuPy is not installed: pip install 'acuity-vmaf[cuda]'"


def test_a_cupy_that_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cupy_backends").mkdir()
    (tmp_path / "cupy_backends" / "__init__.py").write_text("raise OSError('no libc of that age')")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.startswith("cupy_backends")]:
        monkeypatch.delitem(sys.modules, name)
    assert is_installed()
    told = refusal(load_bindings)
    assert told.startswith("CuPy can't be imported (OSError: no libc of that age): install it anew")


def test_no_driver(tmp_path: Path) -> None:
    cuda = FakeCuda()
    cuda.driver_version = 0
    told = refusal(machine(cuda, tmp_path).find)
    assert told == "there is no NVIDIA driver on this machine: install one"


@pytest.mark.parametrize(
    ("supported", "knows", "other"),
    [(12040, "12.4", ", install cupy-cuda12x in place of cupy-cuda13x"), (11080, "11.8", "")],
)
def test_a_driver_that_is_too_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, supported: int, knows: str, other: str
) -> None:
    monkeypatch.setattr(cards, "driver_version", lambda: "550.54.15")
    cuda = FakeCuda()
    cuda.driver_version = supported
    assert refusal(machine(cuda, tmp_path).find) == (
        f"NVIDIA's driver 550.54.15 is too old: it knows CUDA {knows}, and CuPy needs CUDA 13: "
        f"update it to 580 or newer{other}"
    )


def test_an_older_minor_version_is_enough(tmp_path: Path) -> None:
    cuda = FakeCuda()
    cuda.driver_version, cuda.runtime_version = 13000, 13020
    assert len(machine(cuda, tmp_path).find()) == 1


def test_no_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = machine(FakeCuda(0), tmp_path)
    assert refusal(empty.find).startswith("NVIDIA's driver finds no card in this machine")
    monkeypatch.setenv(cards.MASK, "-1")
    told = refusal(empty.find)
    assert told == "CUDA_VISIBLE_DEVICES='-1' hides every card: unset it, or name a card in it"


@pytest.mark.parametrize(
    ("status", "remedy"),
    [
        (3, "start it with 'spawn'"),
        (802, "start NVIDIA's fabric manager"),
        (803, "restart the machine"),
        (999, "'nvidia-smi' says"),
    ],
)
def test_a_driver_that_does_not_start(tmp_path: Path, status: int, remedy: str) -> None:
    cuda = FakeCuda()
    cuda.failures["getDeviceCount"] = status
    told = refusal(machine(cuda, tmp_path).find)
    assert told.startswith(f"CUDA can't start (cudaError{status}")
    assert remedy in told
    cuda.failures.clear()
    assert len(machine(cuda, tmp_path).find()) == 1  # it is asked again


def test_a_process_with_few_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acuity.devices.cuda.hardware.cuda_errors._address_limit", lambda: 8 * GIB)
    cuda = FakeCuda()
    cuda.failures["setDevice"] = 2
    told = refusal(machine(cuda, tmp_path).open)
    assert "card 0 (Fake 0) can't start" in told
    assert "this process may use 8.0 GiB of addresses" in told


@pytest.mark.usefixtures("unprobed")
def test_a_card_by_its_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = FakeCuda(2)
    there = machine(cuda, tmp_path)
    card = there.open(1)
    assert card is not None
    assert card.properties.number == 1
    assert there.open(1) is card  # started once
    assert cuda.calls == ["setDevice 1"]
    assert refusal(lambda: there.open(2)) == "there is no card 2: there are cards 0 to 1; choose one of these"
    assert there.open(1, excluded=[1]) is None
    assert there.open(excluded=[0, 1]) is None
    monkeypatch.setenv(cards.MASK, "5")
    told = refusal(lambda: machine(FakeCuda(1), tmp_path).open(5))
    assert told == (
        "there is no card 5: there is only card 0, because CUDA_VISIBLE_DEVICES is '5'; choose one of these"
    )


def number_of(card: Card | None) -> int:
    assert card is not None
    return card.properties.number


@pytest.mark.usefixtures("unprobed")
def test_measurements_are_spread_over_all_cards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = machine(FakeCuda(3), tmp_path)
    assert [number_of(there.open()) for _ in range(6)] == [0, 1, 2, 0, 1, 2]
    there.release(1)
    assert number_of(there.open()) == 1
    assert number_of(there.open(excluded=[0])) == 1
    monkeypatch.setenv(cards.WORKER_VARIABLE, "7")
    other = machine(FakeCuda(3), tmp_path)
    assert [number_of(other.open()) for _ in range(4)] == [1, 2, 0, 1]
    other._open[0].lost = BackendError("gone")
    assert {number_of(other.open()) for _ in range(4)} == {1, 2}
    monkeypatch.setenv(cards.WORKER_VARIABLE, "seven")
    assert number_of(machine(FakeCuda(3), tmp_path).open()) == 0


@needs_compiler
def test_a_kernel_is_run_before_a_card_is_used(tmp_path: Path) -> None:
    cuda = FakeCuda()
    there = machine(cuda, tmp_path)
    there.open()
    there.open()
    assert [name for name, _, _ in cuda.launches] == ["probe"]
    wrong = FakeCuda()
    wrong.computes = False
    told = refusal(machine(wrong, tmp_path).open)
    assert told == "card 0 (Fake 0) computes a known sum wrongly: its memory or driver may be damaged"


def test_a_card_starts_without_what_takes_long_to_import() -> None:
    """Beside a starting card imports take several times as long as alone."""
    code = (
        "import sys, numpy; before = set(sys.modules);"  # what NumPy itself loads differs by its version
        "import acuity.devices.cuda.backend, acuity.devices.cuda.hardware.probe;"
        "import acuity.devices.cuda.compiler.compile, acuity.devices.cuda.compiler.kernel_cache;"
        "slow = 'av', 'sqlite3', 'tempfile', 'concurrent.futures', 'importlib.metadata';"
        "print(*[name for name in slow if name in set(sys.modules) - before])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


def test_a_forked_process_knows_no_card() -> None:
    cards.CARDS._found = [cards.Properties(0, "", 0, "sm_90", "", 1)]
    try:
        if (child := os.fork()) == 0:
            os._exit(len(cards.CARDS._found))
        assert os.waitpid(child, 0)[1] == 0
    finally:
        cards.CARDS.forget()
