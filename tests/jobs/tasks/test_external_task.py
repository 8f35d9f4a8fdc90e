"""The task that lets another binary score: what it is given, what becomes of its answer, what computed it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import acuity
from acuity.errors import BackendError, InputError, JobFailed, PathError
from acuity.jobs.tasks.external import ExternalPayload, label_backend, run, summarize
from acuity.report import render_report
from acuity.scoring.request import Request
from acuity.video.local_file import restrict
from longwire.work import Progress
from scoring_clips import container, fake_vmaf, runs_of


class Room:
    """A folder with two files, and a binary that does as told."""

    def __init__(self, folder: Path) -> None:
        self.binary = folder / "vmaf"
        self.ref, self.dis = folder / "ref.yuv", folder / "dis.yuv"
        self.ref.write_bytes(b"r" * 10)
        self.dis.write_bytes(b"d" * 20)
        self.told: list[Progress] = []

    def score(self, scoring: str | None = None, **more: Any) -> dict[str, Any]:
        if scoring is not None:
            fake_vmaf(self.binary, scoring=scoring)
        asked = {"models": ["version=vmaf_v0.6.1"], **more.pop("request", {})}
        payload = ExternalPayload(
            binary=str(self.binary),
            request=Request(str(self.ref), str(self.dis), width=1920, height=1080, **asked),
            options=["--width", "1920"],
            **more,
        ).to_document()
        return run(json.loads(json.dumps(payload)), self.told.append)


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    before = set(os.listdir("/dev/fd"))
    made = Room(tmp_path)
    fake_vmaf(made.binary)
    yield made
    assert set(os.listdir("/dev/fd")) <= before  # every descriptor was given back


def test_the_binary_reads_descriptors_and_answers_through_one(room: Room) -> None:
    found = room.score()
    assert found["seen"] == {"ref": 10, "dis": 20}
    (argv,) = runs_of(room.binary)
    paths = {flag: argv[argv.index(flag) + 1] for flag in ("-r", "-d", "-o")}
    assert all(path.startswith("/dev/fd/") for path in paths.values())
    assert len(set(paths.values())) == 3
    assert argv[4:6] == ["--width", "1920"]
    assert argv[argv.index("-m") + 1] == "version=vmaf_v0.6.1"
    assert {"-q", "--json"} <= set(argv)
    assert [told.done for told in room.told] == [0.0, 1.0]


def test_a_swapped_path_gains_nothing(room: Room) -> None:
    swap = f"""
os.unlink({str(room.ref)!r})
with open({str(room.ref)!r}, "w") as other:
    other.write("something else")
report(read=read(after("-r")).decode())
"""
    assert room.score(swap)["read"] == "r" * 10


def test_a_model_file_is_handed_over_too(room: Room, tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text("a model")
    spec = f"path={tmp_path / 'mine.json'}:name=mine:disable_clip:vif.vif_enhn_gain_limit=1.0"
    found = room.score(
        'report(spec=after("-m"), model=read(after("-m").split(":")[0][5:]).decode())',
        request={"models": [spec]},
    )
    assert found["model"] == "a model"
    path, *rest = found["spec"].split(":")
    assert path.startswith("path=/dev/fd/")
    assert rest == ["name=mine", "disable_clip", "vif.vif_enhn_gain_limit=1.0"]


def test_a_failure_says_what_the_binary_said(room: Room) -> None:
    with pytest.raises(JobFailed, match=r"^vmaf exited 3: could not read line two$"):
        room.score('print("could not read\\nline two", file=sys.stderr); sys.exit(3)')
    with pytest.raises(JobFailed, match=r"^vmaf exited -9: it said nothing$"):
        room.score("os.kill(os.getpid(), 9)")


def test_a_binary_that_talks_while_it_writes_does_not_get_stuck(room: Room) -> None:
    talk = """
with open(after("-o"), "w") as out:
    for _ in range(30):
        sys.stderr.write("." * 100_000)
        out.write(" " * 100_000)
    out.write('{"frames": [], "pooled_metrics": {}}')
"""
    found = room.score(talk)
    assert (found["frames"], found["version"]) == ([], "unknown")


def test_a_report_without_end_is_cut(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acuity.jobs.tasks.external._MOST_REPORT", 1 << 20)
    endless = """
with open(after("-o"), "w") as out:
    while True:
        out.write(" " * 100_000)
"""
    with pytest.raises(JobFailed, match="longer than 1 MB"):
        room.score(endless)


@pytest.mark.parametrize("written", ["", "<VMAF/>", "[]", '{"frames": []}', "[" * 9000])
def test_what_is_no_report_is_refused(room: Room, written: str) -> None:
    with pytest.raises(JobFailed, match="vmaf ended well but"):
        room.score(f'open(after("-o"), "w").write({written!r})')


def test_numbers_that_are_none_need_no_space(room: Room) -> None:
    text = '{"frames":[],"pooled_metrics":{"a":{"min":nan,"max":-inf},"b\\":nan,":[nan,-nan,1,INFINITY]}}'
    found = room.score(f'open(after("-o"), "w").write({text!r})')["pooled_metrics"]
    assert found == {"a": {"min": None, "max": None}, 'b":nan,': [None, None, 1, None]}


@pytest.mark.parametrize(("certain", "expected"), [("cuda", "cuda"), (None, "sycl")])
def test_what_computed(room: Room, certain: str | None, expected: str) -> None:
    found = room.score('report(backend_used="sycl")', backend_used=certain)
    assert (found["backend_requested"], found["backend_used"]) == ("auto", expected)


def test_a_model_for_another_size_is_noticed(room: Room) -> None:
    assert "mismatched_model_warning" not in room.score()
    assert "4k" in room.score(request={"models": ["version=vmaf_4k_v0.6.1"]})["mismatched_model_warning"]


def test_a_binary_that_is_gone(room: Room) -> None:
    room.binary.unlink()
    with pytest.raises(BackendError, match=r"can't be run: No such file.*set VMAF_BIN"):
        room.score()


def test_files_are_opened_under_the_guard(room: Room) -> None:
    def guard(_: int, name: str) -> None:
        if name == str(room.dis):
            raise PathError("not this one")

    restrict(guard)
    try:
        with pytest.raises(PathError, match=r"^not this one$"):
            room.score()
    finally:
        restrict(None)
    assert runs_of(room.binary) == []
    room.ref.unlink()
    with pytest.raises(InputError, match=r"cannot open '.*ref\.yuv': No such file"):
        room.score()


MODEL = "version=vmaf_v0.6.1"
CPU = ["integer_adm2", "integer_adm3", "integer_aim", "integer_motion", "integer_motion2", "integer_motion3"]
CPU += [f"integer_{name}_scale{scale}" for name in ("adm", "vif") for scale in range(4)]


def report(*names: str, **more: Any) -> dict[str, Any]:
    return {"frames": [{"frameNum": 0, "metrics": dict.fromkeys(names, 1.0)}], **more}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (report(*CPU, "vmaf", backend_used="sycl"), "sycl"),
        (report(*CPU, "vmaf", feature_backends={"adm": "cpu", "vif": "cpu"}), "cpu"),
        (report(*CPU, "vmaf", feature_backends={"adm": "cpu", "vif": "cuda"}), "cuda"),
        (report(*CPU, "vmaf", feature_backends={"adm": "hip", "vif": "cuda"}), "gpu"),
        (report(*CPU, "vmaf"), "cpu"),
        (report(*CPU[:-2], "vmaf"), "gpu"),
        (report(*CPU, "vif_scale0_cuda", "vmaf"), "gpu"),
        (report(), "unknown"),
        ({"frames": []}, "unknown"),
        ({"frames": [{"metrics": [1]}]}, "unknown"),
        (report(*CPU, backend_used=7, feature_backends=[1]), "gpu"),  # there is no score in it
    ],
)
def test_labels(document: dict[str, Any], expected: str) -> None:
    assert label_backend(document, [MODEL], []) == expected


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> acuity.ScoreReport:
    folder: Path = tmp_path_factory.mktemp("clips")
    container(folder / "ref.mkv")
    container(folder / "dis.mkv", worse=True)
    return acuity.score(folder / "ref.mkv", folder / "dis.mkv", model="version=vmaf_v0.6.1:name=mine")


def test_it_is_the_summary_of_the_exact_figures(scored: acuity.ScoreReport) -> None:
    report = json.loads("".join(render_report(scored.results, "json", "max")))
    found = summarize(report, {"mine": "vmaf_v0.6.1"})
    exact = scored.summary()
    assert (found["score"], found["model"]) == (exact["score"], exact["model"])
    (ours,), (theirs,) = found["models"], exact["models"]
    assert list(ours) == list(theirs)
    assert ours.pop("percentiles") == pytest.approx(theirs.pop("percentiles"), rel=0, abs=1e-10)
    assert ours == theirs
    assert [(frame["frame"], frame["score"]) for frame in found["worst"]] == scored.worst()


def test_frames_and_columns_that_are_not_there() -> None:
    scores = {0: 90.0, 2: None, 4: 70.0}
    rows = [{"frameNum": frame, "metrics": {"vmaf": score}} for frame, score in scores.items()]
    report = {"frames": rows, "pooled_metrics": {}}
    found = summarize(report, {"vmaf": None, "neg": "vmaf_v0.6.1neg"})
    assert (found["score"], found["model"], len(found["models"])) == (80.0, None, 1)
    assert [frame["frame"] for frame in found["worst"]] == [4, 0]
    nothing = summarize({"frames": [], "pooled_metrics": {}}, {"vmaf": None})
    assert nothing == {"score": None, "model": None, "models": [], "worst": []}
