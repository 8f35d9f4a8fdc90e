"""The prompts: what they tell an agent to call can be called."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError
from mcp.server.subscriptions import InMemorySubscriptionBus

from acuity.access.paths import AllowedPaths
from acuity.agents.settings import AcuitySettings
from acuity.agents.standalone.main import product_catalog
from acuity.agents.tools.services import Services
from fake_jobs import FakeJobs, serve
from longwire.product.calls import check
from longwire.product.catalog import Tool

PAIR = {"reference": "/clips/source.mp4", "distorted": "/clips/encode.mp4"}
TWO = {"reference": "/clips/source.mp4", "a": "/clips/a.mp4", "b": "/clips/b.mkv"}
ONE = {"reference": "/clips/source.mp4"}
GIVEN = {"diagnose_encode": PAIR, "choose_bitrate": ONE, "compare_encodes": TWO}


async def got(name: str, arguments: dict[str, str]) -> types.GetPromptResult:
    async with Client(serve(FakeJobs())) as client:
        return await client.get_prompt(name, arguments)


def render(name: str, arguments: dict[str, str]) -> str:
    (message,) = anyio.run(got, name, arguments).messages
    assert message.role == "user"
    return message.content.text


def real_tools() -> dict[str, Tool]:
    nobody: Any = None
    services = Services(AcuitySettings(data=Path("data")), AllowedPaths([]), nobody)
    catalog = product_catalog(services, InMemorySubscriptionBus())
    return {tool.name: tool for tool in catalog.tools}


def calls(text: str) -> list[dict[str, Any]]:
    """The arguments of submit_job that a prompt spells out."""
    return [json.loads(block) for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL)]


CASES = [
    ("diagnose_encode", PAIR),
    ("diagnose_encode", {**PAIR, "feature": "vif=debug=true", "backend": "cpu", "model": "vmaf_v0.6.1neg"}),
    ("diagnose_encode", {"reference": "/c/a_1920x1080_420p.yuv", "distorted": "/c/b.yuv"}),
    ("diagnose_encode", {"reference": "/c/a.yuv", "distorted": "/c/b.yuv", "geometry": "352x288 422 10-bit"}),
    ("diagnose_encode", {"reference": '/c/"odd" name\n.mp4', "distorted": "/c/`b`.mp4"}),
    ("choose_bitrate", ONE),
    ("choose_bitrate", {**ONE, "codecs": "x264, hevc av1,vp9", "target": "95.5"}),
    ("choose_bitrate", {"reference": "/c/a_1920x1080_420p.yuv"}),
    ("compare_encodes", TWO),
    ("compare_encodes", {**TWO, "model": "/models/my.json"}),
]


@pytest.mark.parametrize(("name", "arguments"), CASES)
def test_every_call_is_one_that_the_tools_take(name: str, arguments: dict[str, str]) -> None:
    tools = real_tools()
    found = calls(render(name, arguments))
    assert found
    for call in found:
        submitted = check(tools["submit_job"], call)
        check(tools[submitted["tool"]], submitted["arguments"])


@pytest.mark.parametrize(("name", "arguments"), CASES)
def test_only_tools_that_exist_are_named(name: str, arguments: dict[str, str]) -> None:
    text = render(name, arguments)
    tools = real_tools()
    named = set(re.findall(r"`((?:vmaf_score|submit|get|list|cancel|describe|run|probe)\w*)`", text))
    assert {"submit_job", "get_job", "list_jobs", "get_frames"} <= named
    assert named <= set(tools)
    assert {"first", "last", "features"} <= set(tools["get_frames"].input_schema["properties"])


def test_files_are_scored_by_the_tool_for_them() -> None:
    encoded, worst, neg = calls(render("diagnose_encode", PAIR))
    pair = {"reference_encoded": PAIR["reference"], "distorted_encoded": PAIR["distorted"]}
    assert encoded == {"tool": "vmaf_score_encoded", "arguments": {**pair, "model": "auto"}}
    assert neg["arguments"] == {**encoded["arguments"], "model": "version=vmaf_v0.6.1neg"}
    assert worst["tool"] == "describe_worst_frames"
    assert worst["arguments"] == {"ref": PAIR["reference"], "dis": PAIR["distorted"], "model": "auto"}
    text = render("diagnose_encode", PAIR)
    assert "`worst_segments`" in text  # nobody has to join frames
    assert "come with the answer: the distorted one, and a detail in full size" in text


def test_raw_video_is_scored_with_the_geometry_that_is_known() -> None:
    raw = {"reference": "/c/a_3840x2160_420p10.yuv", "distorted": "/c/b.yuv"}
    geometry = {"width": 3840, "height": 2160, "pixfmt": "420", "bitdepth": 10}
    pair = {"ref": "/c/a_3840x2160_420p10.yuv", "dis": "/c/b.yuv"}
    expected = {**pair, **geometry, "model": "version=vmaf_4k_v0.6.1"}
    scored = {"tool": "vmaf_score", "arguments": expected}
    assert calls(render("diagnose_encode", raw))[0] == scored
    hinted = calls(render("diagnose_encode", {**raw, "geometry": "1280x720 444 8-bit"}))[0]["arguments"]
    assert (hinted["width"], hinted["height"], hinted["pixfmt"], hinted["bitdepth"]) == (1280, 720, "444", 8)
    assert hinted["model"] == "version=vmaf_v0.6.1"


def test_unknown_geometry_is_asked_for_and_never_invented() -> None:
    text = render("diagnose_encode", {"reference": "/c/a.yuv", "distorted": "/c/b.yuv"})
    assert set(calls(text)[0]["arguments"]) == {"ref", "dis", "model"}
    assert "add `width`, `height`, `pixfmt`" in text
    mixed = render("diagnose_encode", {"reference": "/c/a.yuv", "distorted": "/c/b.mp4"})
    assert "convert it to Y4M" in mixed
    assert calls(mixed)[0]["tool"] == "vmaf_score_encoded"


@pytest.mark.parametrize(
    ("given", "string"),
    [
        ("vmaf_v0.6.1neg", "version=vmaf_v0.6.1neg"),
        ("version=vmaf_v0.6.1:name=a", "version=vmaf_v0.6.1:name=a"),
        ("/m/my.json", "path=/m/my.json"),
        ("auto", "auto"),
    ],
)
def test_models_by_any_name(given: str, string: str) -> None:
    assert calls(render("compare_encodes", {**TWO, "model": given}))[0]["arguments"]["model"] == string


def test_comparing_scores_both_against_the_same_reference() -> None:
    (call,) = calls(render("compare_encodes", TWO))
    assert call["tool"] == "compare_encodes"
    assert call["arguments"]["reference"] == "/clips/source.mp4"
    assert call["arguments"]["encodes"] == ["/clips/a.mp4", "/clips/b.mkv"]
    raw = {"reference": "/c/a_1920x1080_420p10.yuv", "a": "/c/b.yuv", "b": "/c/c.yuv", "backend": "cpu"}
    (call,) = calls(render("compare_encodes", raw))
    assert call["arguments"]["width"] == 1920
    assert call["arguments"]["backend"] == "cpu"


def test_encoders_are_compared_and_the_chosen_one_is_made() -> None:
    source = "/c/my source.mp4"
    text = render("choose_bitrate", {"reference": source, "codecs": "h265, libvvenc", "target": "90"})
    assert "reaches VMAF 90 " in text
    compared, made, scored = calls(text)
    asked = {"src": source, "target_vmafs": "84,90,93", "encoders": "libx265,libvvenc"}
    assert compared == {"tool": "run_compare", "arguments": asked}
    assert made["arguments"]["output"] == scored["arguments"]["distorted_encoded"] == "/c/tuned_libx265.mp4"
    assert (made["arguments"]["encoder"], made["arguments"]["target_vmaf"]) == ("libx265", 90)
    raw = calls(render("choose_bitrate", {"reference": "/c/a_1920x1080_420p10.yuv", "target": "99"}))[0]
    assert raw["arguments"]["pix_fmt"] == "yuv420p10le"
    assert (raw["arguments"]["width"], raw["arguments"]["height"]) == (1920, 1080)
    assert raw["arguments"]["target_vmafs"] == "93,99"


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("diagnose_encode", ONE, "prompt 'diagnose_encode' needs the argument 'distorted'"),
        ("diagnose_encode", {**ONE, "distorted": " "},
         "prompt 'diagnose_encode': the argument 'distorted' is empty"),
        ("choose_bitrate", {**ONE, "codec": "h264"}, "prompt 'choose_bitrate' has no argument 'codec'; it "
         "takes: reference, target, codecs, model, geometry"),
        *(("choose_bitrate", {**ONE, "target": target},
           f"target '{target}' is no VMAF score: give a number up to 100") for target in ("lots", "nan")),
        ("compare_encodes", {**TWO, "geometry": "full hd"},
         "geometry 'full hd' gives no size: write it like '1920x1080 420 8-bit'"),
    ],
)  # fmt: skip
async def test_arguments_that_say_nothing(name: str, arguments: dict[str, str], sentence: str) -> None:
    async with Client(serve(FakeJobs())) as client:
        with pytest.raises(MCPError) as caught:
            await client.get_prompt(name, arguments)
    assert (caught.value.error.code, caught.value.error.message) == (types.INVALID_PARAMS, sentence)


def test_empty_optional_arguments_count_as_none() -> None:
    empty = dict.fromkeys(("model", "geometry", "backend", "feature"), "")
    assert render("diagnose_encode", {**PAIR, **empty}) == render("diagnose_encode", PAIR)
    assert "h264" in render("choose_bitrate", {**ONE, "codecs": " , "})
