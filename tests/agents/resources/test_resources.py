"""Reports, models and extractors as resources, asked by the SDK's own client."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, MCPError
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated, ServerEvent

from acuity.agents.resources.reports import report_csv
from acuity.agents.standalone.main import publish_changes
from acuity.errors import JobError
from acuity.features import EXTRACTORS
from acuity.frames.request import WorstRequest
from acuity.frames.worst import find_worst
from acuity.report.precision import parse_precision
from acuity.report.writers import write_csv, write_json
from acuity.scoring.request import Request
from fake_jobs import REPORT, FakeJobs, serve
from longwire.work import JobSpec
from numbered_clips import pair


@pytest.fixture
def jobs() -> FakeJobs:
    return FakeJobs()


@pytest.fixture
def mode() -> str:
    return "auto"


@pytest.fixture
def client(jobs: FakeJobs, mode: str) -> Client:
    return Client(serve(jobs), mode=mode)


async def read(client: Client, uri: str, mime_type: str = "application/json") -> str:
    """The text of a resource."""
    (content,) = (await client.read_resource(uri)).contents
    assert (content.uri, content.mime_type) == (uri, mime_type)
    return content.text


async def refused(client: Client, uri: str) -> str:
    with pytest.raises(MCPError) as caught:
        await client.read_resource(uri)
    assert caught.value.error.code == types.INVALID_PARAMS
    assert caught.value.error.data == {"uri": uri}
    return caught.value.error.message


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_report_is_the_result_of_its_score(jobs: FakeJobs, client: Client) -> None:
    await jobs.completed()
    document = json.loads(await read(client, "acuity://reports/job-1"))
    known = {**REPORT, "job_id": "job-1", "report": "acuity://reports/job-1"}
    assert {name: document[name] for name in known} == known
    assert next(iter(document)) == "score"


async def test_some_frames_of_a_report(jobs: FakeJobs, client: Client) -> None:
    await jobs.completed()
    whole = json.loads(await read(client, "acuity://reports/job-1", "application/json"))
    part = json.loads(await read(client, "acuity://reports/job-1?frames=1-1", "application/json"))
    assert part == {**whole, "frames": [row for row in whole["frames"] if row["frameNum"] == 1]}
    assert part["frames"]
    table = await read(client, "acuity://reports/job-1.csv?frames=1-9999", "text/csv")
    assert [line.split(",")[0] for line in table.splitlines()] == ["Frame", "1"]
    single = json.loads(await read(client, "acuity://reports/job-1?frames=1", "application/json"))
    assert single == part
    large = f"acuity://reports/job-1.csv?frames=1-{'9' * 30}"
    assert await read(client, large, "text/csv") == table
    backwards = await refused(client, "acuity://reports/job-1?frames=9-0")
    assert backwards == "there are no frames '9-0': write the lower number first, ?frames=0-9"
    for query in ("frames=", "frames=a-b", "rows=1-2", "frames=1-2&x=3", "frames=-1-2"):
        assert "write ?frames=0-499" in await refused(client, f"acuity://reports/job-1?{query}")


@pytest.mark.parametrize(
    ("mode", "suffix", "mime_type"), [("legacy", "", "application/json"), ("2026-07-28", ".csv", "text/csv")]
)
async def test_a_report_that_is_too_long_for_a_message(
    jobs: FakeJobs, client: Client, suffix: str, mime_type: str
) -> None:
    metrics = {f"feature_{number}": number / 7 for number in range(20)}
    rows = [{"frameNum": number, "metrics": metrics} for number in range(5, 5005)]
    jobs.complete((await jobs.completed()).id, {**REPORT, "frames": rows})
    uri = f"acuity://reports/job-1{suffix}"
    sentence = await refused(client, uri)
    assert "5000 frames" in sentence
    part = sentence.rpartition("?")[2]
    assert part.startswith("frames=5-")
    text = await read(client, f"{uri}?{part}", mime_type)
    assert 500_000 < len(json.dumps(text)) < 900_000


async def test_a_report_as_a_page(jobs: FakeJobs, client: Client) -> None:
    await jobs.completed()
    page = await read(client, "acuity://reports/job-1/report.html", "text/html")
    assert page.startswith("<!doctype html>")
    assert '<dd class="value">69.31</dd>' in page  # the mean of its two frames


async def test_a_page_shows_the_pictures_that_the_job_made(
    jobs: FakeJobs, client: Client, tmp_path: Path
) -> None:
    found = find_worst(WorstRequest(Request(*pair(tmp_path), threads=1), tmp_path / "worst", n=2, apart=0))
    rows = [
        {"frameNum": frame, "metrics": {"vmaf": score}} for frame, score in sorted(found.scoring.worst(99))
    ]
    previews = [{"frame_index": 0, "file": str(tmp_path / "worst" / "previews" / "frame.png")}]
    jobs.complete((await jobs.completed()).id, {**REPORT, "frames": rows, "previews": previews})
    uri = "acuity://reports/job-1/report.html"
    page = await read(client, uri, "text/html")
    assert page.count("data:image/webp;base64,") == 2 * 4
    assert len(page) < 900_000
    assert "previews" not in await read(client, "acuity://reports/job-1")
    worst = found.frames[0].index
    assert (await read(client, f"{uri}?frames={worst}", "text/html")).count("data:image/webp") == 4
    (tmp_path / "worst" / "worst.json").unlink()
    assert "no longer kept" in await read(client, uri, "text/html")


async def test_a_page_says_why_it_has_no_pictures(jobs: FakeJobs, client: Client) -> None:
    await jobs.completed()
    uri = "acuity://reports/job-{}/report.html"
    assert "the score was made without pictures" in await read(client, uri.format(1), "text/html")
    jobs.complete((await jobs.completed()).id, {**REPORT, "no_previews": "it is a pipe"})
    assert "it is a pipe" in await read(client, uri.format(2), "text/html")


async def test_reports_are_listed_newest_first_with_titles(jobs: FakeJobs, client: Client) -> None:
    await jobs.completed(title="old pair")
    await jobs.completed(tool="run_benchmark")
    await jobs.submit(JobSpec("score", {}, "vmaf_score", "waiting pair"), client="test")
    await jobs.completed(tool="vmaf_score_encoded", title="new pair")
    listed = [r for r in (await client.list_resources()).resources if r.uri.startswith("acuity://reports/")]
    assert [(r.uri, r.title, r.mime_type) for r in listed] == [
        ("acuity://reports/job-4", "new pair", "application/json"),
        ("acuity://reports/job-1", "old pair", "application/json"),
    ]
    assert listed[0].annotations.last_modified == "2023-11-14T22:13:26.500Z"


async def test_the_list_is_bounded_and_the_index_has_more(jobs: FakeJobs, client: Client) -> None:
    for _ in range(60):
        await jobs.completed()
    uris = [resource.uri for resource in (await client.list_resources()).resources]
    assert sum(uri.startswith("acuity://reports/") for uri in uris) == 50
    index = json.loads(await read(client, "acuity://reports"))
    assert (index["count"], index["truncated"]) == (60, False)
    uri = "acuity://reports/job-60"
    times = {"created": "2023-11-14T22:14:20.000Z", "finished": "2023-11-14T22:14:22.500Z"}
    scored = {"id": "job-60", "title": "a.yuv against b.yuv", "tool": "vmaf_score", **times}
    forms = {"uri": uri, "csv_uri": f"{uri}.csv", "page_uri": f"{uri}/report.html"}
    assert index["reports"][0] == scored | forms


async def test_every_listed_resource_can_be_read(jobs: FakeJobs, client: Client) -> None:
    await jobs.completed()
    listed = (await client.list_resources()).resources
    assert {"acuity://reports", "acuity://models", "acuity://extractors"} <= {r.uri for r in listed}
    for resource in listed:
        assert json.loads(await read(client, resource.uri))
        assert resource.title
        assert resource.mime_type == "application/json"


async def test_templates(client: Client) -> None:
    listed = (await client.list_resource_templates()).resource_templates
    documents = ("reports/{id}{?frames}", "models/{name}", "extractors/{name}")
    assert {template.uri_template: template.mime_type for template in listed} == {
        **{f"acuity://{name}": "application/json" for name in documents},
        "acuity://reports/{id}.csv{?frames}": "text/csv",
        "acuity://reports/{id}/report.html{?frames}": "text/html",
        "acuity://worst/{id}/{name}{?width}": "image/png",
    }


async def test_reports_that_are_not_there_say_why(jobs: FakeJobs, client: Client) -> None:
    await jobs.submit(JobSpec("score", {}, "vmaf_score", "pair"), client="test")
    await jobs.completed(tool="run_benchmark")
    await jobs.completed()
    jobs.forget_result("job-3")
    for name, sentence in {
        "nobody": "there is no report 'nobody': list_jobs and acuity://reports have those that are kept",
        "job-1.csv": "job 'job-1' is queued: its report is here once it has completed",
        "job-2": "job 'job-2' has no report: it ran run_benchmark and isn't a score",
        "job-3": "the report of job 'job-3' wasn't kept: run vmaf_score again",
    }.items():
        assert await refused(client, f"acuity://reports/{name}") == sentence
    jobs.end("job-1", "cancelled")
    ended = await refused(client, "acuity://reports/job-1")
    assert ended == "job 'job-1' has no report: it ran vmaf_score and ended as cancelled"


async def test_a_memory_of_jobs_that_is_broken_is_told_in_words(jobs: FakeJobs, client: Client) -> None:
    async def broken(*_: Any) -> Any:
        raise JobError("'jobs.sqlite' can't be used: move it away")

    jobs.list = jobs.get = broken  # type: ignore[method-assign]
    for ask in (client.list_resources, lambda: client.read_resource("acuity://reports/job-1")):
        with pytest.raises(MCPError, match=r"'jobs\.sqlite' can't be used: move it away"):
            await ask()


@pytest.mark.parametrize("uri", ["acuity://nothing", "file:///etc/passwd", "acuity://models-and-more"])
async def test_other_addresses_are_nobodys(client: Client, uri: str) -> None:
    assert await refused(client, uri) == f"no such resource: {uri}"


async def test_models(client: Client) -> None:
    listed = json.loads(await read(client, "acuity://models"))["models"]
    assert "vmaf_v0.6.1" in [model["name"] for model in listed]
    model = json.loads(await read(client, "acuity://models/vmaf_v0.6.1"))
    assert model["usable"] is True
    assert model["model_argument"] == "version=vmaf_v0.6.1"
    assert len(model["feature_names"]) == 6
    sentence = await refused(client, "acuity://models/vmaf_v9")
    assert sentence == "model 'vmaf_v9' not found; read acuity://models for those that are there"


async def test_a_model_of_the_users_with_an_odd_name(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my model?.json").write_text("{}")
    monkeypatch.setenv("ACUITY_MODEL_PATH", str(tmp_path))
    uri = "acuity://models/my%20model%3F"
    assert uri in [resource.uri for resource in (await client.list_resources()).resources]
    model = json.loads(await read(client, uri))
    assert (model["name"], model["usable"]) == ("my model?", False)
    assert model["problem"]


async def test_a_path_is_no_model_name(client: Client, tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text("{}")
    assert "not found" in await refused(client, f"acuity://models/{secret}")
    assert "not found" in await refused(client, f"acuity://models/%2E%2E%2F{secret.name}")


async def test_extractors(client: Client) -> None:
    listed = json.loads(await read(client, "acuity://extractors"))["extractors"]
    assert [entry["name"] for entry in listed] == list(EXTRACTORS)
    vif = json.loads(await read(client, "acuity://extractors/vif"))
    assert vif == next(entry for entry in listed if entry["name"] == "vif")
    assert "debug" in [option["name"] for option in vif["options"]]
    sentence = await refused(client, "acuity://extractors/psnr9")
    assert sentence.startswith("unknown feature extractor 'psnr9': use one of adm,")


class Source:
    """What a report is written from."""

    def __init__(self, columns: dict[str, list[float]]) -> None:
        self.columns = {name: np.array(values, np.float64) for name, values in columns.items()}
        self.frames = list(range(len(next(iter(columns.values())))))
        self.aggregate: dict[str, float] = {}
        self.width, self.height, self.fps = 16, 16, 1.0

    def pooled(self) -> dict[str, dict[str, float]]:
        return {}


# Sixteen decimals show smaller figures as zero, and JSON has no zero below zero.
FIGURES = (st.floats(-1e5, 1e5) | st.floats(1e-15, 1e-5)).map(lambda x: x if abs(x) > 1e-15 else 0.0)


@given(
    st.lists(st.tuples(FIGURES, FIGURES | st.just(float("nan"))), min_size=1, max_size=6),
    st.sampled_from(["legacy", "max"]),
)
def test_csv_of_a_stored_report_is_that_of_the_csv_writer(
    rows: list[tuple[float, float]], precision: str
) -> None:
    # Whole in one frame at least, and of a kind that six decimals can't hold.
    source = Source({"motion2": [1 / 3, *(b for _, b in rows)], "vmaf": [2 / 3, *(a for a, _ in rows)]})
    digits = parse_precision(precision)
    stored = json.loads("".join(write_json(source, digits, "1", {})))
    assert report_csv(stored) == "".join(write_csv(source, digits, "1", {}))


async def test_listeners_hear_of_new_reports_only() -> None:
    jobs, bus = FakeJobs(), InMemorySubscriptionBus()
    heard: list[ServerEvent] = []
    bus.subscribe(heard.append)
    stop = publish_changes(jobs, bus)  # type: ignore[arg-type]
    await jobs.completed()
    await jobs.completed(tool="run_benchmark")
    failing = await jobs.submit(JobSpec("score", {}, "vmaf_score", "pair"), client="test")
    jobs.end(failing.id, "failed", "why")
    await anyio.wait_all_tasks_blocked()
    assert heard == [
        ResourcesListChanged(),
        ResourceUpdated("acuity://reports"),
        ResourceUpdated("acuity://reports/job-1"),
    ]
    stop()
    await jobs.completed()
    await anyio.wait_all_tasks_blocked()
    assert len(heard) == 3


@pytest.mark.parametrize("mode", ["2026-07-28"])
async def test_a_client_that_listens_is_told(jobs: FakeJobs, client: Client) -> None:
    await jobs.submit(JobSpec("score", {}, "vmaf_score", "pair"), client="test")
    with anyio.fail_after(10):
        async with client.listen(
            resources_list_changed=True, resource_subscriptions=["acuity://reports/job-1"]
        ) as changes:
            jobs.complete("job-1")
            assert {await anext(changes), await anext(changes)} == {
                ResourcesListChanged(),
                ResourceUpdated("acuity://reports/job-1"),
            }
