"""vmaf_score with a geometry that the names contradict: the client is asked, or the warning comes first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client

from acuity.agents.tools import compare, worst_frames
from asking_client import Person
from longwire.product.app import build_server
from longwire.product.catalog import Catalog
from longwire.work import new_id
from scoring_clips import GEOMETRY, raw
from scoring_room import ERAS, ThreadJobs, ask_with, serve, services_for

SIZE = f"{GEOMETRY['width']}x{GEOMETRY['height']}"
TURNED = f"{GEOMETRY['height']}x{GEOMETRY['width']}"
PIXELS = "420 at 8 bit"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("clips")
    raw(made / f"ref_{SIZE}.yuv")
    raw(made / f"dis_{SIZE}.yuv", worse=True)
    return made


async def score(folder: Path, era: str, person: Person | None) -> dict[str, Any]:
    """The answer to a call that has width and height the wrong way round."""
    turned = {**GEOMETRY, "width": GEOMETRY["height"], "height": GEOMETRY["width"]}
    pair = {"ref": str(folder / f"ref_{SIZE}.yuv"), "dis": str(folder / f"dis_{SIZE}.yuv")}
    asked = {} if person is None else {"elicitation_callback": person.fill_in}
    async with Client(serve(services_for(folder, ThreadJobs())), mode=era, **asked) as client:
        return await ask_with(client, "vmaf_score", **pair, **turned)


@pytest.mark.parametrize("era", ERAS)
async def test_the_client_chooses_the_geometry_of_the_name(folder: Path, era: str) -> None:
    person = Person(geometry=f"{SIZE} {PIXELS}")
    found = await score(folder, era, person)
    assert len(person.asked) == 1
    assert f"the names say {SIZE} {PIXELS}, but the call says {TURNED} {PIXELS}" in person.asked[0]
    assert (found["acuity"]["width"], found["acuity"]["height"]) == (GEOMETRY["width"], GEOMETRY["height"])
    named = f"{SIZE} {PIXELS}"
    assert found["geometry_asked"] == {"given": f"{TURNED} {PIXELS}", "named": named, "chosen": named}
    assert "geometry-name" not in {note["code"] for note in found["notes"]}


@pytest.mark.parametrize(
    ("era", "action"), [*((era, action) for era in ERAS for action in ("decline", None)), ("legacy", "error")]
)
async def test_without_an_answer_the_score_comes_with_the_warning_first(
    folder: Path, era: str, action: str | None
) -> None:
    person = None if action is None else Unwilling(action)
    found = await score(folder, era, person)
    assert next(iter(found)) == "notes"
    assert found["notes"][0]["code"] == "geometry-name"
    assert found["acuity"]["width"] == GEOMETRY["height"]
    assert "geometry_asked" not in found


class Unwilling(Person):
    """A client that declares forms and doesn't fill them in."""

    def __init__(self, action: str) -> None:
        super().__init__(geometry="")
        self.action = action

    async def fill_in(self, context: Any, params: Any) -> types.ElicitResult | types.ErrorData:
        if self.action == "error":
            return types.ErrorData(code=types.INTERNAL_ERROR, message="no one is here")
        return await super().fill_in(context, params)


class PlannedJobs(ThreadJobs):
    """Jobs that get the ids of their pictures' folders."""

    new_id = staticmethod(new_id)


@pytest.mark.parametrize("tool", ["describe_worst_frames", "compare_encodes"])
async def test_other_tools_that_take_raw_video_ask_too(folder: Path, tool: str) -> None:
    person, jobs = Person(geometry=f"{SIZE} {PIXELS}"), PlannedJobs()
    services = services_for(folder, jobs)
    offered = [*compare.tools(services), *worst_frames.tools(services)]
    ref, dis = (str(folder / f"{name}_{SIZE}.yuv") for name in ("ref", "dis"))
    many = {"reference": ref, "encodes": [{"path": dis}]}
    pair = many if tool == "compare_encodes" else {"ref": ref, "dis": dis}
    turned = {**GEOMETRY, "width": GEOMETRY["height"], "height": GEOMETRY["width"]}
    server = build_server(Catalog(tools=offered), name="acuity", version="1")
    async with Client(server, mode="legacy", elicitation_callback=person.fill_in) as client:
        await client.call_tool(tool, {**pair, **turned})
    assert len(person.asked) == 1
    assert person.asked[0].startswith(f"ref_{SIZE}.yuv and dis_{SIZE}.yuv: the names say {SIZE} {PIXELS}")
    request = jobs.specs[0].payload["request"]
    chosen = request.get("scoring", request)
    assert (chosen["width"], chosen["height"]) == (GEOMETRY["width"], GEOMETRY["height"])
