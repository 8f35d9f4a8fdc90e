"""compare_encodes, asked by the SDK's client: ranking, errors in rows, checked paths, reports to read."""

from __future__ import annotations

import csv
import io
import json
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from mcp import Client

import acuity
from acuity.agents.resources import ReportResources
from acuity.agents.tools import frames
from acuity.agents.tools.compare import MOST, tools
from fake_jobs import FakeJobs
from longwire.product.app import build_server
from longwire.product.catalog import Catalog
from longwire.product.results import to_ordered_text
from scoring_clips import container, raw, y4m
from scoring_room import ThreadJobs, ask_once, services_for
from tool_results import sentence_of

FRAMES = 12


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("comparing")
    y4m(made / "ref.y4m", FRAMES)
    container(made / "x264_1k.mp4", FRAMES, codec="libx264")
    container(made / "x264_2k.mkv", FRAMES)
    container(made / "old_1k.mkv", FRAMES, worse=True)
    (made / "torn.mp4").write_bytes(b"\0\0\0\x18ftypisom no video at all")
    return made


@pytest.fixture(autouse=True)
def own_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACUITY_CACHE", str(folder / "cache"))


def ask(folder: Path, *encodes: Any, jobs: Any = None, **arguments: Any) -> dict[str, Any]:
    given = {"reference": str(folder / "ref.y4m"), "encodes": list(encodes), **arguments}
    return ask_once(folder, "compare_encodes", jobs=jobs, family=tools, **given)


def refused(folder: Path, **arguments: Any) -> str:
    return str(ask_once(folder, "compare_encodes", family=tools, **arguments)["error"])


def test_the_ranking_has_the_digits_of_scores(folder: Path) -> None:
    good, bad = str(folder / "x264_1k.mp4"), str(folder / "old_1k.mkv")
    found = ask(folder, bad, {"path": good, "name": "new one"}, metrics=["vmaf", "psnr"])
    assert next(iter(found)) == "ranking"
    assert found["ranking"] == ["new one", "old_1k.mkv"]
    best, last = found["pairs"]
    alone = acuity.score(folder / "ref.y4m", good, model="vmaf_v0.6.1", metrics=["vmaf", "psnr"])
    assert best["score"] == round(alone.score, 6)
    assert best["metrics"] == {"psnr": round(alone.metrics["psnr"], 6)}
    assert (best["place"], best["encoder"], best["distorted"]) == (1, "x264", good)
    assert best["kbps"] > 0
    assert last["place"] == 2
    assert "vmaf_v0.6.1" in found["mismatched_model_warning"]
    (difference,) = found["differences"]
    assert (difference["a"], difference["b"]) == ("new one", "old_1k.mkv")
    assert difference["mean"] == pytest.approx(best["score"] - last["score"], abs=1e-5)
    assert found["report"] == f"acuity://reports/{found['job_id']}"


def test_an_encode_that_fails_is_a_row(folder: Path) -> None:
    found = ask(folder, str(folder / "torn.mp4"), str(folder / "old_1k.mkv"), str(folder / "old_1k.mkv"))
    assert found["ranking"] == ["old_1k.mkv", "torn.mp4"]
    assert [note for note in found["notes"] if note["text"].endswith("more than once, and compared once")]
    good, torn = found["pairs"]
    assert "error" not in good
    assert torn["place"] is None
    assert "torn.mp4" in torn["error"]


def test_remembered_figures_are_marked_and_the_same(folder: Path) -> None:
    path = str(folder / "x264_2k.mkv")
    (first,) = ask(folder, path)["pairs"]
    (again,) = ask(folder, path)["pairs"]
    assert again == {**first, "remembered": True}
    (anew,) = ask(folder, path, remember=False)["pairs"]
    assert anew == {**first, "remembered": False}


def test_bd_rates_of_encoders_that_are_named(folder: Path) -> None:
    files = {"a": ("x264_2k.mkv", "x264_1k.mp4"), "b": ("old_1k.mkv", "x264_1k.mp4")}
    encodes = [
        {"path": str(folder / name), "encoder": encoder} for encoder, names in files.items() for name in names
    ]
    found = ask(folder, *encodes, against="b")
    assert {(rate["encoder"], rate["against"]) for rate in found["bd_rates"]} == {("a", "b")}
    unknown = ask(folder, *encodes[:1], against="nobody")
    assert "no encode is of the encoder 'nobody': there are a" in str(unknown)


def test_every_path_is_checked(folder: Path, tmp_path: Path) -> None:
    outside = str(y4m(tmp_path / "secret.y4m", 2))
    inside = str(folder / "old_1k.mkv")
    ref = str(folder / "ref.y4m")
    (folder / "link.mkv").unlink(missing_ok=True)
    (folder / "link.mkv").symlink_to(outside)
    for encodes in ([inside, outside], [{"path": outside}], [str(folder / "link.mkv")]):
        assert "not under an allowlisted root" in refused(folder, reference=ref, encodes=encodes)
    for more in ({"reference": outside}, {"reference": ref, "model": f"path={outside}"}):
        assert "not under an allowlisted root" in refused(folder, encodes=[inside], **more)
    for name in ("*.mkv", "list.csv", "-", "file:ref.y4m"):  # the command's ways to find encodes
        assert refused(folder, reference=ref, encodes=[str(folder / name) if name != "-" else name])
    (folder / "link.mkv").unlink()


def test_arguments_are_bounded(folder: Path) -> None:
    ref, path = str(folder / "ref.y4m"), str(folder / "old_1k.mkv")
    for encodes in ([], [path] * (MOST + 1), [3], [{"name": "x"}], [{"path": path, "more": 1}], path):
        assert "encodes" in refused(folder, reference=ref, encodes=encodes)
    for wrong, word in (
        ({"encoder_from": "(?P<encoder>(a+)+)$"}, "encoder_from"),
        ({"viewing": "tv", "model": "vmaf_v0.6.1neg"}, "leave one of them out"),
        ({"model": "no_such_model"}, "no_such_model"),
    ):
        assert word in refused(folder, reference=ref, encodes=[path], **wrong)


def test_raw_video_is_described_by_arguments(folder: Path) -> None:
    one = raw(folder / "raw.yuv", 4)
    geometry = {"width": 70, "height": 52, "pixfmt": "420", "bitdepth": 8}
    found = ask(folder, str(one), reference=str(one), metrics=["psnr"], **geometry)
    assert found["pairs"][0]["score"] == 60.0
    (row,) = ask(folder, str(one), reference=str(one))["pairs"]
    assert "pass width= and height=" in row["error"]
    assert "--" not in row["error"]


async def test_the_report_is_read_in_all_forms(folder: Path) -> None:
    jobs = ThreadJobs()
    encodes = str(folder / "x264_1k.mp4"), str(folder / "torn.mp4")
    await anyio.to_thread.run_sync(partial(ask, folder, *encodes, jobs=jobs))
    (spec,) = jobs.specs
    outcome = await ThreadJobs().run(spec, client="test")
    stored = FakeJobs()
    job = await stored.submit(spec, client="test")
    stored.complete(job.id, json.loads(json.dumps(outcome.document)))
    services = services_for(folder, stored)
    catalog = Catalog(tools=frames.tools(services), resources=[ReportResources(stored)])  # type: ignore[arg-type]
    async with Client(build_server(catalog, name="acuity", version="1")) as client:

        async def read(ending: str) -> str:
            (content,) = (await client.read_resource(f"acuity://reports/{job.id}{ending}")).contents
            return str(content.text)  # type: ignore[union-attr]

        whole = json.loads(await read(""))
        assert whole["schema"] == "acuity.compare/1"
        assert not [name for name in whole if name.endswith("_text")]
        good, torn = whole["pairs"]
        assert len(good["per_frame"]["vmaf"]) == FRAMES
        assert "per_frame" not in torn
        part = json.loads(await read("?frames=3-4"))
        assert part["pairs"][0]["per_frame"]["frame"] == [3, 4]
        assert part["pairs"][0]["per_frame"]["vmaf"] == good["per_frame"]["vmaf"][3:5]
        rows = list(csv.DictReader(io.StringIO(await read(".csv"))))
        assert len(rows) == 2
        page = await read("/report.html")
        assert page.startswith("<!doctype html>")
        assert "torn.mp4 failed" in page
        with pytest.raises(Exception, match="leave it out"):
            await read(".csv?frames=1-2")
        listed = (await client.list_resources()).resources
        assert f"acuity://reports/{job.id}" in [str(resource.uri) for resource in listed]
        sentence = sentence_of(await client.call_tool("get_frames", {"job_id": job.id}))
        assert f"acuity://reports/{job.id}?frames=0-499" in sentence


def test_the_longest_answer_is_short(folder: Path) -> None:
    path = str(folder / "old_1k.mkv")
    encodes = [{"path": path, "name": f"encode number {n} with a long name"} for n in range(MOST)]
    found = ask(folder, *encodes, metrics=["vmaf", "psnr"])
    assert len(found["pairs"]) == MOST
    assert len(to_ordered_text(found)) < 20_000
    assert all("worst" not in entry for entry in found["differences"])
