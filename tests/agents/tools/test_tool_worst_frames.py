"""describe_worst_frames on the real server: pictures in the reply, files that stay, models that describe."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import av
import mcp_types as types
import numpy as np
import psutil
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

import acuity
from acuity.agents.settings import AcuitySettings
from acuity.agents.standalone.main import standalone_server
from small_vlm import write_small_vlm
from spoiled_clip import HEIGHT, WIDTH, WORST, luma, write_pair
from task_client import MODERN, TaskClient, ask, begin
from tool_results import sentence_of

TOOL = "describe_worst_frames"
PATIENCE = 60.0

Scenario = Callable[[Client], Awaitable[Any]]


def with_server(folder: Path, scenario: Scenario, *, tasks: bool = False, **settings: Any) -> Any:
    """Let a scenario ask a server of its own, which stores its jobs in the folder."""

    async def main() -> Any:
        asked = AcuitySettings(data=folder / "data", allow=(str(folder),), rate=None, **settings)
        options: dict[str, Any] = {"extensions": [TaskClient()], "mode": MODERN} if tasks else {}
        with anyio.fail_after(PATIENCE):
            async with standalone_server(asked) as made, Client(made.server, **options) as client:
                return await scenario(client)

    return anyio.run(main)


def calling(arguments: dict[str, Any]) -> Scenario:
    """A call of the tool."""
    return lambda client: client.call_tool(TOOL, arguments)


def document_of(result: Any) -> dict[str, Any]:
    """The document of an answer, the same in its text and structured."""
    assert not result.is_error, result.content[0].text
    document = json.loads(result.content[0].text)
    assert document == result.structured_content
    return document


def decoded(png: bytes) -> np.ndarray:
    with av.open(io.BytesIO(png)) as container:
        return next(container.decode(video=0)).to_ndarray(format="gray")


def looks_like(picture: np.ndarray, wanted: np.ndarray) -> bool:
    return float(np.corrcoef(picture.ravel(), wanted.ravel())[0, 1]) > 0.98


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("worst")


@pytest.fixture(scope="module")
def pair(room: Path) -> dict[str, Any]:
    return write_pair(room)


@pytest.fixture(scope="module")
def told(room: Path, pair: dict[str, Any]) -> dict[str, Any]:
    """What a server answers in a row of questions, and a new one on the same folder afterwards."""

    async def first(client: Client) -> dict[str, Any]:
        call = {**pair, "n": 2, "apart": 0, "images": [*KINDS]}
        direct = await client.call_tool(TOOL, call)
        short = await client.call_tool(TOOL, {**pair, "n": 2, "apart": 0})
        few = await client.call_tool(TOOL, {**call, "n": 1, "images": ["heat"], "region": True})
        job = (await client.call_tool("submit_job", {"tool": TOOL, "arguments": call})).structured_content
        got = await _ended(client, job["job_id"])
        return {"direct": direct, "few": few, "job": got, "short": short}

    async def second(client: Client) -> dict[str, Any]:
        document = told["direct"].structured_content
        task = await begin(client, TOOL, {**pair, "n": 2, "apart": 0, "images": [*KINDS]})
        while (state := await ask(client, "tasks/get", task.task_id))["status"] == "working":
            await anyio.lowlevel.checkpoint()
        return {
            "task": state["result"],
            "again": await client.call_tool("get_job", {"job_id": document["job_id"]}),
            "picture": await client.read_resource(document["frames"][0]["resources"]["distorted"]),
            "small": await client.read_resource(document["contact_sheet_resource"] + "?width=64"),
            "index": await client.read_resource("acuity://worst"),
            "completed": await _completed(client, document["job_id"]),
        }

    told = with_server(room, first)
    return told | with_server(room, second, tasks=True)


async def _completed(client: Client, job_id: str) -> tuple[list[str], list[str]]:
    ref = types.ResourceTemplateReference(uri="acuity://worst/{id}/{name}{?width}")
    ids = await client.complete(ref, {"name": "id", "value": job_id[:8]})
    names = await client.complete(ref, {"name": "name", "value": "heat"}, context_arguments={"id": job_id})
    return ids.completion.values, names.completion.values


async def _ended(client: Client, job_id: str) -> Any:
    while True:
        got = await client.call_tool("get_job", {"job_id": job_id})
        if got.structured_content["status"] not in ("queued", "running"):
            return got


def test_the_answer_has_what_is_specified(told: dict[str, Any]) -> None:
    document = document_of(told["direct"])
    assert document["model_id"] is None
    worst, other = document["frames"]
    assert worst["frame_index"] == WORST
    assert worst["vmaf"] < other["vmaf"]
    assert worst["description"]
    assert worst["artefacts"]
    assert worst["narration"] is None
    assert list(document)[:6] == ["model_id", "score", "model", "images", "images_hint", "frames"]
    assert "`resources`" in document["images_hint"]


def test_pictures_in_the_reply_are_those_frames(told: dict[str, Any]) -> None:
    text, *pictures = told["direct"].content
    assert text.type == "text"
    names = told["direct"].structured_content["images"]
    assert names[:3] == [f"frame {WORST}, {kind}, {WIDTH}x{HEIGHT}" for kind in KINDS]
    assert len(names) == len(pictures) == 6
    assert {(picture.type, picture.mime_type) for picture in pictures} == {("image", "image/png")}
    distorted, reference, heat = (decoded(base64.b64decode(picture.data)) for picture in pictures[:3])
    assert looks_like(distorted, luma(WORST, spoiled=True))
    assert looks_like(reference, luma(WORST, spoiled=False))
    assert not looks_like(heat, luma(WORST, spoiled=False))


KINDS = ("distorted", "reference", "heat")


def test_pictures_that_are_small_anyway_need_no_detail(told: dict[str, Any]) -> None:
    names = told["short"].structured_content["images"]
    assert [name.split(", ")[1] for name in names] == ["distorted"] * 2


def test_details_are_in_full_size(tmp_path: Path) -> None:
    """Noise, whose pictures have to be made much smaller; one corner is worse than the rest."""
    random = np.random.default_rng(3)
    width, height, count = 640, 480, 3
    reference = random.integers(60, 190, (count, height, width), np.uint8)
    distorted = reference + random.integers(0, 6, reference.shape, np.uint8)
    distorted[:, 300:, 400:] = 128
    for name, frames in (("ref", reference), ("dis", distorted)):
        frames.tofile(tmp_path / f"{name}.yuv")
    pair = {name: str(tmp_path / f"{name}.yuv") for name in ("ref", "dis")}
    geometry = {"width": width, "height": height, "pixfmt": "400", "bitdepth": 8}

    result = with_server(tmp_path, calling({**pair, **geometry, "n": count, "apart": 0}))
    document = document_of(result)
    names, pictures = document["images"], [base64.b64decode(entry.data) for entry in result.content[1:]]
    assert len(names) == len(pictures) == 2 * count
    assert sum(map(len, pictures)) <= 600_000
    for frame, name, png in zip(document["frames"], names[1::2], pictures[1::2], strict=True):
        found = re.fullmatch(r"frame (\d+), detail at (\d+),(\d+), (\d+)x(\d+)", name)
        assert found is not None, name
        index, x, y, across, down = map(int, found.groups())
        assert index == frame["frame_index"]
        assert across * down > 10_000
        box = frame["region"]
        assert box["x"] <= x < x + across <= box["x"] + box["width"]
        whole = decoded(Path(frame["png"]).read_bytes())
        assert np.array_equal(decoded(png), whole[y : y + down, x : x + across])


def test_the_files_stay_and_are_private(told: dict[str, Any], room: Path) -> None:
    for frame in told["direct"].structured_content["frames"]:
        for name in ("png", "reference_png", "heat_png"):
            assert decoded(Path(frame[name]).read_bytes()).shape == (HEIGHT, WIDTH)
    assert Path(told["direct"].structured_content["contact_sheet"]).is_file()
    assert (room / "data" / "worst").stat().st_mode & 0o77 == 0


def test_the_pictures_asked_for_are_the_only_ones(told: dict[str, Any]) -> None:
    text, picture = told["few"].content
    (frame,) = document_of(told["few"].model_copy(update={"content": [text]}))["frames"]
    box = frame["region"]
    assert told["few"].structured_content["images"] == [
        f"frame {WORST}, heat, {box['width']}x{box['height']}"
    ]
    assert decoded(base64.b64decode(picture.data)).shape == (box["height"], box["width"])


def test_jobs_and_tasks_have_the_same_answer(told: dict[str, Any]) -> None:
    direct, task = told["direct"], told["task"]
    for got in (told["job"], told["again"]):
        assert _same(got.structured_content["result"]) == _same(direct.structured_content)
        assert got.content[1:] == direct.content[1:]
    assert _same(task["structuredContent"]) == _same(direct.structured_content)
    assert [entry["data"] for entry in task["content"][1:]] == [entry.data for entry in direct.content[1:]]


def _same(document: dict[str, Any]) -> str:
    """The document without the names of its job's own files."""
    return json.dumps(document, sort_keys=True).replace(document["job_id"], "JOB")


def test_pictures_are_read_by_uri_after_a_restart(told: dict[str, Any]) -> None:
    (content,) = told["picture"].contents
    frame = told["direct"].structured_content["frames"][0]
    assert content.mime_type == "image/png"
    assert base64.b64decode(content.blob) == Path(frame["png"]).read_bytes()
    (small,) = told["small"].contents
    assert decoded(base64.b64decode(small.blob)).shape[1] == 64
    index = json.loads(told["index"].contents[0].text)
    listed = {uri for entry in index["worst"] for uri in entry["pictures"]}
    assert {*frame["resources"].values()} <= listed
    ids, names = told["completed"]
    assert ids == [told["direct"].structured_content["job_id"]]
    assert f"frame_{WORST:06d}_heat.png" in names


REFUSED = [
    ({"n": 0}, "invalid n 0: should be 1 or more"),
    ({"n": 33}, "invalid n 33: should be 32 or less"),
    ({"pixfmt": "411"}, "unsupported pixfmt/bitdepth combo: pixfmt '411'; use one of 400, 420, 422, 444"),
    ({"bitdepth": 9}, "unsupported pixfmt/bitdepth combo: bitdepth 9; use one of 8, 10, 12, 14, 16"),
    ({"images": ["all"]}, "invalid images.0 'all': use one of 'distorted', 'reference', 'heat', 'detail'"),
    ({"dis": "/etc/passwd"}, "/etc/passwd"),
    ({"backend": "cuda"}, "backend 'cuda' requested but this server does not have it"),
    ({"model": "version=unheard_of"}, "unheard_of"),
    ({"model": "acuity_fr_v1"}, "'acuity_fr_v1' is an ONNX model: use a VMAF model; see list_models"),
    ({"model": "path=/x/a.onnx"}, "'path=/x/a.onnx' is an ONNX model: use a VMAF model; see list_models"),
    ({"vlm": "/models"}, "has no argument 'vlm'"),
]


def test_what_is_refused_is_one_sentence(room: Path, pair: dict[str, Any]) -> None:
    async def scenario(client: Client) -> None:
        for change, wanted in REFUSED:
            assert wanted in sentence_of(await client.call_tool(TOOL, {**pair, **change})), change
        short = {"ref": pair["ref"], "dis": pair["dis"]}
        assert "width=" in sentence_of(await client.call_tool(TOOL, short))
        absent = f"acuity://worst/{'0' * 32}/frame_000003_heat.png"
        for uri in (absent, "acuity://worst/../jobs.sqlite"):
            with pytest.raises(MCPError, match="no longer kept"):
                await client.read_resource(uri)

    with_server(room, scenario)
    assert not [path for path in (room / "data" / "worst").iterdir() if not (path / "worst.json").exists()]


def test_a_model_that_is_not_there_leaves_the_measured_words(tmp_path: Path) -> None:
    asked = calling({**write_pair(tmp_path), "n": 2, "apart": 0})
    result = with_server(tmp_path, asked, vlm_model=str(tmp_path / "absent"))
    document = document_of(result)
    assert document["model_id"] is None
    assert len(result.content) == 3
    for frame in document["frames"]:
        assert frame["description"]
        assert frame["narration"] is None
        assert "is no folder: name the folder of a model" in frame["narration_error"]


def narrators() -> list[psutil.Process]:
    found = []
    for child in psutil.Process(os.getpid()).children(recursive=True):
        with suppress(psutil.Error):
            if "acuity.frames.narrator_process" in " ".join(child.cmdline()):
                found.append(child)
    return found


def test_cancelling_ends_the_model_and_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = tmp_path / "site" / "onnxruntime_genai"
    runtime.mkdir(parents=True)
    (runtime / "__init__.py").write_text("import time\ntime.sleep(600)")
    monkeypatch.setenv("PYTHONPATH", str(runtime.parent), prepend=os.pathsep)
    model = write_small_vlm(tmp_path / "models" / "small-vlm")
    pair = write_pair(tmp_path)

    async def scenario(client: Client) -> None:
        call = {"tool": TOOL, "arguments": {**pair, "n": 1}}
        job = (await client.call_tool("submit_job", call)).structured_content["job_id"]
        while not (running := narrators()):
            state = (await client.call_tool("get_job", {"job_id": job})).structured_content
            assert state["status"] in ("queued", "running"), state
        assert (tmp_path / "data" / "worst" / job).is_dir()
        cancelled = await client.call_tool("cancel_job", {"job_id": job})
        assert cancelled.structured_content["status"] == "cancelled"
        psutil.wait_procs(running, timeout=10)
        assert narrators() == []
        while (tmp_path / "data" / "worst" / job).exists():
            await asyncio.to_thread(lambda: None)

    with_server(tmp_path, scenario, vlm_model=str(model))


def test_display_viewing_and_crop_are_those_of_a_score(tmp_path: Path) -> None:
    pair = write_pair(tmp_path, 2)
    crop = f"{WIDTH - 16}:{HEIGHT - 8}:8:4"
    asked: list[dict[str, Any]] = [{"viewing": "phone"}, {"display": "1080p"}, {"crop": crop}]

    async def scenario(client: Client) -> list[Any]:
        return [await client.call_tool(TOOL, {**pair, "images": [], "n": 1, **option}) for option in asked]

    raw = {"width": WIDTH, "height": HEIGHT, "pixel_format": "420", "bitdepth": 8}
    for option, result in zip(asked, with_server(tmp_path, scenario), strict=True):
        model = {} if "viewing" in option else {"model": "vmaf_v0.6.1"}
        expected = acuity.score(pair["ref"], pair["dis"], **raw, **model, **option)
        assert document_of(result)["score"] == pytest.approx(expected.score, abs=1e-6)
