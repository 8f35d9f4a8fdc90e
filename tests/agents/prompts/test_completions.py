"""Completions of prompts' arguments and of resources' addresses, asked by the SDK's own client."""

from __future__ import annotations

from pathlib import Path

import anyio
import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, MCPError

from acuity.agents.prompts.completions import matching
from acuity.features import EXTRACTORS, Option
from fake_jobs import FakeJobs, serve
from longwire.work import JobSpec

USABLE = ["vmaf_4k_v0.6.1", "vmaf_v0.6.1", "vmaf_v0.6.1neg"]


@pytest.fixture(autouse=True)
def _no_models_of_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACUITY_MODEL_PATH", raising=False)


async def complete(
    ref: types.PromptReference | types.ResourceTemplateReference,
    name: str,
    typed: str,
    settled: dict[str, str] | None = None,
    jobs: FakeJobs | None = None,
) -> list[str]:
    async with Client(serve(jobs or FakeJobs())) as client:
        return (await client.complete(ref, {"name": name, "value": typed}, settled)).completion.values


def in_prompt(
    name: str, typed: str, settled: dict[str, str] | None = None, prompt: str = "diagnose_encode"
) -> list[str]:
    return anyio.run(complete, types.PromptReference(name=prompt), name, typed, settled)


def in_template(uri: str, name: str, typed: str) -> list[str]:
    return anyio.run(complete, types.ResourceTemplateReference(uri=uri), name, typed)


@pytest.mark.parametrize("prompt", ["diagnose_encode", "choose_bitrate", "compare_encodes"])
def test_models_that_can_be_used(prompt: str) -> None:
    found = in_prompt("model", "vmaf", prompt=prompt)
    assert set(USABLE) <= set(found)
    assert in_prompt("model", "neg", prompt=prompt) == ["vmaf_4k_v0.6.1neg", "vmaf_v0.6.1neg"]


def test_models_keep_the_spelling_that_was_begun() -> None:
    assert in_prompt("model", "version=vmaf_v0.6.1n") == ["version=vmaf_v0.6.1neg"]
    assert in_prompt("model", "path=/some") == []


@pytest.mark.parametrize(
    ("settled", "first"),
    [
        ({"geometry": "3840x2160 420 10-bit"}, "vmaf_4k_v0.6.1"),
        ({"reference": "crowd_3840x2160.mp4"}, "vmaf_4k_v0.6.1"),
        ({"geometry": "1920x1080"}, "vmaf_v0.6.1"),
        ({"geometry": "large", "reference": "a.mp4"}, "vmaf_4k_v0.6.1"),  # says nothing: order of names
    ],
)
def test_models_for_the_size_of_the_pictures_come_first(settled: dict[str, str], first: str) -> None:
    assert in_prompt("model", "", settled)[0] == first


def test_features_options_and_switches() -> None:
    assert in_prompt("feature", "") == list(EXTRACTORS)
    assert in_prompt("feature", "vi")[0] == "vif"  # what only holds it comes later
    options = in_prompt("feature", "vif=")
    assert "vif=debug=" in options
    assert set(options) == {f"vif={option.name}=" for option in EXTRACTORS["vif"].options}
    assert in_prompt("feature", "vif=deb") == ["vif=debug="]
    assert in_prompt("feature", "vif=debug=") == ["vif=debug=true", "vif=debug=false"]
    assert "vif=debug=true:debug=" not in in_prompt("feature", "vif=debug=true:")
    assert in_prompt("feature", "nothing=") == []


def test_texts_are_completed_with_their_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    how = Option("how", "h", "text", "near", choices=("near", "far"))
    monkeypatch.setattr(EXTRACTORS["vif"], "options", (how,))
    assert in_prompt("feature", "vif=how=") == ["vif=how=near", "vif=how=far"]
    assert in_prompt("feature", "vif=how=f") == ["vif=how=far"]


def test_backends_that_work() -> None:
    assert in_prompt("backend", "")[:2] == ["auto", "cpu"]
    assert "sycl" not in in_prompt("backend", "")


def test_the_geometry_that_the_reference_names_comes_first() -> None:
    found = in_prompt("geometry", "", {"reference": "/clips/crowd_1280x720_422p10.yuv"})
    assert found[0] == "1280x720 422 10-bit"
    assert "3840x2160 420 10-bit" in in_prompt("geometry", "2160")


def test_a_list_of_codecs_is_completed_at_its_end() -> None:
    assert in_prompt("codecs", "", prompt="choose_bitrate") == ["h264", "hevc", "av1", "vp9"]
    assert in_prompt("codecs", "h264, a", prompt="choose_bitrate") == ["h264, av1"]
    assert in_prompt("codecs", "h264,", prompt="choose_bitrate") == ["h264,hevc", "h264,av1", "h264,vp9"]


@pytest.mark.parametrize(
    ("prompt", "name"), [("diagnose_encode", "reference"), ("compare_encodes", "feature")]
)
def test_free_text_and_arguments_that_are_not_there_have_none(prompt: str, name: str) -> None:
    assert in_prompt(name, "v", prompt=prompt) == []


def test_names_in_addresses(tmp_path: Path) -> None:
    models = in_template("acuity://models/{name}", "name", "vmaf_v0")
    assert models == ["vmaf_v0.6.1", "vmaf_v0.6.1neg"]
    begins = [name for name in EXTRACTORS if name.startswith("m")]
    holds = [name for name in EXTRACTORS if "m" in name[1:] and name not in begins]
    assert in_template("acuity://extractors/{name}", "name", "m") == begins + holds
    assert len(begins) * len(holds) > 0
    assert in_template("acuity://models/{name}", "id", "v") == []


@pytest.mark.parametrize("form", ["", ".csv", "/report.html"])
async def test_ids_of_reports(form: str) -> None:
    jobs = FakeJobs()
    for _ in range(12):
        await jobs.completed()
    await jobs.submit(JobSpec("score", {}, "vmaf_score", "waiting"), client="test")
    ref = types.ResourceTemplateReference(uri=f"acuity://reports/{{id}}{form}{{?frames}}")
    assert await complete(ref, "id", "job-1", jobs=jobs) == ["job-12", "job-11", "job-10", "job-1"]
    assert await complete(ref, "id", "13", jobs=jobs) == []


@pytest.mark.parametrize(
    ("ref", "sentence"),
    [
        (
            types.PromptReference(name="poem"),
            "unknown prompt 'poem': use one of choose_bitrate, compare_encodes, diagnose_encode",
        ),
        (
            types.ResourceTemplateReference(uri="file:///{path}"),
            "unknown resource template 'file:///{path}': use one of acuity://extractors/{name}, "
            "acuity://models/{name}, acuity://reports/{id}.csv{?frames}, "
            "acuity://reports/{id}/report.html{?frames}, acuity://reports/{id}{?frames}, "
            "acuity://worst/{id}/{name}{?width}",
        ),
    ],
)
async def test_what_nobody_offers_is_refused(
    ref: types.PromptReference | types.ResourceTemplateReference, sentence: str
) -> None:
    async with Client(serve(FakeJobs())) as client:
        with pytest.raises(MCPError) as caught:
            await client.complete(ref, {"name": "name", "value": ""})
    assert (caught.value.error.code, caught.value.error.message) == (types.INVALID_PARAMS, sentence)


@given(st.text("abAB", max_size=2), st.lists(st.text("abAB", max_size=4)))
def test_beginnings_come_before_the_rest(typed: str, values: list[str]) -> None:
    found = matching(typed, values)
    assert set(found) == {value for value in values if typed.lower() in value.lower()}
    assert len(found) == len(set(found))
    begins = [value.lower().startswith(typed.lower()) for value in found]
    assert begins == sorted(begins, reverse=True)
