"""docs/admin.md names the paths, parameters and fields that there are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from admin_ground import admin_ground
from longwire.admin.actions import ACTIONS
from longwire.config.toml_file import parse_config

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "admin.md").read_text()


async def test_every_document_is_named_and_answers() -> None:
    paths = re.findall(r"^\| `GET (/[\w/]+)` \|", PAGE, re.MULTILINE)
    async with admin_ground() as ground:
        for path in paths:
            if path != "/admin/events":  # it doesn't end
                assert isinstance(await ground.json(path), dict)
        told = (await ground.get("/nothing")).text
        actions = re.findall(r"^\| `POST (/[\w/]+)` \|", PAGE, re.MULTILINE)
        assert set(re.findall(r"/admin[\w/]*", told)) == {*paths, *actions, "/admin"}
    assert len(paths) == 8


def test_every_action_is_named() -> None:
    rows = re.findall(r"^\| `POST (/[\w/]+)` \| `(\{.*?\})` \|", PAGE, re.MULTILINE)
    assert {path: list(json.loads(body)) for path, body in rows} == {
        path: [action.field] for path, action in ACTIONS.items()
    }


async def test_the_example_has_the_fields_that_there_are() -> None:
    [shown, done] = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
    async with admin_ground() as ground:
        session = ground.begin()
        found: Any = await ground.json("/admin/runtime/mcp?details=1&limit=1")
        assert list(found) == list(shown)
        assert list(found["sessions"][0]) == list(shown["sessions"][0])
        kicked = await ground.post("/admin/sessions/kick", {"session_id": session.id[:8]})
        assert {**kicked.json(), "target": done["target"]} == done


async def test_every_parameter_is_taken() -> None:
    section = PAGE.split("`/admin/runtime/mcp` takes:", 1)[1].split("\n\n", 2)[1]
    names = [name for row in section.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    values = {"details": "1", "connected": "1", "limit": "5", "offset": "1", "order": "asc", "sort": "calls"}
    values["nodes"] = "here"
    async with admin_ground() as ground:
        query = "&".join(f"{name}={values.get(name, 'x')}" for name in names)
        assert (await ground.json(f"/admin/runtime/mcp?{query}"))["limit"] == 5
    assert len(names) == 10


def test_the_configuration_is_accepted_and_links_lead_somewhere(tmp_path: Path) -> None:
    [text] = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    found = parse_config(text, tmp_path / "acuity.toml")
    assert {"admin.listen", "admin.token_file"} <= found.values.keys()
    for target in re.findall(r"\]\(([^)]+)\)", PAGE):
        file, _, heading = target.partition("#")
        titles = re.findall(r"^#+ (.+)$", (DOCS / file).read_text(), re.MULTILINE)
        names = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
        assert not heading or heading in names, target
