"""list_backends, probe_backend and vmaf_version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import acuity
from acuity.agents.tools import backends
from acuity.devices import BACKENDS, usable_instruction_sets
from acuity.devices.cuda.hardware import cards, probe
from acuity.errors import AcuityError, JobFailed, JobTimeout, QueueFull, WorkerLost
from fake_cuda import FakeCuda
from scoring_room import Asked, InlineJobs
from vmaf_binary import make_binary

pytestmark = pytest.mark.usefixtures("without_cuda")

OWN = {"cpu": True, "cuda": False, "sycl": False, "hip": False, "metal": False}
BINARY = {"cpu": True, "cuda": True, "sycl": True, "hip": False, "metal": False}
NONE = dict.fromkeys(BACKENDS, False)


def test_five_flags_and_nothing_else_without_a_binary() -> None:
    assert Asked(backends.tools).ask("list_backends") == OWN


def test_the_binary_that_scores_is_what_the_flags_are_about(tmp_path: Path) -> None:
    binary = make_binary(tmp_path)
    found = Asked(backends.tools, binary=binary).ask("list_backends")
    assert found == {
        **BINARY,
        "external": {"path": str(Path(binary).resolve()), "backends": BINARY, "error": None},
        "own": OWN,
    }


def test_a_binary_that_is_not_there(tmp_path: Path) -> None:
    missing = str(tmp_path / "nowhere")
    asked = Asked(backends.tools, binary=missing)
    listed = asked.ask("list_backends")
    assert {name: listed[name] for name in BACKENDS} == NONE
    assert listed["own"] == OWN
    assert listed["external"]["backends"] == NONE
    assert missing in listed["external"]["error"]
    version = asked.ask("vmaf_version")
    assert (version["binary_path"], version["version"], version["build_flags"]) == (missing, None, NONE)
    assert missing in version["error"]
    probed = asked.ask("probe_backend", backend="cpu")
    assert probed["runtime_healthy"] is probed["external"]["runtime_healthy"] is False
    assert missing in probed["error"] == probed["external"]["error"]
    assert probed["own"]["runtime_healthy"] is True


def test_the_cpu_scores_a_grey_pair() -> None:
    jobs = InlineJobs()
    found = Asked(backends.tools, jobs).ask("probe_backend", backend="cpu")
    assert found["score"] == pytest.approx(97.428, abs=0.001)
    assert found["latency_ms"] > 0
    assert (found["backend"], found["compiled_in"], found["runtime_healthy"]) == ("cpu", True, True)
    assert found["error"] is None
    (spec,) = jobs.specs
    assert (spec.task, spec.tool) == ("probe", "probe_backend")


@pytest.mark.parametrize("backend", BACKENDS[1:])
def test_a_backend_that_was_not_built_in_is_an_answer_without_work(backend: str) -> None:
    jobs = InlineJobs()
    without = "CuPy is not installed: pip install 'acuity-vmaf[cuda]', or pass backend='cpu'"
    found = Asked(backends.tools, jobs).ask("probe_backend", backend=backend)
    error = without if backend == "cuda" else f"the backend '{backend}' is not in this version"
    health = {"compiled_in": False, "runtime_healthy": False, "latency_ms": None, "score": None}
    assert found == {"backend": backend, **health, "error": error}
    assert jobs.specs == []


def test_compiled_in_but_without_its_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker refuses to start it; nothing else stands in for it."""
    fake(monkeypatch, FakeCuda(0))
    found = Asked(backends.tools).ask("probe_backend", backend="cuda")
    assert (found["compiled_in"], found["runtime_healthy"], found["score"]) == (True, False, None)
    assert "the backend 'cuda' can't start: NVIDIA's driver finds no card" in found["error"]
    listed = Asked(backends.tools).ask("list_backends")
    assert {name: listed[name] for name in BACKENDS} == {**OWN, "cuda": True}
    assert (listed["cards"], listed["cards_error"][:27]) == ([], "NVIDIA's driver finds no ca")


def fake(monkeypatch: pytest.MonkeyPatch, cuda: FakeCuda) -> None:
    """Let this machine have these cards, on which every kernel runs."""
    monkeypatch.delenv(cards.MASK, raising=False)
    for name in ("is_installed", "has_traces"):
        monkeypatch.setattr(f"acuity.devices.signs.{name}", lambda: True)
    monkeypatch.setattr(cards, "CARDS", cards.Cards(cuda.bindings))
    monkeypatch.setattr(probe, "check_card", lambda card: None)


def test_cards_are_named_with_driver_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch, cuda := FakeCuda(2, 8 << 30))
    found = Asked(backends.tools).ask("list_backends")["cards"]
    assert [(card["backend"], card["number"], card["name"]) for card in found] == [
        ("cuda", number, f"Fake {number}") for number in range(2)
    ]
    assert {(card["memory"], card["problem"]) for card in found} == {(8 << 30, None)}
    assert cuda.calls == ["setDevice 0", "setDevice 1"]


def test_a_card_that_does_not_start_has_its_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch, cuda := FakeCuda())
    cuda.failures["setDevice"] = 46
    (card,) = Asked(backends.tools).ask("list_backends")["cards"]
    assert card["problem"].startswith("card 0 (Fake 0) can't start (cudaError46")
    found = Asked(backends.tools, InlineJobs(JobFailed("no worker"))).ask("list_backends")
    assert (found["cards"], found["cards_error"]) == ([], "no worker")


@pytest.mark.parametrize(
    "failure",
    [WorkerLost("it crashed"), JobTimeout("too long"), JobFailed("no device"), QueueFull("try again later")],
)
def test_whatever_goes_wrong_with_a_probe_is_its_answer(failure: AcuityError) -> None:
    found = Asked(backends.tools, InlineJobs(failure)).ask("probe_backend", backend="cpu")
    assert (found["compiled_in"], found["runtime_healthy"]) == (True, False)
    assert (found["latency_ms"], found["score"], found["error"]) == (None, None, str(failure))


@pytest.mark.parametrize("score", [None, float("nan"), float("inf"), "100"])
def test_no_finite_score_is_unhealthy(score: Any) -> None:
    jobs = InlineJobs(document={"latency_ms": 3.5, "score": score})
    found = Asked(backends.tools, jobs).ask("probe_backend", backend="cpu")
    assert (found["runtime_healthy"], found["latency_ms"], found["score"]) == (False, 3.5, None)
    assert "no finite score" in found["error"]


def test_the_binary_is_what_is_probed(tmp_path: Path) -> None:
    binary = make_binary(tmp_path)
    found = Asked(backends.tools, binary=binary).ask("probe_backend", backend="cpu")
    assert found["external"] == {"path": binary, **{name: found[name] for name in found["own"]}}
    assert (found["compiled_in"], found["runtime_healthy"], found["error"]) == (True, True, None)
    assert found["own"]["score"] == pytest.approx(found["score"], abs=1e-5)


def test_every_tool_means_the_same_engine(tmp_path: Path) -> None:
    """list_backends, probe_backend and vmaf_version agree on what there is, with and without a binary."""
    for binary in (None, make_binary(tmp_path), str(tmp_path / "nowhere")):
        asked = Asked(backends.tools, InlineJobs(document={"latency_ms": 1.0, "score": 97.4}), binary=binary)
        listed, version = asked.ask("list_backends"), asked.ask("vmaf_version")
        flags = {name: listed[name] for name in BACKENDS}
        assert flags == version["build_flags"]
        assert {name: asked.ask("probe_backend", backend=name)["compiled_in"] for name in BACKENDS} == flags


def test_a_binary_that_fails_is_unhealthy(tmp_path: Path) -> None:
    binary = make_binary(tmp_path, failure="no device at all")
    found = Asked(backends.tools, binary=binary).ask("probe_backend", backend="cuda")
    assert (found["compiled_in"], found["runtime_healthy"]) == (True, False)
    assert found["error"] == "vmaf exited 7: no device at all"


def test_a_backend_that_the_binary_lacks(tmp_path: Path) -> None:
    found = Asked(backends.tools, binary=make_binary(tmp_path)).ask("probe_backend", backend="metal")
    assert found["compiled_in"] is False
    assert "cpu, cuda, sycl" in found["error"]


def test_version_of_the_engine() -> None:
    found = Asked(backends.tools).ask("vmaf_version")
    assert (found["version"], found["error"], found["build_flags"]) == (acuity.__version__, None, OWN)
    assert Path(found["binary_path"]).is_file()
    engine = found["engine"]
    assert engine["version"] == acuity.__version__
    assert engine["instruction_set"] in engine["instruction_sets"] == usable_instruction_sets()
    assert engine["threads"] >= 1


def test_version_of_the_binary(tmp_path: Path) -> None:
    binary = make_binary(tmp_path)
    found = Asked(backends.tools, binary=binary).ask("vmaf_version")
    assert found["binary_path"] == str(Path(binary).resolve())
    assert found["version"] == "3.2.1-fork.5"
    assert (found["build_flags"]["cuda"], found["build_flags"]["hip"], found["error"]) == (True, False, None)
    assert found["engine"]["version"] == acuity.__version__
